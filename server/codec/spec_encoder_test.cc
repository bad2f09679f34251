#include "server/codec/spec_encoder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/registry.h"
#include "server/codec/testing/probe_operator.h"

namespace kernelwire {
namespace {

using ::testing::ElementsAre;

TEST(SpecEncoderTest, MetadataListsEveryTensor) {
  const Catalog& catalog = testing::ProbeCatalog();
  const inference::ModelMetadataResponse metadata = EncodeMetadata(catalog.models()[1]);
  EXPECT_EQ(metadata.name(), "silent");
  EXPECT_THAT(metadata.versions(), ElementsAre("3"));
  EXPECT_EQ(metadata.platform(), "kernelwire");
  ASSERT_EQ(metadata.inputs_size(), 3);
  EXPECT_EQ(metadata.inputs(0).name(), "x");
  EXPECT_EQ(metadata.inputs(0).datatype(), "FP32");
  EXPECT_THAT(metadata.inputs(0).shape(), ElementsAre(-1));
  EXPECT_EQ(metadata.inputs(1).datatype(), "UINT8");  // FP8 by the name that clients know
  ASSERT_EQ(metadata.outputs_size(), 3);
  EXPECT_EQ(metadata.outputs(0).datatype(), "BF16");
  EXPECT_EQ(metadata.outputs(1).name(), "count");
  EXPECT_EQ(metadata.outputs(1).datatype(), "INT32");
  EXPECT_THAT(metadata.outputs(1).shape(), ElementsAre(1));
  EXPECT_EQ(metadata.outputs(2).datatype(), "FP64");
}

TEST(SpecEncoderTest, ConfigurationMarksOptionalInputsAndExplainsAttributes) {
  const Catalog& catalog = testing::ProbeCatalog();
  const inference::ModelConfig config = EncodeConfig(catalog.models()[0]);
  EXPECT_EQ(config.name(), "probe");
  EXPECT_EQ(config.platform(), "kernelwire");
  EXPECT_EQ(config.backend(), "kernelwire");
  EXPECT_EQ(config.max_batch_size(), 0);
  EXPECT_TRUE(config.has_dynamic_batching());
  EXPECT_FALSE(config.model_transaction_policy().decoupled());
  ASSERT_EQ(config.input_size(), 3);
  EXPECT_FALSE(config.input(0).optional());
  EXPECT_TRUE(config.input(1).optional());
  EXPECT_TRUE(config.input(2).optional());
  EXPECT_EQ(config.input(1).data_type(), inference::TYPE_UINT8);
  EXPECT_THAT(config.input(0).dims(), ElementsAre(-1));
  ASSERT_EQ(config.output_size(), 3);
  EXPECT_EQ(config.output(0).data_type(), inference::TYPE_BF16);
  EXPECT_EQ(config.output(1).data_type(), inference::TYPE_INT32);
  EXPECT_THAT(config.output(1).dims(), ElementsAre(1));
  ASSERT_EQ(config.parameters_size(), 4);
  EXPECT_EQ(config.parameters().at("mode").string_value(), "one of slow, fast; default none. Changes nothing.");
  EXPECT_EQ(config.parameters().at("axis").string_value(), "an integer; default none. Changes nothing.");
}

TEST(SpecEncoderTest, EveryOperatorAgreesWithItself) {
  const Catalog catalog = Catalog::OfAllOperators();
  ASSERT_FALSE(catalog.models().empty());
  for (const Model& model : catalog.models()) {
    const inference::ModelMetadataResponse metadata = EncodeMetadata(model);
    const inference::ModelConfig config = EncodeConfig(model);
    const OperatorSpec& spec = model.op->spec;
    EXPECT_EQ(metadata.name(), spec.name);
    ASSERT_EQ(metadata.inputs_size(), static_cast<int>(spec.inputs.size()));
    ASSERT_EQ(config.input_size(), metadata.inputs_size());
    ASSERT_EQ(metadata.outputs_size(), static_cast<int>(spec.outputs.size()));
    ASSERT_EQ(config.output_size(), metadata.outputs_size());
    for (int i = 0; i < config.input_size(); ++i) {
      EXPECT_EQ(config.input(i).name(), metadata.inputs(i).name());
      EXPECT_EQ("TYPE_" + metadata.inputs(i).datatype(), inference::DataType_Name(config.input(i).data_type()));
      EXPECT_EQ(config.input(i).optional(), spec.inputs[static_cast<std::size_t>(i)].optional);
    }
    for (int i = 0; i < config.output_size(); ++i) {
      EXPECT_EQ(config.output(i).name(), metadata.outputs(i).name());
      EXPECT_EQ("TYPE_" + metadata.outputs(i).datatype(), inference::DataType_Name(config.output(i).data_type()));
    }
    for (const AttributeSpec& attribute : spec.attributes) {
      EXPECT_EQ(config.parameters().count(attribute.name), 1u) << spec.name << " " << attribute.name;
    }
  }
}

}  // namespace
}  // namespace kernelwire

// Taking messages apart: bytes as they stand on the wire, wherever slices end.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"
#include "server/codec/infer_message.h"
#include "server/codec/testing/message_bytes.h"
#include "server/codec/testing/probe_operator.h"
#include "server/codec/testing/request_builder.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::AddInput;
using ::kernelwire::testing::BufferOf;
using ::kernelwire::testing::CutAt;
using ::kernelwire::testing::FromHex;
using ::kernelwire::testing::OneSlice;
using ::kernelwire::testing::PlainRequest;
using ::kernelwire::testing::ProbeCatalog;
using ::kernelwire::testing::SlicesOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A request with every field but model_version, written out by hand.
std::string GoldenRequest() {
  return FromHex(
      "0a 05 70 72 6f 62 65 "                                // model_name: "probe"
      "1a 01 37 "                                            // id: "7"
      "22 0b 0a 04 61 78 69 73 12 03 10 ac 02 "              // parameters: {"axis": int64_param 300}
      "2a 0c "                                               // inputs, 12 bytes
      "   0a 01 78 "                                         //   name: "x"
      "   12 04 46 50 33 32 "                                //   datatype: "FP32"
      "   1a 01 02 "                                         //   shape: packed [2]
      "2a 1b "                                               // inputs, 27 bytes
      "   0a 01 79 "                                         //   name: "y"
      "   2a 0e 12 0c ff ff ff ff ff ff ff ff ff 01 02 7f "  // contents: int_contents, packed -1, 2, 127
      "   12 04 49 4e 54 38 "                                //   datatype: "INT8"
      "   18 03 "                                            //   shape: 3, not packed
      "32 07 0a 05 63 6f 75 6e 74 "                          // outputs: name "count"
      "3a 08 00 00 80 3f 00 00 00 c0");                      // raw_input_contents: 1.0f, -2.0f
}

void ExpectGolden(InferMessage& message, const grpc::ByteBuffer& buffer) {
  const absl::Status parsed = message.Parse(buffer);
  ASSERT_TRUE(parsed.ok()) << parsed;
  EXPECT_EQ(message.id(), "7");
  const Catalog& catalog = ProbeCatalog();
  const absl::Status bound = message.Bind(catalog);
  ASSERT_TRUE(bound.ok()) << bound;
  EXPECT_EQ(message.model(), &catalog.models()[0]);
  EXPECT_EQ(message.plan_request().attributes->GetInt("axis"), 300);
  EXPECT_EQ(message.plan_request().inputs[0]->shape, Shape({2}));
  EXPECT_EQ(message.plan_request().inputs[1]->dtype, DataType::kInt8);
  ASSERT_EQ(message.input_bytes(0), 8u);
  ASSERT_EQ(message.input_bytes(1), 3u);
  EXPECT_EQ(message.input_bytes(2), 0u);
  float x[2] = {};
  signed char y[3] = {};
  ASSERT_TRUE(message.CopyInput(0, x).ok());
  ASSERT_TRUE(message.CopyInput(1, y).ok());
  EXPECT_THAT(x, ::testing::ElementsAre(1.0f, -2.0f));
  EXPECT_THAT(y, ::testing::ElementsAre(-1, 2, 127));
  EXPECT_THAT(message.outputs(), ::testing::ElementsAre(1));
}

TEST(InferMessageParseTest, GoldenBytesAreReadWhereverSlicesEnd) {
  const std::string bytes = GoldenRequest();
  inference::ModelInferRequest reference;
  ASSERT_TRUE(reference.ParseFromString(bytes));  // the bytes above are what the generated parser thinks, too
  EXPECT_EQ(reference.inputs(1).contents().int_contents(0), -1);
  InferMessage message;
  ExpectGolden(message, OneSlice(bytes));
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    ExpectGolden(message, BufferOf(CutAt(bytes, {cut})));
  }
  for (std::size_t slice_bytes = 1; slice_bytes < 12; ++slice_bytes) {
    ExpectGolden(message, SlicesOf(bytes, slice_bytes));
  }
}

TEST(InferMessageParseTest, EveryPrefixIsRefusedOrAnotherMessage) {
  const std::string bytes = GoldenRequest();
  InferMessage message;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string prefix = bytes.substr(0, length);
    inference::ModelInferRequest reference;
    const bool is_message = reference.ParseFromString(prefix);
    for (const std::size_t slice_bytes : {std::size_t{1}, bytes.size()}) {
      const absl::Status parsed = message.Parse(SlicesOf(prefix, slice_bytes));
      EXPECT_EQ(parsed.ok(), is_message) << length << ": " << parsed;
      if (!parsed.ok()) {
        EXPECT_EQ(parsed.code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(std::string(parsed.message()), StartsWith("message: "));
      }
    }
  }
}

TEST(InferMessageParseTest, BytesThatAreNoMessageAreRefused) {
  const google::protobuf::LogSilencer quiet;  // it writes a line for each name that is not UTF-8
  const std::vector<std::pair<const char*, const char*>> bad = {
      {"ff", "a tag"},
      {"00", "a tag"},
      {"0b", "model_name with wire type 3"},
      {"3d 01 02 03 04", "raw_input_contents with wire type 5"},
      {"38 01", "raw_input_contents with wire type 0"},
      {"3a 05 01 02", "raw_input_contents with a length beyond the end"},
      {"3a ff ff ff ff ff ff ff ff ff 01", "raw_input_contents with a length beyond the end"},
      {"0a 02 61", "model_name with a length beyond the end"},
      {"2a 02 0a 05", "inputs.name with a length beyond the end"},
      {"2a 02 08 05", "inputs.name with wire type 0"},
      {"2a 02 28 01", "inputs.contents with wire type 0"},
      {"2a 04 2a 00 2a 00", "inputs.contents twice"},
      {"2a 02 18 80", "inputs.shape cut short"},
      {"2a 01 ff", "a tag in inputs"},
      {"4b 4c", "an unknown field of wire type 3"},
      {"4e", "an unknown field of wire type 6"},
      {"48 80", "an unknown field of wire type 0"},
      {"2a 02 33 34", "an unknown field of wire type 3"},
      {"0a 01 ff", "does not parse"},  // a name that is not UTF-8
      {"22 01 0a", "does not parse"},  // a parameter that is cut short
  };
  InferMessage message;
  for (const auto& [hex, text] : bad) {
    for (const std::size_t slice_bytes : {1u, 1000u}) {
      const absl::Status parsed = message.Parse(SlicesOf(FromHex(hex), slice_bytes));
      EXPECT_EQ(parsed.code(), absl::StatusCode::kInvalidArgument) << hex;
      EXPECT_THAT(std::string(parsed.message()), StartsWith("message: ")) << hex;
      EXPECT_THAT(std::string(parsed.message()), HasSubstr(text)) << hex;
      EXPECT_EQ(message.id(), "");
      EXPECT_EQ(message.model(), nullptr);
    }
  }
}

TEST(InferMessageParseTest, TheByteOfAFaultIsNamed) {
  InferMessage message;
  EXPECT_THAT(std::string(message.Parse(OneSlice(FromHex("2a 01 00 0a 01 61"))).message()), HasSubstr("near byte 3"));
  EXPECT_THAT(std::string(message.Parse(OneSlice(FromHex("0a 01 61 38 01"))).message()), HasSubstr("near byte 4"));
}

TEST(InferMessageParseTest, UnknownFieldsAreSkipped) {
  std::string bytes = FromHex(
      "48 96 01 "                    // 9: varint
      "51 01 02 03 04 05 06 07 08 "  // 10: fixed64
      "5a 03 61 62 63 "              // 11: length-delimited
      "65 01 02 03 04 "              // 12: fixed32
      "f8 ff ff ff 0f 01 "           // the largest field number
      "2a 15 "                       // an input with unknown fields of every type
      "   0a 01 78 12 04 46 50 33 32 18 01 "
      "   30 01 3d 00 00 00 00 4a 01 ff "
      "0a 05 70 72 6f 62 65 3a 04 00 00 80 3f");
  InferMessage message;
  for (const std::size_t slice_bytes : {std::size_t{1}, std::size_t{3}, bytes.size()}) {
    const absl::Status parsed = message.Parse(SlicesOf(bytes, slice_bytes));
    ASSERT_TRUE(parsed.ok()) << parsed;
    const absl::Status bound = message.Bind(ProbeCatalog());
    ASSERT_TRUE(bound.ok()) << bound;
    EXPECT_EQ(message.input_bytes(0), 4u);
  }
}

TEST(InferMessageParseTest, AnEmptyMessageIsOneWithoutAModel) {
  InferMessage message;
  for (const grpc::ByteBuffer& buffer : {grpc::ByteBuffer(), OneSlice("")}) {
    ASSERT_TRUE(message.Parse(buffer).ok());
    EXPECT_EQ(message.Bind(ProbeCatalog()).code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(message.model(), nullptr);
  }
}

TEST(InferMessageParseTest, TensorsMoreThanAnyOperatorHasAreCountedOnly) {
  InferMessage message;
  inference::ModelInferRequest request = PlainRequest();
  std::string bytes = request.SerializeAsString();
  for (int i = 0; i < 100000; ++i) {
    bytes += FromHex("2a 00");  // an empty input
  }
  ASSERT_TRUE(message.Parse(OneSlice(bytes)).ok());
  EXPECT_EQ(message.header().inputs_size(), kMaxInputs);
  EXPECT_EQ(message.Bind(ProbeCatalog()).code(), absl::StatusCode::kInvalidArgument);

  std::string many_payloads = request.SerializeAsString();
  std::string many_outputs = many_payloads;
  for (int i = 0; i < 100000; ++i) {
    many_payloads += FromHex("3a 00");
    many_outputs += FromHex("32 00");
  }
  ASSERT_TRUE(message.Parse(OneSlice(many_payloads)).ok());
  EXPECT_EQ(message.Bind(ProbeCatalog()).message(),
            "raw_input_contents: expected 1 entries, one for each input without contents, got 100001");
  ASSERT_TRUE(message.Parse(OneSlice(many_outputs)).ok());
  EXPECT_EQ(message.header().outputs_size(), kMaxOutputs);
  EXPECT_EQ(message.Bind(ProbeCatalog()).code(), absl::StatusCode::kInvalidArgument);
}

TEST(InferMessageParseTest, AHeaderHasAGreatestSize) {
  InferMessage message;
  inference::ModelInferRequest request = PlainRequest();
  for (int i = 0; i < 60'000; ++i) {
    (*request.mutable_parameters())[absl::StrCat("parameter_", i)].set_int64_param(i);
  }
  const absl::Status parsed = message.Parse(OneSlice(request));
  EXPECT_EQ(parsed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.message()), HasSubstr("at most 1048576 bytes"));

  request = PlainRequest();
  std::vector<std::int64_t> long_shape(kMaxHeaderBytes, 1);
  AddInput(&request, "y", "FP32", long_shape);
  EXPECT_EQ(message.Parse(OneSlice(request)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(message.header().inputs_size(), 1) << "of the input that is too large nothing is left";

  request = PlainRequest();
  request.set_id(std::string(kMaxHeaderBytes - 200, 'i'));
  ASSERT_TRUE(message.Parse(OneSlice(request)).ok());
  EXPECT_TRUE(message.Bind(ProbeCatalog()).ok());
  EXPECT_EQ(message.id().size(), kMaxHeaderBytes - 200);
  ASSERT_TRUE(message.Parse(OneSlice(PlainRequest())).ok());  // and nothing of it is left
  EXPECT_EQ(message.id(), "request 1");
}

TEST(InferMessageParseTest, ARefusedMessageStillSaysWhoseItIs) {
  inference::ModelInferRequest many_parameters = PlainRequest();
  for (int i = 0; i < 60'000; ++i) {
    (*many_parameters.mutable_parameters())[absl::StrCat("parameter_", i)].set_int64_param(i);
  }
  inference::ModelInferRequest long_shape = PlainRequest();
  AddInput(&long_shape, "y", "FP32", std::vector<std::int64_t>(kMaxHeaderBytes, 1));
  inference::ModelInferRequest long_name = PlainRequest();
  AddInput(&long_name, std::string(kMaxHeaderBytes, 'n'), "FP32", {1});
  InferMessage message;
  for (const std::string& bytes : {many_parameters.SerializeAsString(), long_shape.SerializeAsString(),
                                   long_name.SerializeAsString(), PlainRequest().SerializeAsString() + "\xff"}) {
    for (const std::size_t slice_bytes : {std::size_t{8192}, bytes.size()}) {
      EXPECT_EQ(message.Parse(SlicesOf(bytes, slice_bytes)).code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(message.id(), "request 1");
      EXPECT_EQ(message.header().model_name(), "probe");
    }
  }
}

TEST(InferMessageParseTest, TensorsAreNoPartOfTheHeader) {
  InferMessage message;
  inference::ModelInferRequest request = PlainRequest();
  request.set_raw_input_contents(0, std::string(1 << 20, 'r'));
  request.mutable_inputs(0)->clear_shape();
  request.mutable_inputs(0)->add_shape(1 << 18);
  auto* const typed = AddInput(&request, "y", "FP32", {1 << 18});
  for (int i = 0; i < 1 << 18; ++i) {
    typed->mutable_contents()->add_fp32_contents(1.0f);
  }
  ASSERT_TRUE(message.Parse(SlicesOf(request.SerializeAsString(), 8192)).ok());
  EXPECT_LT(message.header().ByteSizeLong(), 100u);
  ASSERT_TRUE(message.Bind(ProbeCatalog()).ok());
  std::string copy(1 << 20, '?');
  ASSERT_TRUE(message.CopyInput(0, copy.data()).ok());
  EXPECT_EQ(copy, request.raw_input_contents(0));
  std::vector<float> ones(1 << 18);
  ASSERT_TRUE(message.CopyInput(1, ones.data()).ok());
  EXPECT_EQ(ones, std::vector<float>(1 << 18, 1.0f));
}

}  // namespace
}  // namespace kernelwire

#include "server/catalog/catalog.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/registry.h"

namespace kernelwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Operator kOperator;

Catalog SomeModels() {
  return Catalog({{"rms_norm", "1", &kOperator, 0},
                  {"softmax", "9", &kOperator, 1},
                  {"softmax", "10", &kOperator, 1},
                  {"softmax", "2", &kOperator, 1},
                  {"nms", "1", &kOperator, 2}});
}

absl::Status FindError(const Catalog& catalog, std::string_view name, std::string_view version = "") {
  return catalog.Find(name, version).status();
}

TEST(CatalogTest, EveryOperatorIsAModelOfVersionOne) {
  const Catalog catalog = Catalog::OfAllOperators();
  ASSERT_EQ(catalog.models().size(), AllOperators().size());
  for (std::size_t i = 0; i < AllOperators().size(); ++i) {
    const Operator& op = AllOperators()[i];
    for (const std::string version : {"", "1"}) {
      const absl::StatusOr<const Model*> model = catalog.Find(op.spec.name, version);
      ASSERT_TRUE(model.ok()) << model.status();
      EXPECT_EQ((*model)->op, &op);
      EXPECT_EQ((*model)->op_index, i);
      EXPECT_EQ((*model)->version, "1");
    }
  }
}

TEST(CatalogTest, NoVersionMeansTheNewestByNumber) {
  const Catalog catalog = SomeModels();
  EXPECT_EQ((*catalog.Find("softmax", ""))->version, "10");
  EXPECT_EQ((*catalog.Find("softmax", "2"))->version, "2");
  EXPECT_EQ((*catalog.Find("softmax", "9"))->version, "9");
  EXPECT_EQ(catalog.FindAnyVersion("softmax")->version, "10");
  EXPECT_EQ(catalog.FindAnyVersion("soft"), nullptr);
  EXPECT_EQ(catalog.FindAnyVersion(""), nullptr);
}

TEST(CatalogTest, AnUnknownNameIsNotFoundAndNearOnesAreListed) {
  const Catalog catalog = SomeModels();
  const absl::Status mistyped = FindError(catalog, "rmsnorm");
  EXPECT_EQ(mistyped.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(mistyped.message(), "model 'rmsnorm': not found; did you mean 'rms_norm'?");
  EXPECT_THAT(std::string(FindError(catalog, "softmx").message()), HasSubstr("did you mean 'softmax'?"));
  EXPECT_THAT(std::string(FindError(catalog, "SOFTMAX").message()), Not(HasSubstr("did you mean")));
}

TEST(CatalogTest, ANameFarFromAllIsAnsweredWithTheList) {
  const Catalog catalog = SomeModels();
  for (const std::string& name : {std::string(), std::string("resnet50"), std::string("\0", 1)}) {
    const absl::Status error = FindError(catalog, name);
    EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(error.message()), HasSubstr("the models are rms_norm, softmax, nms"));
  }
}

TEST(CatalogTest, AnUnknownVersionIsNotFoundAndTheOthersAreListed) {
  const Catalog catalog = SomeModels();
  for (const std::string version : {"3", "01", "1.0", "latest", " 1"}) {
    const absl::Status error = FindError(catalog, "softmax", version);
    EXPECT_EQ(error.code(), absl::StatusCode::kNotFound) << version;
    EXPECT_EQ(std::string(error.message()), "model 'softmax': version '" + version + "' not found; there is 9, 10, 2");
  }
}

TEST(CatalogTest, LongNamesAreCutInMessages) {
  const Catalog catalog = SomeModels();
  const std::string huge(1 << 20, 'x');
  EXPECT_LT(FindError(catalog, huge).message().size(), 200u);
  EXPECT_LT(FindError(catalog, "nms", huge).message().size(), 200u);
}

}  // namespace
}  // namespace kernelwire

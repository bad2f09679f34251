#include "client/cli/random_tensor.h"

#include <cstring>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using client::DataType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<float> FloatsOf(const Array& array) {
  std::vector<float> values(array.bytes.size() / 4);
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

TEST(ParseInputPlan, ReadsNameTypeAndShape) {
  const auto plan = ParseInputPlan("boxes=BF16:2,8400,4");
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->name, "boxes");
  EXPECT_EQ(plan->dtype, DataType::kBf16);
  EXPECT_THAT(plan->shape, ElementsAre(2, 8400, 4));
  EXPECT_THAT(ParseInputPlan("x=FP64:")->shape, IsEmpty());
  EXPECT_THAT(ParseInputPlan("x=FP64:0")->shape, ElementsAre(0));
}

TEST(ParseInputPlan, SaysWhatIsWrong) {
  for (const char* text : {"x", "=FP32:1", "x=FP32", "x:FP32=1"}) {
    EXPECT_THAT(ParseInputPlan(text).status().message(), HasSubstr("expected NAME=TYPE:SHAPE")) << text;
  }
  EXPECT_THAT(ParseInputPlan("x=F32:1").status().message(), HasSubstr("got 'F32'"));
  for (const char* text : {"x=FP32:a", "x=FP32:1,", "x=FP32:,1", "x=FP32:-1", "x=FP32:1,,2"}) {
    EXPECT_THAT(ParseInputPlan(text).status().message(), HasSubstr("expected sizes such as 8,1024")) << text;
  }
  EXPECT_THAT(ParseInputPlan("x=FP32:9999999999,9999999999").status().message(), HasSubstr("2^63"));
}

TEST(ParseInputPlan, RefusesMoreBytesThanAMessageHolds) {
  EXPECT_TRUE(ParseInputPlan("x=UINT8:2147483647").ok());
  EXPECT_TRUE(ParseInputPlan("x=FP64:268435455").ok());
  for (const char* text : {"x=UINT8:2147483648", "x=FP64:268435456", "x=FP32:1024,1024,1024",
                           "x=FP32:4611686018427387904", "x=FP64:2305843009213693952"}) {
    EXPECT_THAT(ParseInputPlan(text).status().message(), HasSubstr("at most 2147483647 bytes")) << text;
  }
  EXPECT_THAT(ParseInputPlan("x=FP32:4611686018427387904").status().message(),
              HasSubstr("got [4611686018427387904] of FP32"));
}

TEST(RandomTensor, FollowsTheSeed) {
  const InputPlan plan{"x", DataType::kFp32, {1000}};
  std::mt19937_64 first(5), same(5), other(6);
  const Array array = RandomTensor(plan, first);
  EXPECT_EQ(array.bytes, RandomTensor(plan, same).bytes);
  EXPECT_NE(array.bytes, RandomTensor(plan, other).bytes);
  for (const float value : FloatsOf(array)) {
    EXPECT_TRUE(value >= -4 && value < 4);
  }
}

TEST(RandomTensor, BoxesHaveTheirCornersInOrder) {
  std::mt19937_64 random(5);
  const std::vector<float> boxes = FloatsOf(RandomTensor({"boxes", DataType::kFp32, {100, 4}}, random));
  for (std::size_t i = 0; i < boxes.size(); i += 4) {
    EXPECT_LT(boxes[i], boxes[i + 2]);
    EXPECT_LT(boxes[i + 1], boxes[i + 3]);
    EXPECT_LE(boxes[i + 3], 1024);
  }
  for (const float score : FloatsOf(RandomTensor({"scores", DataType::kFp32, {100}}, random))) {
    EXPECT_TRUE(score >= 0 && score < 1);
  }
}

TEST(RandomTensor, HasTheBytesOfItsType) {
  std::mt19937_64 random(5);
  for (const DataType dtype : {DataType::kBool, DataType::kInt8, DataType::kUint8, DataType::kInt32, DataType::kInt64,
                               DataType::kFp16, DataType::kBf16, DataType::kFp64, DataType::kFp8E4m3}) {
    EXPECT_EQ(RandomTensor({"x", dtype, {3, 5}}, random).bytes.size(), 15 * client::SizeOf(dtype));
  }
}

}  // namespace
}  // namespace kernelwire::cli

// What is particular to dot: two inputs that must match, INT8 at the edge of its accumulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing::dot {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OperatorCase Case(HostTensor a, HostTensor b, AttributeList attributes = {}) {
  OperatorCase test_case = ReductionCase("case", std::move(a), std::move(attributes));
  test_case.inputs.push_back(std::move(b));
  return test_case;
}

std::string ErrorOf(const OperatorCase& test_case) {
  const absl::Status status = PlanCase(*FindOperator("dot"), test_case).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(DotPlanTest, InputsMustMatch) {
  const HostTensor a = MakeTensor(DataType::kFp32, {2, 3}, Values::kNormal, 1);
  EXPECT_THAT(ErrorOf(Case(a, MakeTensor(DataType::kFp32, {3, 2}, Values::kNormal, 1))),
              HasSubstr("input 'b': expected the type and shape of a, FP32 [2,3], got FP32 [3,2]"));
  EXPECT_THAT(ErrorOf(Case(a, MakeTensor(DataType::kFp16, {2, 3}, Values::kNormal, 1))), HasSubstr("got FP16 [2,3]"));
  EXPECT_THAT(ErrorOf(Case(a, {})), HasSubstr("input 'b': required"));
  EXPECT_THAT(ErrorOf(Case(a, a, Axes("0"))), HasSubstr("axes"));
  EXPECT_THAT(ErrorOf(Case(MakeTensor(DataType::kInt32, {2}, Values::kZero, 1), a)), HasSubstr("got INT32"));
}

TEST(DotPlanTest, ARequestMayBeCutBetweenRows) {
  const HostTensor a = MakeTensor(DataType::kFp16, {2, 3, 8}, Values::kNormal, 1);
  const Plan plan = PlanCase(*FindOperator("dot"), Case(a, a)).value()->plan;
  EXPECT_EQ(plan.rows, 6);
  EXPECT_EQ(plan.outputs[0].desc.shape.ToString(), "[2,3]");
  EXPECT_EQ(plan.input_row_bytes[0], 16);
  EXPECT_EQ(plan.input_row_bytes[1], 16);
  EXPECT_EQ(plan.outputs[0].row_bytes, 2);
}

class DotTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static absl::StatusOr<std::vector<HostTensor>> Run(const OperatorCase& test_case) {
    return GetParam()->Run(*FindOperator("dot"), test_case);
  }
  static std::vector<double> Values(const OperatorCase& test_case) { return ToDoubles(Run(test_case).value().front()); }
};

INSTANTIATE_TEST_SUITE_P(, DotTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

/// 2^17 products of 2^14 come to 2^31.
TEST_P(DotTest, TheEdgeOfInt8) {
  const HostTensor x = FromDoubles(DataType::kInt8, {1 << 17}, std::vector<double>(1 << 17, -128.0));
  const absl::Status status = Run(Case(x, x)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ask for accumulator INT64"));
  EXPECT_THAT(Values(Case(x, x, {{"accumulator", std::string("INT64")}})), ElementsAre(2147483648.0));
  const HostTensor less = FromDoubles(DataType::kInt8, {(1 << 17) - 1}, std::vector<double>((1 << 17) - 1, -128.0));
  EXPECT_THAT(Values(Case(less, less)), ElementsAre(2147483648.0 - 16384.0));
}

TEST_P(DotTest, SixteenBitInputsDoNotOverflowInBetween) {
  // Beyond FP16, and exact in f32 in any order.
  const HostTensor x = FromDoubles(DataType::kFp16, {4}, {300, 300, 300, 1});
  const HostTensor y = FromDoubles(DataType::kFp16, {4}, {300, -300, 0, 1});
  EXPECT_THAT(Values(Case(x, y)), ElementsAre(1.0));
  const HostTensor far = FromDoubles(DataType::kFp16, {2}, {60000, 1});
  EXPECT_TRUE(std::isinf(Values(Case(far, far, {{"accumulator", std::string("FP16")}}))[0])) << "and it stays so";
}

/// Products that f32 cannot hold, and those that it would round, each by up to half of itself.
TEST_P(DotTest, ProductsThatLeaveF32AreAddedInF64) {
  for (const std::int64_t width : {4, 64, 100, 128, 256, 1000, 5000, 100000}) {
    const auto count = static_cast<std::size_t>(width);
    const HostTensor large = FromDoubles(DataType::kFp32, {width}, std::vector<double>(count, 2e19));
    std::vector<double> signs(count, 2e19);
    std::fill(signs.begin() + width / 2, signs.end(), -2e19);
    const double all = static_cast<double>(width) * 4e38;
    EXPECT_NEAR(Values(Case(large, FromDoubles(DataType::kFp32, {width}, signs)))[0], 0.0, 1e-10 * all) << width;
    for (const double value : {1.05e-21, 0x1p-75, 0x1p-76}) {  // of a product; of the last two f32 makes 0
      const HostTensor small = FromDoubles(DataType::kFp32, {width}, std::vector<double>(count, value));
      const double x = ToDoubles(small)[0];
      const double expected = static_cast<double>(width) * x * x;
      EXPECT_NEAR(Values(Case(small, small))[0], expected, std::max(expected * 1e-6, 0x1p-149)) << width << ", " << x;
      const AttributeList wide = {{"output_type", std::string("FP64")}};
      EXPECT_NEAR(Values(Case(small, small, wide))[0], expected, expected * 1e-6) << width << ", " << x;
    }
  }
}

TEST_P(DotTest, NoPairIsLostAtAnyWidth) {
  for (std::int64_t width = 1; width < 300; ++width) {
    std::vector<double> x(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = i % 2 == 0 ? 1.0 : -1.0;
    }
    const auto expected = static_cast<double>(width);
    for (const DataType dtype : {DataType::kInt8, DataType::kBf16}) {
      const HostTensor tensor = FromDoubles(dtype, {width}, x);
      EXPECT_THAT(Values(Case(tensor, tensor, {{"output_type", std::string("FP32")}})), ElementsAre(expected));
    }
  }
}

TEST_P(DotTest, OfOnesIsTheSum) {
  const HostTensor x = MakeTensor(DataType::kFp32, {3, 20000}, Values::kNormal, 5);
  const HostTensor ones = FromDoubles(DataType::kFp32, {3, 20000}, std::vector<double>(60000, 1.0));
  const auto sum = GetParam()->Run(*FindOperator("sum"), ReductionCase("sum", x, Axes("1")));
  const std::vector<double> expected = ToDoubles(sum.value().front());
  const std::vector<double> actual = Values(Case(x, ones));
  for (std::size_t row = 0; row < expected.size(); ++row) {
    EXPECT_NEAR(actual[row], expected[row], 1e-3);
  }
}

}  // namespace
}  // namespace kernelwire::testing::dot

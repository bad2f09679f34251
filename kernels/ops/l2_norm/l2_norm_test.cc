// What is particular to l2_norm: squares that f32 cannot hold.
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

namespace kernelwire::testing::l2_norm {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(L2NormPlanTest, IntegersAreComputedInF64AndInNothingElse) {
  const HostTensor x = MakeTensor(DataType::kInt8, {4}, Values::kZero, 1);
  EXPECT_EQ(PlanCase(*FindOperator("l2_norm"), ReductionOf(x)).value()->plan.outputs[0].desc.dtype, DataType::kFp32);
  const absl::Status status =
      PlanCase(*FindOperator("l2_norm"), ReductionOf(x, {{"accumulator", std::string("FP32")}})).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("expected one of FP64 for an input of INT8, got FP32"));
}

class L2NormTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static std::vector<double> Values(const OperatorCase& test_case) {
    return ToDoubles(GetParam()->Run(*FindOperator("l2_norm"), test_case).value().front());
  }
};

INSTANTIATE_TEST_SUITE_P(, L2NormTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

TEST_P(L2NormTest, NoSquareOverflowsOrVanishes) {
  for (const DataType dtype : {DataType::kFp32, DataType::kBf16}) {
    for (const double scale : {0x1p100, 0x1p-100, 0x1p-140}) {
      if (dtype == DataType::kBf16 && scale < 0x1p-130) {
        continue;  // below its smallest
      }
      EXPECT_THAT(Values(ReductionOf(FromDoubles(dtype, {2}, {3 * scale, -4 * scale}))), ElementsAre(5 * scale));
    }
  }
}

// So many elements that threads have whole tiles: 4096 times 3 and -4, whose squares are 64 * 64 * 5 * 5.
TEST_P(L2NormTest, NoSquareOfALongRowOverflowsOrVanishes) {
  constexpr std::int64_t kWidth = 8192;
  const auto length_of = [&](DataType dtype, double scale, double first) {
    std::vector<double> row(kWidth);
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = (i % 2 == 0 ? 3 : -4) * scale;
    }
    row[1000] = std::isnan(first) || first > row[1000] ? first : row[1000];
    return Values(ReductionOf(FromDoubles(dtype, {kWidth}, row)))[0];
  };
  for (const auto& [dtype, scales] : {std::pair{DataType::kFp32, std::vector<double>{0x1p118, 1.0, 0x1p-100, 0x1p-149}},
                                      {DataType::kBf16, {0x1p118, 1.0, 0x1p-100, 0x1p-133}},
                                      {DataType::kFp16, {0x1p7, 1.0, 0x1p-24}},
                                      {DataType::kFp8E4m3, {0x1p6, 1.0, 0x1p-9}},
                                      {DataType::kFp8E5m2, {0x1p12, 1.0, 0x1p-16}}}) {
    for (const double scale : scales) {
      EXPECT_EQ(length_of(dtype, scale, 0.0), 320 * scale) << NameOf(dtype) << ", " << scale;
    }
  }
  for (const DataType dtype : {DataType::kFp32, DataType::kBf16}) {
    EXPECT_EQ(length_of(dtype, 0x1p-100, 0x1p100), 0x1p100) << NameOf(dtype);
    EXPECT_EQ(length_of(dtype, 1.0, HUGE_VAL), HUGE_VAL) << NameOf(dtype);
    EXPECT_TRUE(std::isnan(length_of(dtype, 1.0, std::nan("")))) << NameOf(dtype);
  }
}

// Blocks of one row that f32 can hold, and others that it cannot.
TEST_P(L2NormTest, ARowMayHoldTheHugeAndTheTinySideBySide) {
  std::vector<double> row(10000, 1.0);
  std::fill(row.begin(), row.begin() + 2048, 0x1p-80);
  EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kFp32, {10000}, row))),
              ElementsAre(DoubleNear(std::sqrt(10000.0 - 2048), 1e-5)));
  row[5000] = 0x1p80;
  EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kFp32, {10000}, row))), ElementsAre(0x1p80));
  std::fill(row.begin(), row.end(), 0x1p-80);
  EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kFp32, {10000}, row))), ElementsAre(100 * 0x1p-80));
}

TEST_P(L2NormTest, OfOneElementIsItsMagnitude) {
  const HostTensor x = MakeTensor(DataType::kFp32, {50, 1}, Values::kNormal, 4);
  std::vector<double> expected = ToDoubles(x);
  for (double& value : expected) {
    value = std::abs(value);
  }
  EXPECT_EQ(Values(ReductionOf(x, Axes("1"))), expected);
}

TEST_P(L2NormTest, OfIntegersAndOfNothing) {
  EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kInt8, {2}, {-3, 4}))), ElementsAre(5));
  EXPECT_THAT(
      Values(ReductionOf(FromDoubles(DataType::kInt64, {2}, {3e15, 4e15}), {{"output_type", std::string("FP64")}})),
      ElementsAre(5e15));
  EXPECT_THAT(Values(ReductionOf({TensorDesc{DataType::kFp32, {0}}, {}})), ElementsAre(0));
}

TEST_P(L2NormTest, SixteenBitAccumulatorsAreHonoured) {
  const HostTensor x = FromDoubles(DataType::kFp16, {2}, {300, 400});
  EXPECT_THAT(Values(ReductionOf(x)), ElementsAre(500));
  EXPECT_TRUE(std::isinf(Values(ReductionOf(x, {{"accumulator", std::string("FP16")}}))[0])) << "90000 is beyond FP16";
}

}  // namespace
}  // namespace kernelwire::testing::l2_norm

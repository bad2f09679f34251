// What is particular to prod: integers that do not fit, whatever the order of their factors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing::prod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ProdTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static absl::StatusOr<std::vector<HostTensor>> Run(const OperatorCase& test_case) {
    return GetParam()->Run(*FindOperator("prod"), test_case);
  }
  static std::vector<double> Values(const OperatorCase& test_case) { return ToDoubles(Run(test_case).value().front()); }
};

INSTANTIATE_TEST_SUITE_P(, ProdTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

TEST_P(ProdTest, IntegersThatDoNotFitAreRefusedAndNeverWrapped) {
  const absl::Status wide = Run(ReductionOf(FromDoubles(DataType::kInt64, {2}, {4294967296.0, 4294967296.0}))).status();
  EXPECT_EQ(wide.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(wide.message()), HasSubstr("INT64, the widest there is"));
  const absl::Status narrow = Run(ReductionOf(FromDoubles(DataType::kInt8, {5}, {127, 127, 127, 127, 127}))).status();
  EXPECT_EQ(narrow.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(narrow.message()), HasSubstr("ask for accumulator INT64"));
  EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kInt8, {5}, {127, 127, 127, 127, 127}),
                                 {{"accumulator", std::string("INT64")}})),
              ElementsAre(std::pow(127.0, 5.0)));
}

/// 2^64 and more wraps to 0 or to itself where nobody looks.
TEST_P(ProdTest, PowersOfTwoDoNotVanish) {
  for (const int count : {63, 64, 65, 128, 200, 5000}) {
    const std::vector<double> twos(static_cast<std::size_t>(count), 2.0);
    EXPECT_EQ(Run(ReductionOf(FromDoubles(DataType::kInt64, {count}, twos))).status().code(),
              absl::StatusCode::kOutOfRange);
    EXPECT_EQ(Run(ReductionOf(FromDoubles(DataType::kInt64, {count, 2},
                                          std::vector<double>(static_cast<std::size_t>(2 * count), 2.0)),
                              Axes("0")))
                  .status()
                  .code(),
              absl::StatusCode::kOutOfRange);
  }
  const std::vector<double> twos(62, 2.0);
  EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kInt64, {62}, twos))), ElementsAre(std::ldexp(1.0, 62)));
}

TEST_P(ProdTest, TheLeastInt64FitsAndItsNegativeDoesNot) {
  EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kInt64, {2}, {-4294967296.0, 2147483648.0}))),
              ElementsAre(-9223372036854775808.0));
  EXPECT_FALSE(Run(ReductionOf(FromDoubles(DataType::kInt64, {2}, {4294967296.0, 2147483648.0}))).ok());
}

/// A zero makes the product 0 wherever it stands, also behind what was too large already.
TEST_P(ProdTest, OneZeroIsEnough) {
  for (const std::int64_t place : {0, 499, 999}) {
    std::vector<double> x(1000, 3.0);
    x[static_cast<std::size_t>(place)] = 0.0;
    EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kInt64, {1000}, x))), ElementsAre(0.0));
  }
}

TEST_P(ProdTest, RangesOfFloatsAreLeftAndComeBack) {
  std::vector<double> x(4, 1e-38);
  x.insert(x.end(), 4, 1e38);
  EXPECT_NEAR(Values(ReductionOf(FromDoubles(DataType::kFp32, {8}, x)))[0], 1.0, 1e-5);
}

TEST_P(ProdTest, SixteenBitAccumulatorsRoundEveryPartialProduct) {
  const HostTensor x = FromDoubles(DataType::kFp16, {4}, {60000, 60000, 1.0 / 1024, 1.0 / 1024});
  EXPECT_TRUE(std::isinf(
      Values(ReductionOf(x, {{"accumulator", std::string("FP16")}, {"output_type", std::string("FP32")}}))[0]));
  EXPECT_FALSE(std::isinf(Values(ReductionOf(x, {{"output_type", std::string("FP32")}}))[0]));
}

}  // namespace
}  // namespace kernelwire::testing::prod

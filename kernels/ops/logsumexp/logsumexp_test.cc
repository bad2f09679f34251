// What is particular to logsumexp: infinities, shifts, and its place between max and max + log n.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing::logsumexp {
namespace {

using ::testing::ElementsAre;

class LogsumexpTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static std::vector<double> Values(const OperatorCase& test_case) {
    return ToDoubles(GetParam()->Run(*FindOperator("logsumexp"), test_case).value().front());
  }
};

INSTANTIATE_TEST_SUITE_P(, LogsumexpTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

/// Merging parts that are -infinity throughout must not compute -inf - -inf.
TEST_P(LogsumexpTest, InfinitiesWhereverTheyAre) {
  for (const std::int64_t width : {2, 40, 700, 9001, 40000}) {
    const auto count = static_cast<std::size_t>(width);
    std::vector<double> x(count, -kInfinity);
    EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kFp32, {width}, x))), ElementsAre(-kInfinity)) << width;
    x[count - 1] = 3.0;
    EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kFp32, {width}, x))), ElementsAre(3.0)) << width;
    x[count / 2] = kInfinity;
    EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kFp32, {width}, x))), ElementsAre(kInfinity)) << width;
    x[0] = std::nan("");
    EXPECT_TRUE(std::isnan(Values(ReductionOf(FromDoubles(DataType::kFp32, {width}, x)))[0])) << width;
  }
}

TEST_P(LogsumexpTest, OfNothingIsMinusInfinity) {
  EXPECT_THAT(Values(ReductionOf({TensorDesc{DataType::kFp32, {0}}, {}})), ElementsAre(-kInfinity));
}

TEST_P(LogsumexpTest, OfOneElementIsThatElement) {
  const HostTensor x = MakeTensor(DataType::kFp32, {50, 1}, Values::kOutliers, 4);
  EXPECT_EQ(Values(ReductionOf(x, Axes("1"))), ToDoubles(x));
}

TEST_P(LogsumexpTest, HugeAndTinyElementsDoNotOverflow) {
  EXPECT_THAT(Values(ReductionOf(FromDoubles(DataType::kFp32, {2}, {3e38, -3e38}))),
              ElementsAre(static_cast<double>(static_cast<float>(3e38))));
  EXPECT_NEAR(Values(ReductionOf(FromDoubles(DataType::kFp32, {2}, {-1000, -1000})))[0], -1000 + std::log(2.0), 1e-4);
  EXPECT_NEAR(Values(ReductionOf(FromDoubles(DataType::kFp16, {1000}, std::vector<double>(1000, 11.0))))[0],
              11 + std::log(1000.0), 0.02);
}

/// Powers of e come from tables on a GPU, up to where there is nothing left of them.
TEST_P(LogsumexpTest, IntegersAsFarApartAsTheyCanBe) {
  constexpr int kDistances = 801;
  std::vector<double> x;
  for (int k = 0; k < kDistances; ++k) {
    x.insert(x.end(), {-3.0, -3.0 - k, -3.0});
  }
  AttributeList attributes = Axes("1");
  attributes.push_back({"output_type", std::string("FP64")});
  for (const DataType dtype : {DataType::kInt32, DataType::kInt64}) {
    const std::vector<double> y = Values(ReductionOf(FromDoubles(dtype, {kDistances, 3}, x), attributes));
    for (int k = 0; k < kDistances; ++k) {
      EXPECT_NEAR(y[static_cast<std::size_t>(k)], -3.0 + std::log(2.0) + std::log1p(std::exp(-k) / 2), 4e-15) << k;
    }
  }
  for (const auto& [dtype, least, most] : {std::tuple{DataType::kInt8, -128.0, 127.0},
                                           {DataType::kUint8, 0.0, 255.0},
                                           {DataType::kInt32, -0x1p31, 0x1p30},
                                           {DataType::kInt64, -0x1p63, 0x1p62}}) {
    for (const std::int64_t width : {2, 41, 700}) {
      std::vector<double> row(static_cast<std::size_t>(width), least);
      row.back() = most;
      EXPECT_THAT(Values(ReductionOf(FromDoubles(dtype, {1, width}, row), attributes)), ElementsAre(most)) << width;
      EXPECT_THAT(Values(ReductionOf(FromDoubles(dtype, {width, 1}, row), {{"axes", std::string("0")}})),
                  ElementsAre(static_cast<double>(static_cast<float>(most))))
          << width;
    }
  }
}

/// What fills a vector up must not count, also where the type has no -infinity to fill with.
TEST_P(LogsumexpTest, OnlyElementsCount) {
  for (std::int64_t width = 1; width < 70; ++width) {
    const auto count = static_cast<std::size_t>(width);
    const double log_width = std::log(static_cast<double>(width));
    EXPECT_NEAR(Values(ReductionOf(FromDoubles(DataType::kFp8E4m3, {width}, std::vector<double>(count, -448.0))))[0],
                -448 + log_width, 1e-3);
    EXPECT_NEAR(Values(ReductionOf(FromDoubles(DataType::kInt8, {width}, std::vector<double>(count, -128.0))))[0],
                -128 + log_width, 1e-3);
  }
}

TEST_P(LogsumexpTest, SixteenBitAccumulatorsAreHonoured) {
  const HostTensor x = MakeTensor(DataType::kBf16, {2000}, Values::kZero, 1);
  const AttributeList wide = {{"output_type", std::string("FP32")}};
  const AttributeList rounded = {{"output_type", std::string("FP32")}, {"accumulator", std::string("BF16")}};
  EXPECT_NEAR(Values(ReductionOf(x, wide))[0], std::log(2000.0), 1e-5);
  const double sum = std::exp(Values(ReductionOf(x, rounded))[0]);
  const double held = ToDoubles(FromDoubles(DataType::kBf16, {1}, {sum}))[0];
  EXPECT_NEAR(sum, held, sum * 1e-5) << "its sum is one that BF16 holds";
}

}  // namespace
}  // namespace kernelwire::testing::logsumexp

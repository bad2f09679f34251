// What is particular to log_softmax. Its plans are softmax's; agreement with the oracle is the battery's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"
#include "kernels/testing/norm_cases.h"

namespace kernelwire::testing::log_softmax {
namespace {

using ::testing::Each;

const Operator& LogSoftmax() { return *FindOperator("log_softmax"); }

TEST(LogSoftmaxPlanTest, NeverSharesALaunchWithSoftmax) {
  const OperatorCase test_case = NormCase("case", {NormalTensor(DataType::kFp32, {4, 8})});
  EXPECT_FALSE(PlanCase(LogSoftmax(), test_case).value()->plan.key ==
               PlanCase(*FindOperator("softmax"), test_case).value()->plan.key);
}

TEST(LogSoftmaxPlanTest, InterleavedRowsHaveNoStride) {
  OperatorCase test_case = NormCase("case", {NormalTensor(DataType::kFp32, {4, 8, 3})}, {{"axis", std::int64_t{1}}});
  test_case.layout.input_row_strides[0] = 30;
  const absl::Status status = PlanCase(LogSoftmax(), test_case).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("input 'x': expected rows that follow each other, got a row stride of 30"));
}

class LogSoftmaxTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static std::vector<double> Run(const HostTensor& x, AttributeList attributes = {}) {
    return ToDoubles(GetParam()->Run(LogSoftmax(), NormCase("case", {x}, std::move(attributes))).value().front());
  }
};

INSTANTIATE_TEST_SUITE_P(, LogSoftmaxTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

TEST_P(LogSoftmaxTest, ARowOfOneIsExactlyZeroAndAConstantRowTheLogarithmOfItsWidth) {
  EXPECT_THAT(Run(NormalTensor(DataType::kFp32, {5, 1})), Each(0.0));
  for (const std::int64_t width : {3, 1000, 20000}) {
    EXPECT_THAT(Run(FilledTensor(DataType::kFp32, {2, width}, 1e4)),
                Each(::testing::DoubleNear(-std::log(static_cast<double>(width)), 1e-6 * std::log(20000.0))))
        << width;
  }
}

/// Where softmax has run out of numbers, the logarithm still has all its digits.
TEST_P(LogSoftmaxTest, SmallProbabilitiesKeepTheirLogarithms) {
  for (const char* const algorithm : {"safe", "online"}) {
    const std::vector<double> y =
        Run(FromDoubles(DataType::kFp32, {1, 3}, {0.0, -200.0, -3e30}), {{"algorithm", std::string(algorithm)}});
    EXPECT_EQ(y[0], 0.0);
    EXPECT_EQ(y[1], -200.0);
    EXPECT_EQ(y[2], static_cast<double>(-3e30F));
  }
}

/// The maximum is taken away before the logarithm of the sum is: their sum would be rounded to a multiple of 1/1024
/// here.
TEST_P(LogSoftmaxTest, ALargeMaximumCostsNoDigits) {
  for (const std::int64_t width : {9, 3000}) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < width; ++i) {
      values.push_back(static_cast<double>(i * 7919 % 64) / 8.0);
    }
    std::vector<double> shifted = values;
    for (double& value : shifted) {
      value += 8192.0;  // exact in f32
    }
    EXPECT_EQ(Run(FromDoubles(DataType::kFp32, {1, width}, values)),
              Run(FromDoubles(DataType::kFp32, {1, width}, shifted)))
        << width;
  }
}

/// A GPU rounds FP32 results once, by half a unit of the last place; beyond that the logarithm itself is off by 2^-25.
TEST_P(LogSoftmaxTest, FloatResultsAreWithinUnitsOfTheLastPlace) {
  const double most_units = GetParam()->name() == "cuda" ? 0.5 : 2.0;
  for (const std::int64_t width : {2, 64, 333, 1001, 4096, 12289, 70001, 300000}) {
    const HostTensor x = NormalTensor(DataType::kFp32, {1, width});
    const std::vector<double> values = ToDoubles(x);
    double sum = 0.0;
    for (const double value : values) {
      sum += std::exp(value);
    }
    const std::vector<double> y = Run(x);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double expected = values[i] - std::log(sum);
      const double unit = std::ldexp(1.0, std::ilogb(expected) - 23);
      ASSERT_NEAR(y[i], expected, most_units * unit + 0x1p-24) << i << " of " << width;
    }
  }
}

/// Stretches of -infinity, as long as any thread's share of the row, are -infinity in the result and nothing else.
TEST_P(LogSoftmaxTest, MaskedStretchesDoNotSpread) {
  constexpr double kMasked = -std::numeric_limits<double>::infinity();
  for (const std::int64_t width : {64, 5000, 70000}) {
    std::vector<double> values(static_cast<std::size_t>(width), kMasked);
    values[0] = 1.0;
    values.back() = 1.0;
    for (const char* const algorithm : {"safe", "online"}) {
      const std::vector<double> y =
          Run(FromDoubles(DataType::kFp32, {1, width}, values), {{"algorithm", std::string(algorithm)}});
      EXPECT_NEAR(y.front(), -std::log(2.0), 1e-7) << width;
      EXPECT_NEAR(y.back(), -std::log(2.0), 1e-7) << width;
      EXPECT_EQ(y[1], kMasked) << width;
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing::log_softmax

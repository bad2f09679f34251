// What is particular to rms_norm: its plans and their errors, and how results follow changes of the input. Agreement
// with the oracle is the battery's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"

namespace kernelwire::testing::rms_norm {
namespace {

using ::testing::HasSubstr;

const Operator& RmsNorm() { return *FindOperator("rms_norm"); }

HostTensor Normal(DataType dtype, const Shape& shape) { return MakeTensor(dtype, shape, Values::kNormal, 7); }

OperatorCase MakeCase(HostTensor x, HostTensor weight = {}, AttributeList attributes = {}) {
  OperatorCase test_case;
  test_case.name = "case";
  test_case.inputs = {std::move(x), std::move(weight)};
  test_case.attributes = std::move(attributes);
  return test_case;
}

Plan PlanOf(const OperatorCase& test_case) { return PlanCase(RmsNorm(), test_case).value()->plan; }

std::string ErrorOf(const OperatorCase& test_case) {
  const absl::Status status = PlanCase(RmsNorm(), test_case).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

HostTensor RunOn(DeviceRunner& device, const OperatorCase& test_case) {
  return device.Run(RmsNorm(), test_case).value().front();
}

TEST(RmsNormPlanTest, RowsAreWhatStandsBeforeTheAxis) {
  const HostTensor x = Normal(DataType::kFp16, {4, 3, 5});
  EXPECT_EQ(PlanOf(MakeCase(x)).rows, 12);
  EXPECT_EQ(PlanOf(MakeCase(x, {}, {{"axis", std::int64_t{1}}})).rows, 4);
  EXPECT_EQ(PlanOf(MakeCase(x, {}, {{"axis", std::int64_t{-3}}})).rows, 1);
  EXPECT_EQ(PlanOf(MakeCase(x)).outputs[0].bytes, 120u);
}

TEST(RmsNormPlanTest, EmptyTensorsHaveNoRows) {
  EXPECT_EQ(PlanOf(MakeCase(Normal(DataType::kFp32, {0, 5}))).rows, 0);
  EXPECT_EQ(PlanOf(MakeCase(Normal(DataType::kFp32, {5, 0}))).rows, 0);
}

TEST(RmsNormPlanTest, RowCountsAndWeightsShareALaunch) {
  const BatchKey key = PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}))).key;
  EXPECT_TRUE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {9, 8}))).key);
  EXPECT_TRUE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {2, 3, 8}))).key);
  EXPECT_TRUE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}), Normal(DataType::kFp32, {8}))).key);
  EXPECT_TRUE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}), Normal(DataType::kBf16, {}))).key);
  EXPECT_TRUE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}), {}, {{"epsilon", 1e-5}})).key);
}

TEST(RmsNormPlanTest, WidthTypesAndEpsilonDoNot) {
  const BatchKey key = PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}))).key;
  EXPECT_FALSE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {4, 9}))).key);
  EXPECT_FALSE(key == PlanOf(MakeCase(Normal(DataType::kBf16, {4, 8}))).key);
  EXPECT_FALSE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}), {}, {{"epsilon", 1e-6}})).key);
  EXPECT_FALSE(key ==
               PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}), {}, {{"output_type", std::string("FP32")}})).key);
}

TEST(RmsNormPlanTest, ErrorsSayWhatWasExpectedAndWhatCame) {
  const HostTensor x = Normal(DataType::kFp32, {2, 8});
  EXPECT_THAT(ErrorOf(MakeCase(x, Normal(DataType::kFp32, {4}))),
              HasSubstr("input 'weight': expected one element or shape [8]"));
  EXPECT_THAT(ErrorOf(MakeCase(x, Normal(DataType::kFp32, {4}))), HasSubstr("got [4]"));
  EXPECT_THAT(ErrorOf(MakeCase(x, Normal(DataType::kFp32, {1, 8}))), HasSubstr("got [1,8]"));
  EXPECT_THAT(ErrorOf(MakeCase(x, Normal(DataType::kFp32, {8}), {{"axis", std::int64_t{0}}})),
              HasSubstr("shape [2,8]"));
  EXPECT_THAT(ErrorOf(MakeCase(x, {}, {{"axis", std::int64_t{2}}})), HasSubstr("axis"));
  EXPECT_THAT(ErrorOf(MakeCase(x, {}, {{"axis", std::int64_t{-3}}})), HasSubstr("-3"));
  EXPECT_THAT(ErrorOf(MakeCase(x, {}, {{"epsilon", -1e-5}})), HasSubstr("attribute 'epsilon'"));
  EXPECT_THAT(ErrorOf(MakeCase(x, {}, {{"epsilon", std::nan("")}})), HasSubstr("attribute 'epsilon'"));
  EXPECT_THAT(ErrorOf(MakeCase(x, {}, {{"output_type", std::string("INT32")}})), HasSubstr("INT32"));
  EXPECT_THAT(ErrorOf(MakeCase(Normal(DataType::kInt8, {2, 8}))),
              HasSubstr("input 'x': expected FP16, BF16, FP32 or FP64, got INT8"));
}

class RmsNormTest : public ::testing::TestWithParam<DeviceRunner*> {};

INSTANTIATE_TEST_SUITE_P(, RmsNormTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

/// A row says the same wherever it stands: at an odd address, among others, with another weight before it.
TEST_P(RmsNormTest, ARowsBitsDoNotDependOnItsPlace) {
  for (const std::int64_t width : {5, 333, 2500, 9001, 17001}) {
    const HostTensor one = Normal(DataType::kFp16, {1, width});
    HostTensor three{TensorDesc{DataType::kFp16, {3, width}}, {}};
    for (int copy = 0; copy < 3; ++copy) {
      three.bytes.insert(three.bytes.end(), one.bytes.begin(), one.bytes.end());
    }
    const OperatorCase alone = MakeCase(one);
    const OperatorCase thrice = MakeCase(three);
    const OperatorCase weighted = MakeCase(one, Normal(DataType::kFp32, {width}));
    const auto outputs = GetParam()->RunBatch(RmsNorm(), {&weighted, &thrice, &alone});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<std::byte> expected = RunOn(*GetParam(), alone).bytes;
    EXPECT_EQ((*outputs)[2][0].bytes, expected) << width;
    for (std::size_t copy = 0; copy < 3; ++copy) {
      const auto begin = (*outputs)[1][0].bytes.begin() + static_cast<std::ptrdiff_t>(copy * expected.size());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), begin)) << width << ", copy " << copy;
    }
  }
}

/// A power of two changes exponents only, so that every rounding is the same; with epsilon 0 it cancels.
TEST_P(RmsNormTest, PowersOfTwoCancel) {
  for (const std::int64_t width : {6, 700, 5000}) {
    const HostTensor x = Normal(DataType::kFp32, {2, width});
    std::vector<double> scaled = ToDoubles(x);
    for (double& value : scaled) {
      value *= 1024.0;
    }
    const AttributeList no_epsilon = {{"epsilon", 0.0}};
    const HostTensor y = RunOn(*GetParam(), MakeCase(x, {}, no_epsilon));
    const HostTensor y_scaled =
        RunOn(*GetParam(), MakeCase(FromDoubles(DataType::kFp32, {2, width}, scaled), {}, no_epsilon));
    EXPECT_EQ(ToDoubles(y), ToDoubles(y_scaled)) << width;
  }
}

/// Rows of numbers that are much alike have nearly the same squares, whose sum an f32 may lie half a unit of the last
/// place away from: half of all results would be off by one. Numbers lie in pairs around 1e4, so that their mean square
/// is one that f32 has. On a GPU: the host rounds a row's factor.
TEST_P(RmsNormTest, ResultsOfNumbersThatAreMuchAlikeAreTheNearest) {
  if (GetParam()->name() == "host") {
    return;
  }
  for (const std::int64_t width : {1003, 3000, 12289, 45001, 65537, 100001, 300001}) {
    std::vector<double> values = ToDoubles(Normal(DataType::kFp64, {1, width}));
    values[0] = 0.0;
    for (std::size_t i = 1; i < values.size(); ++i) {
      values[i] = i % 2 != 0 && i + 1 < values.size() ? std::round(10.0 * values[i]) : -values[i - 1];
    }
    for (double& value : values) {
      value = 1e4 + value / 1024.0;
    }
    const std::vector<double> y =
        ToDoubles(RunOn(*GetParam(), MakeCase(FromDoubles(DataType::kFp32, {1, width}, values))));
    const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
    const double factor = 1.0 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
    std::size_t off = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      off += static_cast<float>(values[i] * factor) != static_cast<float>(y[i]) ? 1 : 0;
    }
    EXPECT_LT(off, y.size() / 8) << width;
  }
}

/// An absent weight, one of a single 1 and a row of ones are the same multiplication.
TEST_P(RmsNormTest, WeightsOfOneChangeNothing) {
  const HostTensor x = Normal(DataType::kBf16, {3, 77});
  const std::vector<std::byte> plain = RunOn(*GetParam(), MakeCase(x)).bytes;
  EXPECT_EQ(RunOn(*GetParam(), MakeCase(x, FromDoubles(DataType::kFp16, {1}, {1.0}))).bytes, plain);
  EXPECT_EQ(RunOn(*GetParam(), MakeCase(x, FromDoubles(DataType::kFp64, {77}, std::vector<double>(77, 1.0)))).bytes,
            plain);
}

/// x / rms is not rounded to 16 bits before the weight: 1.001 of FP32 is not 1 in BF16.
TEST_P(RmsNormTest, AnF32WeightIsUsedAsOne) {
  const std::vector<double> values(64, 1.0);
  const HostTensor y = RunOn(
      *GetParam(), MakeCase(FromDoubles(DataType::kBf16, {1, 64}, values), FromDoubles(DataType::kFp32, {1}, {1.001}),
                            {{"epsilon", 0.0}, {"output_type", std::string("FP32")}}));
  for (const double value : ToDoubles(y)) {
    EXPECT_NEAR(value, 1.001, 2e-7);
  }
}

}  // namespace
}  // namespace kernelwire::testing::rms_norm

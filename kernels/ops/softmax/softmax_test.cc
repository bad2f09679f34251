// What is particular to softmax: its plans and their errors, and how results follow changes of the input. Agreement
// with the oracle is the battery's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/softmax/softmax_interleaved_share.h"
#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"

namespace kernelwire::testing::softmax {
namespace {

using ::testing::HasSubstr;

const Operator& Softmax() { return *FindOperator("softmax"); }

HostTensor Normal(DataType dtype, const Shape& shape) { return MakeTensor(dtype, shape, Values::kNormal, 7); }

OperatorCase MakeCase(HostTensor x, AttributeList attributes = {}) {
  OperatorCase test_case;
  test_case.name = "case";
  test_case.inputs = {std::move(x)};
  test_case.attributes = std::move(attributes);
  return test_case;
}

AttributeList Axis(std::int64_t axis) { return {{"axis", axis}}; }

AttributeList Algorithm(const std::string& name) { return {{"algorithm", name}}; }

Plan PlanOf(const OperatorCase& test_case) { return PlanCase(Softmax(), test_case).value()->plan; }

std::string ErrorOf(const OperatorCase& test_case) {
  const absl::Status status = PlanCase(Softmax(), test_case).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(SoftmaxPlanTest, PiecesAreWhatStandsBeforeTheAxis) {
  const HostTensor x = Normal(DataType::kFp16, {4, 3, 5});
  EXPECT_EQ(PlanOf(MakeCase(x)).rows, 12);
  EXPECT_EQ(PlanOf(MakeCase(x, Axis(1))).rows, 4);
  EXPECT_EQ(PlanOf(MakeCase(x, {{"axis", std::string("all")}})).rows, 1);
  EXPECT_EQ(PlanOf(MakeCase(x)).outputs[0].bytes, 120u);
  EXPECT_EQ(PlanOf(MakeCase(Normal(DataType::kFp16, {4, 0, 5}), Axis(1))).rows, 0);
}

TEST(SoftmaxPlanTest, RowCountsShareALaunch) {
  const BatchKey key = PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}))).key;
  EXPECT_TRUE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {9, 8}))).key);
  EXPECT_TRUE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {2, 3, 8}))).key);
  EXPECT_TRUE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {2, 4}), {{"axis", std::string("all")}})).key);
  EXPECT_TRUE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {8, 1}), Axis(0))).key);
}

TEST(SoftmaxPlanTest, WidthTypesLayoutAndAlgorithmDoNot) {
  const BatchKey key = PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}))).key;
  EXPECT_FALSE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {4, 9}))).key);
  EXPECT_FALSE(key == PlanOf(MakeCase(Normal(DataType::kBf16, {4, 8}))).key);
  EXPECT_FALSE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {8, 2}), Axis(0))).key);
  EXPECT_FALSE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}), Algorithm("online"))).key);
  EXPECT_FALSE(key == PlanOf(MakeCase(Normal(DataType::kFp16, {4, 8}), {{"output_type", std::string("FP32")}})).key);
}

TEST(SoftmaxPlanTest, ErrorsSayWhatWasExpectedAndWhatCame) {
  const HostTensor x = Normal(DataType::kFp32, {2, 8});
  EXPECT_THAT(ErrorOf(MakeCase(x, Axis(2))), HasSubstr("axis"));
  EXPECT_THAT(ErrorOf(MakeCase(x, Axis(-3))), HasSubstr("-3"));
  EXPECT_THAT(ErrorOf(MakeCase(x, {{"axis", std::string("every")}})), HasSubstr("all"));
  EXPECT_THAT(ErrorOf(MakeCase(Normal(DataType::kFp32, {}), Axis(1))), HasSubstr("axis"));
  EXPECT_THAT(ErrorOf(MakeCase(x, Algorithm("fast"))), HasSubstr("auto, safe, online"));
  EXPECT_THAT(ErrorOf(MakeCase(x, {{"epsilon", 1e-5}})), HasSubstr("epsilon"));
  EXPECT_THAT(ErrorOf(MakeCase(Normal(DataType::kInt32, {2, 8}))),
              HasSubstr("input 'x': expected FP16, BF16, FP32 or FP64, got INT32"));
}

class SoftmaxTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static HostTensor Run(const OperatorCase& test_case) { return GetParam()->Run(Softmax(), test_case).value().front(); }
};

INSTANTIATE_TEST_SUITE_P(, SoftmaxTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

/// Every element has a place, and there are kernels for so many.
TEST(InterleavedShareTest, HoldsHardlyMoreThanThereIs) {
  for (std::int64_t width = 1; width <= 400; ++width) {
    const InterleavedShare share = InterleavedShare::Of(width);
    SCOPED_TRACE(std::to_string(width) + " elements: " + share.ToString());
    const std::int64_t places = std::int64_t{share.parts} * share.held;
    if (share.held == 0) {
      EXPECT_GT(width, 128);
    } else {
      EXPECT_GE(places, width);
      EXPECT_EQ(share.held % InterleavedShare::kStep, 0);
      EXPECT_TRUE(share.parts == 1 ? places - width < 8 && share.held <= 32 : share.parts == 16 && share.held == 8);
    }
  }
  EXPECT_EQ(InterleavedShare::Of(9).ToString(), "a thread a row, 16 elements each");
  EXPECT_EQ(InterleavedShare::Of(33).ToString(), "16 threads a row, 8 elements each");
  EXPECT_EQ(InterleavedShare::Of(129).ToString(), "16 threads a row, read twice");
}

TEST_P(SoftmaxTest, ARowsBitsDoNotDependOnItsPlace) {
  for (const char* const algorithm : {"safe", "online"}) {
    for (const std::int64_t width : {5, 333, 2500, 17001}) {
      const HostTensor one = Normal(DataType::kBf16, {1, width});
      HostTensor three{TensorDesc{DataType::kBf16, {3, width}}, {}};
      for (int copy = 0; copy < 3; ++copy) {
        three.bytes.insert(three.bytes.end(), one.bytes.begin(), one.bytes.end());
      }
      const std::vector<std::byte> expected = Run(MakeCase(one, Algorithm(algorithm))).bytes;
      const std::vector<std::byte> together = Run(MakeCase(three, Algorithm(algorithm))).bytes;
      for (std::size_t copy = 0; copy < 3; ++copy) {
        const auto begin = together.begin() + static_cast<std::ptrdiff_t>(copy * expected.size());
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), begin)) << algorithm << width << ", copy " << copy;
      }
    }
  }
}

/// An interleaved row's bits depend neither on how many lie beside it, nor on which of them it is.
TEST_P(SoftmaxTest, AnInterleavedRowsBitsDoNotDependOnItsNeighbours) {
  for (const DataType dtype : {DataType::kFp32, DataType::kBf16, DataType::kFp64}) {
    for (const std::int64_t width : {5, 21, 100, 300}) {
      const std::vector<double> row = ToDoubles(Normal(dtype, {width}));
      std::vector<double> first(row.size());
      for (const std::int64_t inner : {2, 33, 200}) {
        std::vector<double> columns;
        for (const double value : row) {
          columns.insert(columns.end(), static_cast<std::size_t>(inner), value);
        }
        const std::vector<double> y = ToDoubles(Run(MakeCase(FromDoubles(dtype, {width, inner}, columns), Axis(0))));
        for (std::size_t i = 0; i < y.size(); ++i) {
          const std::size_t element = i / static_cast<std::size_t>(inner);
          first[element] = inner == 2 && i % 2 == 0 ? y[i] : first[element];
          ASSERT_EQ(y[i], first[element]) << NameOf(dtype) << " of " << width << ", " << inner << ", " << i;
        }
      }
    }
  }
}

/// x - max does not change when a constant that is exact here is added to the whole row.
TEST_P(SoftmaxTest, AddingAConstantChangesNothing) {
  for (const std::int64_t width : {9, 1500, 20000}) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < width; ++i) {
      values.push_back(static_cast<double>(i * 7919 % 64) / 8.0);
    }
    std::vector<double> shifted = values;
    for (double& value : shifted) {
      value += 4096.0;
    }
    const HostTensor y = Run(MakeCase(FromDoubles(DataType::kFp32, {1, width}, values)));
    const HostTensor y_shifted = Run(MakeCase(FromDoubles(DataType::kFp32, {1, width}, shifted)));
    EXPECT_EQ(y.bytes, y_shifted.bytes) << width;
  }
}

TEST_P(SoftmaxTest, ARowOfOneIsExactlyOneAndAConstantRowExactlyEven) {
  EXPECT_THAT(ToDoubles(Run(MakeCase(Normal(DataType::kFp32, {5, 1})))), ::testing::Each(1.0));
  const std::vector<double> constant(4096, -3.25);
  EXPECT_THAT(ToDoubles(Run(MakeCase(FromDoubles(DataType::kFp32, {1, 4096}, constant)))), ::testing::Each(0x1p-12));
}

/// On a GPU an exponential is within two units of the last place and its quotient rounds by half; the sum adds little.
/// Differences from the maximum are exact here.
TEST_P(SoftmaxTest, FloatResultsAreWithinUnitsOfTheLastPlace) {
  const double most_units = GetParam()->name() == "cuda" ? 3.0 : 4.0;
  for (const std::int64_t width : {5, 64, 333, 1001, 4096, 12289, 70001, 300000}) {
    std::vector<double> values;
    double sum = 0.0;
    for (std::int64_t i = 0; i < width; ++i) {
      values.push_back(static_cast<double>(i * 7919 % 997) / -64.0);  // the first is the largest, 0
      sum += std::exp(values.back());
    }
    const std::vector<double> y = ToDoubles(Run(MakeCase(FromDoubles(DataType::kFp32, {1, width}, values))));
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double expected = std::exp(values[i]) / sum;
      ASSERT_NEAR(y[i], expected, most_units * std::ldexp(1.0, std::ilogb(expected) - 23)) << i << " of " << width;
    }
  }
}

/// exp(-90) and exp(-100) are subnormal in f32.
TEST_P(SoftmaxTest, SubnormalResultsAreKept) {
  for (const char* const algorithm : {"safe", "online"}) {
    const std::vector<double> y =
        ToDoubles(Run(MakeCase(FromDoubles(DataType::kFp32, {1, 3}, {0.0, -90.0, -100.0}), Algorithm(algorithm))));
    EXPECT_NEAR(y[1], std::exp(-90.0), 2e-45);
    EXPECT_NEAR(y[2], std::exp(-100.0), 2e-45);
    EXPECT_GT(y[2], 0.0);
  }
}

}  // namespace
}  // namespace kernelwire::testing::softmax

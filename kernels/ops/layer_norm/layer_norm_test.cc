// What is particular to layer_norm: its plans and their errors, its statistics, and the rows on which well-known
// kernels go wrong. Agreement with the oracle is the battery's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"
#include "kernels/testing/norm_cases.h"

namespace kernelwire::testing::layer_norm {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

const Operator& LayerNorm() { return *FindOperator("layer_norm"); }

OperatorCase MakeCase(HostTensor x, HostTensor weight = {}, HostTensor bias = {}, AttributeList attributes = {},
                      std::uint32_t outputs = 0) {
  OperatorCase test_case = NormCase("case", {std::move(x), std::move(weight), std::move(bias)}, std::move(attributes));
  test_case.wanted_outputs = outputs;
  return test_case;
}

Plan PlanOf(const OperatorCase& test_case) { return PlanCase(LayerNorm(), test_case).value()->plan; }

std::string ErrorOf(const OperatorCase& test_case) {
  const absl::Status status = PlanCase(LayerNorm(), test_case).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(LayerNormPlanTest, StatisticsAreMadeWhenAskedFor) {
  const HostTensor x = NormalTensor(DataType::kFp16, {4, 3, 5});
  const Plan y_alone = PlanOf(MakeCase(x));
  EXPECT_TRUE(y_alone.outputs[0].wanted);
  EXPECT_FALSE(y_alone.outputs[1].wanted);
  EXPECT_FALSE(y_alone.outputs[2].wanted);
  const Plan all = PlanOf(MakeCase(x, {}, {}, {{"axis", std::int64_t{1}}}, 7));
  EXPECT_EQ(all.rows, 4);
  EXPECT_EQ(all.outputs[1].desc.dtype, DataType::kFp32);
  EXPECT_EQ(all.outputs[1].desc.shape, Shape({4, 1, 1}));
  EXPECT_EQ(all.outputs[2].desc.shape, Shape({4, 1, 1}));
  EXPECT_EQ(all.outputs[2].row_bytes, 4);
  EXPECT_EQ(PlanOf(MakeCase(NormalTensor(DataType::kFp64, {2, 5}), {}, {}, {}, 2)).outputs[1].desc.dtype,
            DataType::kFp64);
}

TEST(LayerNormPlanTest, EmptyRowsHaveStatisticsAndNothingElse) {
  EXPECT_EQ(PlanOf(MakeCase(NormalTensor(DataType::kFp32, {5, 0}))).rows, 0);
  EXPECT_EQ(PlanOf(MakeCase(NormalTensor(DataType::kFp32, {5, 0}), {}, {}, {}, 7)).rows, 5);
  EXPECT_EQ(PlanOf(MakeCase(NormalTensor(DataType::kFp32, {0, 5}), {}, {}, {}, 7)).rows, 0);
}

TEST(LayerNormPlanTest, OutputsAndParametersDoNotKeepRequestsApart) {
  const HostTensor x = NormalTensor(DataType::kFp16, {4, 8});
  const BatchKey key = PlanOf(MakeCase(x)).key;
  EXPECT_TRUE(key == PlanOf(MakeCase(x, {}, {}, {}, 7)).key);
  EXPECT_TRUE(key == PlanOf(MakeCase(x, {}, {}, {}, 4)).key);
  EXPECT_TRUE(key == PlanOf(MakeCase(x, NormalTensor(DataType::kFp32, {8}), FilledTensor(DataType::kBf16, {}, 1))).key);
  EXPECT_FALSE(key == PlanOf(MakeCase(x, {}, {}, {{"epsilon", 1e-6}})).key);
  EXPECT_FALSE(key == PlanOf(MakeCase(NormalTensor(DataType::kFp16, {4, 9}))).key);
}

TEST(LayerNormPlanTest, ErrorsSayWhatWasExpectedAndWhatCame) {
  const HostTensor x = NormalTensor(DataType::kFp32, {2, 8});
  EXPECT_THAT(ErrorOf(MakeCase(x, {}, NormalTensor(DataType::kFp32, {4}))),
              HasSubstr("input 'bias': expected one element or shape [8]"));
  EXPECT_THAT(ErrorOf(MakeCase(x, NormalTensor(DataType::kFp32, {2, 8}))), HasSubstr("input 'weight'"));
  EXPECT_THAT(ErrorOf(MakeCase(x, {}, {}, {{"axis", std::int64_t{2}}})), HasSubstr("axis"));
  EXPECT_THAT(ErrorOf(MakeCase(x, {}, {}, {{"epsilon", -1.0}})), HasSubstr("epsilon"));
  HostTensor empty = NormalTensor(DataType::kFp32, {0, 0});
  empty.desc.shape = {std::int64_t{1} << 60, 0};  // no byte of x, and statistics beyond any machine
  EXPECT_THAT(ErrorOf(MakeCase(empty, {}, {}, {}, 7)), HasSubstr("output 'mean': expected a shape whose bytes are"));
  OperatorCase strided = MakeCase(x, {}, {}, {}, 7);
  strided.layout.output_row_strides[1] = 2;
  EXPECT_THAT(ErrorOf(strided), HasSubstr("output 'mean': expected rows that follow each other"));
}

class LayerNormTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static std::vector<HostTensor> Run(const OperatorCase& test_case) {
    return GetParam()->Run(LayerNorm(), test_case).value();
  }
};

INSTANTIATE_TEST_SUITE_P(, LayerNormTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

TEST_P(LayerNormTest, YDoesNotDependOnWhatElseIsAskedFor) {
  for (const std::int64_t width : {5, 700, 5000}) {
    const HostTensor x = NormalTensor(DataType::kBf16, {3, width});
    const std::vector<HostTensor> all = Run(MakeCase(x, {}, {}, {}, 7));
    EXPECT_EQ(Run(MakeCase(x))[0].bytes, all[0].bytes) << width;
    EXPECT_EQ(Run(MakeCase(x, {}, {}, {}, 2))[1].bytes, all[1].bytes) << width;
    EXPECT_EQ(Run(MakeCase(x, {}, {}, {}, 6))[2].bytes, all[2].bytes) << width;
  }
}

/// Kernels read no memory for what was left out, and have ways of their own for requests whose parameters are all rows.
TEST_P(LayerNormTest, AParameterThatWasLeftOutCountsAsOnesOrZeros) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    for (const std::int64_t width : {3,    12,   33,   100,   257,   511,   661,   1000,   1024,   1301,
                                     2561, 4099, 8192, 12288, 20000, 20001, 70001, 131072, 300000, 532481}) {
      SCOPED_TRACE(::testing::Message() << NameOf(dtype) << ", width " << width);
      const HostTensor x = NormalTensor(dtype, {3, width}, 1);
      const HostTensor weight = NormalTensor(dtype, {width}, 2);
      const HostTensor bias = NormalTensor(dtype, {width}, 3);
      const HostTensor ones = FilledTensor(dtype, {width}, 1.0);
      const HostTensor zeros = FilledTensor(dtype, {width}, 0.0);
      EXPECT_EQ(Run(MakeCase(x, weight))[0].bytes, Run(MakeCase(x, weight, zeros))[0].bytes);
      EXPECT_EQ(Run(MakeCase(x, {}, bias))[0].bytes, Run(MakeCase(x, ones, bias))[0].bytes);
      EXPECT_EQ(Run(MakeCase(x))[0].bytes, Run(MakeCase(x, ones, zeros))[0].bytes);
    }
  }
}

/// Epsilon belongs to the variance under the root: a constant row divides by sqrt(epsilon), not by zero, and its
/// differences from the mean are exactly zero.
TEST_P(LayerNormTest, AConstantRowIsExactlyTheBias) {
  for (const DataType dtype : {DataType::kFp32, DataType::kBf16, DataType::kFp16}) {
    for (const std::int64_t width : {1, 3, 20, 30, 44, 60, 64, 100, 257, 300, 777, 1000, 3000, 50000}) {
      for (const double value : {3.0, -1.1, 1e30, 5e-20, -1e-30, 0.0}) {
        SCOPED_TRACE(::testing::Message() << NameOf(dtype) << ", width " << width << ", " << value);
        const HostTensor x = FilledTensor(dtype, {2, width}, dtype == DataType::kFp16 && value > 3.0 ? 6e4 : value);
        EXPECT_THAT(ToDoubles(Run(MakeCase(x))[0]), Each(0.0));
        const HostTensor bias = FilledTensor(dtype, {}, 0.75);
        EXPECT_THAT(ToDoubles(Run(MakeCase(x, NormalTensor(dtype, {width}), bias))[0]), Each(0.75));
        const HostTensor biases = FilledTensor(dtype, {width}, 0.75);
        EXPECT_THAT(ToDoubles(Run(MakeCase(x, NormalTensor(dtype, {width}), biases))[0]), Each(0.75));
      }
    }
  }
}

/// The variance is that of differences from the mean: the difference of mean(x^2) and mean(x)^2 would have no digit
/// left here, or be negative.
TEST_P(LayerNormTest, ALargeMeanCostsNothing) {
  for (const std::int64_t width : {64, 1000, 20000}) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < width; ++i) {
      values.push_back(static_cast<double>(i * 7919 % 64) / 8.0);
    }
    std::vector<double> shifted = values;
    for (double& value : shifted) {
      value += 65536.0;  // exact in f32
    }
    const std::vector<double> y = ToDoubles(Run(MakeCase(FromDoubles(DataType::kFp32, {1, width}, values)))[0]);
    const std::vector<double> y_shifted =
        ToDoubles(Run(MakeCase(FromDoubles(DataType::kFp32, {1, width}, shifted)))[0]);
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], y_shifted[i], 1e-6) << width << ", " << i;
    }
  }
}

/// Widths below, beside and above what a group of threads holds: no element is lost, none is counted that is not there.
TEST_P(LayerNormTest, EveryElementCountsOnce) {
  for (const std::int64_t width :
       {2, 16, 18, 20, 26, 30, 31, 32, 33, 44, 60, 63, 64, 65, 96, 127, 129, 1000, 1025, 2047, 2049, 4097}) {
    for (const DataType dtype : {DataType::kFp32, DataType::kFp16}) {
      if (dtype == DataType::kFp16 && width > 2048) {
        continue;  // it has no such number
      }
      SCOPED_TRACE(::testing::Message() << NameOf(dtype) << ", width " << width);
      std::vector<double> values(static_cast<std::size_t>(width), 0.0);
      values.back() = static_cast<double>(width);
      const std::vector<HostTensor> outputs =
          Run(MakeCase(FromDoubles(dtype, {1, width}, values), {}, {}, {{"epsilon", 0.0}}, 7));
      const double n = static_cast<double>(width);
      EXPECT_NEAR(ToDoubles(outputs[1])[0], 1.0, 1e-6);
      EXPECT_NEAR(ToDoubles(outputs[2])[0], 1.0 / std::sqrt(n - 1.0), 1e-6);
    }
  }
}

/// Rows whose sums leave f32 are computed in f64: these have deviations of 1 and -1.
TEST_P(LayerNormTest, HugeRowsAreNormalised) {
  for (const std::int64_t width : {64, 2500, 70000}) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < width; ++i) {
      values.push_back(i % 2 == 0 ? 3e38 : -3e38);
    }
    const std::vector<double> y = ToDoubles(Run(MakeCase(FromDoubles(DataType::kFp32, {1, width}, values)))[0]);
    EXPECT_NEAR(y[0], 1.0, 1e-6) << width;
    EXPECT_NEAR(y[1], -1.0, 1e-6) << width;
  }
}

}  // namespace
}  // namespace kernelwire::testing::layer_norm

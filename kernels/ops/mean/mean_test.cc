// What is particular to mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing::mean {
namespace {

using ::testing::ElementsAre;

const Operator& MeanOp() { return *FindOperator("mean"); }

TEST(MeanPlanTest, IsRealWhateverTheElements) {
  const auto type = [](DataType x) {
    const auto planned = PlanCase(MeanOp(), ReductionOf(MakeTensor(x, {4}, Values::kZero, 1)));
    return std::string(NameOf(planned.value()->plan.outputs[0].desc.dtype));
  };
  EXPECT_EQ(type(DataType::kBf16), "BF16");
  EXPECT_EQ(type(DataType::kFp8E5m2), "FP32");
  EXPECT_EQ(type(DataType::kInt64), "FP32");
  EXPECT_EQ(PlanCase(MeanOp(), ReductionOf(MakeTensor(DataType::kInt8, {4}, Values::kZero, 1),
                                           {{"output_type", std::string("INT32")}}))
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

class MeanTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static std::vector<double> Values(const OperatorCase& test_case) {
    return ToDoubles(GetParam()->Run(MeanOp(), test_case).value().front());
  }
};

INSTANTIATE_TEST_SUITE_P(, MeanTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

TEST_P(MeanTest, OfNothingIsNan) {
  const HostTensor nothing{TensorDesc{DataType::kFp32, {3, 0}}, {}};
  const std::vector<double> y = Values(ReductionOf(nothing, Axes("1")));
  ASSERT_EQ(y.size(), 3u);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[2]));
  const HostTensor no_integers{TensorDesc{DataType::kInt8, {0}}, {}};
  EXPECT_TRUE(std::isnan(Values(ReductionOf(no_integers))[0]));
}

TEST_P(MeanTest, OfIntegersNeverOverflows) {
  const std::vector<double> largest(1000, 9223372036854774784.0);  // the largest f64 below 2^63
  EXPECT_THAT(
      Values(ReductionOf(FromDoubles(DataType::kInt64, {1000}, largest), {{"output_type", std::string("FP64")}})),
      ElementsAre(9223372036854774784.0));
}

/// Sums of the largest numbers leave f32, their means do not.
TEST_P(MeanTest, OfTheLargestNumbersIsOneOfThem) {
  for (const DataType type : {DataType::kFp32, DataType::kBf16}) {
    for (const std::int64_t width : {2, 64, 1000, 100000}) {
      const HostTensor x = FromDoubles(type, {width}, std::vector<double>(static_cast<std::size_t>(width), 3e38));
      EXPECT_THAT(Values(ReductionOf(x)), ElementsAre(ToDoubles(x)[0])) << NameOf(type) << ", " << width;
    }
  }
}

/// A 16-bit accumulator loses what does not fit beside a large partial sum, and the mean with it.
TEST_P(MeanTest, SixteenBitAccumulatorsAreHonoured) {
  const HostTensor x = FromDoubles(DataType::kFp16, {8}, std::vector<double>(8, 60000.0));
  EXPECT_THAT(Values(ReductionOf(x)), ElementsAre(60000.0));
  EXPECT_TRUE(std::isinf(Values(ReductionOf(x, {{"accumulator", std::string("FP16")}}))[0]));
}

}  // namespace
}  // namespace kernelwire::testing::mean

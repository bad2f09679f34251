// What is particular to max, and the same for min turned around.
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

namespace kernelwire::testing::max {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MaxPlanTest, NothingToChooseFromIsRefused) {
  for (const char* const name : {"max", "min", "argmax", "argmin"}) {
    const HostTensor nothing{TensorDesc{DataType::kFp32, {2, 0}}, {}};
    const absl::Status status = PlanCase(*FindOperator(name), ReductionOf(nothing, Axes("1"))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("input 'x': expected at least one element")) << name;
    EXPECT_TRUE(PlanCase(*FindOperator(name), ReductionOf(nothing, Axes("0"))).ok())
        << name << ": no results, no complaint";
  }
}

TEST(MaxPlanTest, AccumulatorsAreCheckedAndHaveNoSay) {
  const HostTensor x = MakeTensor(DataType::kFp16, {3}, Values::kNormal, 1);
  const auto plan = [&](const char* accumulator) {
    return PlanCase(*FindOperator("max"), ReductionOf(x, {{"accumulator", std::string(accumulator)}}));
  };
  EXPECT_TRUE(plan("FP16").value()->plan.key == plan("FP32").value()->plan.key);
  EXPECT_FALSE(plan("INT32").ok());
}

class MaxTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static std::vector<double> Values(const char* op, const OperatorCase& test_case) {
    return ToDoubles(GetParam()->Run(*FindOperator(op), test_case).value().front());
  }
};

INSTANTIATE_TEST_SUITE_P(, MaxTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

/// Wherever the NaN is: in a vector, a tail, another thread, another part. fmax would drop it.
TEST_P(MaxTest, NanWinsWhereverItIs) {
  for (const std::int64_t width : {1, 5, 40, 700, 9001, 40000}) {
    for (const std::int64_t place : {std::int64_t{0}, width / 2, width - 1}) {
      std::vector<double> x(static_cast<std::size_t>(width), 3.0);
      x[static_cast<std::size_t>(place)] = std::nan("");
      for (const DataType dtype : {DataType::kFp32, DataType::kBf16, DataType::kFp8E4m3}) {
        EXPECT_TRUE(std::isnan(Values("max", ReductionOf(FromDoubles(dtype, {width}, x)))[0]))
            << width << ", " << place;
        EXPECT_TRUE(std::isnan(Values("min", ReductionOf(FromDoubles(dtype, {width}, x)))[0]))
            << width << ", " << place;
      }
    }
  }
}

/// A negative NaN has the sign bit of a small number.
TEST_P(MaxTest, NegativeNanWinsToo) {
  const HostTensor x = FromDoubles(DataType::kFp32, {3}, {1, -std::nan(""), 2});
  EXPECT_TRUE(std::isnan(Values("max", ReductionOf(x))[0]));
  EXPECT_TRUE(std::isnan(Values("min", ReductionOf(x))[0]));
}

/// -FLT_MAX for an identity, as tutorials have it, would win over -infinity.
TEST_P(MaxTest, NothingButInfinitiesStaysSo) {
  for (const std::int64_t width : {1, 7, 300, 9001}) {
    const auto count = static_cast<std::size_t>(width);
    EXPECT_THAT(
        Values("max", ReductionOf(FromDoubles(DataType::kFp32, {width}, std::vector<double>(count, -kInfinity)))),
        ElementsAre(-kInfinity));
    EXPECT_THAT(
        Values("min", ReductionOf(FromDoubles(DataType::kFp16, {width}, std::vector<double>(count, kInfinity)))),
        ElementsAre(kInfinity));
  }
}

TEST_P(MaxTest, IntegersAtTheEndsOfTheirTypes) {
  EXPECT_THAT(Values("max", ReductionOf(FromDoubles(DataType::kInt8, {3}, {-128, -128, -127}))), ElementsAre(-127));
  EXPECT_THAT(Values("min", ReductionOf(FromDoubles(DataType::kInt8, {3}, {-128, 127, -127}))), ElementsAre(-128));
  EXPECT_THAT(Values("min", ReductionOf(FromDoubles(DataType::kUint8, {3}, {255, 254, 255}))), ElementsAre(254));
  const HostTensor wide = FromDoubles(DataType::kInt64, {2}, {4294967296.0, -1});
  EXPECT_THAT(Values("max", ReductionOf(wide)), ElementsAre(4294967296.0));
  const absl::Status status =
      GetParam()->Run(*FindOperator("max"), ReductionOf(wide, {{"output_type", std::string("INT32")}})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ask for output_type INT64"));
}

TEST_P(MaxTest, EveryPlaceIsSeen) {
  for (const std::int64_t width : {1, 2, 15, 17, 31, 100, 257, 1023, 2049}) {
    for (std::int64_t place = 0; place < width; place += 1 + width / 37) {
      std::vector<double> x(static_cast<std::size_t>(width), -1.0);
      x[static_cast<std::size_t>(place)] = 5.0;
      ASSERT_THAT(Values("max", ReductionOf(FromDoubles(DataType::kInt8, {width}, x))), ElementsAre(5.0))
          << width << place;
      ASSERT_THAT(Values("argmax", ReductionOf(FromDoubles(DataType::kFp16, {width}, x))),
                  ElementsAre(static_cast<double>(place)));
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing::max

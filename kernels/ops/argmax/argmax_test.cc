// What is particular to argmax, and the same for argmin turned around: ties, NaN, one axis or all.
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

namespace kernelwire::testing::argmax {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ArgmaxPlanTest, OneAxisOrAll) {
  const HostTensor x = MakeTensor(DataType::kFp32, {2, 3, 4}, Values::kNormal, 1);
  const Operator& op = *FindOperator("argmax");
  EXPECT_TRUE(PlanCase(op, ReductionOf(x, Axes("2"))).ok());
  EXPECT_TRUE(PlanCase(op, ReductionOf(x, Axes("2,0,1"))).ok());
  const absl::Status status = PlanCase(op, ReductionOf(x, Axes("0,2"))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("expected one axis, or all of them, got 2 of 3"));
  EXPECT_FALSE(PlanCase(op, ReductionOf(x, {{"output_type", std::string("FP32")}})).ok());
}

class ArgmaxTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static std::vector<double> Values(const char* op, const OperatorCase& test_case) {
    return ToDoubles(GetParam()->Run(*FindOperator(op), test_case).value().front());
  }
};

INSTANTIATE_TEST_SUITE_P(, ArgmaxTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

/// Equal elements in different vectors, threads, warps and parts; the first wins, whoever finds it.
TEST_P(ArgmaxTest, TiesGiveTheFirst) {
  for (const std::int64_t width : {3, 40, 300, 5000, 40000, 300000}) {
    for (const std::int64_t first : {std::int64_t{0}, width / 3, width - 2}) {
      std::vector<double> x(static_cast<std::size_t>(width), 1.0);
      for (std::int64_t i = first; i < width; i += 1 + width / 7) {
        x[static_cast<std::size_t>(i)] = 2.0;
      }
      x.back() = 2.0;
      const auto expected = static_cast<double>(first);
      EXPECT_THAT(Values("argmax", ReductionOf(FromDoubles(DataType::kFp32, {width}, x))), ElementsAre(expected))
          << width;
      EXPECT_THAT(Values("argmax", ReductionOf(FromDoubles(DataType::kInt8, {width, 1, 1}, x), Axes("0"))),
                  ElementsAre(expected));
      for (double& value : x) {
        value = -value;
      }
      EXPECT_THAT(Values("argmin", ReductionOf(FromDoubles(DataType::kBf16, {width}, x))), ElementsAre(expected))
          << width;
    }
  }
}

TEST_P(ArgmaxTest, OfEqualsOnlyTheFirstInColumnsToo) {
  const HostTensor x = MakeTensor(DataType::kFp32, {700, 5}, Values::kConstant, 1);
  EXPECT_THAT(Values("argmax", ReductionOf(x, Axes("0"))), Each(0.0));
  EXPECT_THAT(Values("argmin", ReductionOf(x, Axes("0"))), Each(0.0));
}

TEST_P(ArgmaxTest, TheFirstNanWins) {
  for (const std::int64_t width : {5, 300, 9001}) {
    std::vector<double> x(static_cast<std::size_t>(width), kInfinity);
    x[static_cast<std::size_t>(width - 1)] = std::nan("");
    x[static_cast<std::size_t>(width - 2)] = -std::nan("");
    for (const char* const op : {"argmax", "argmin"}) {
      EXPECT_THAT(Values(op, ReductionOf(FromDoubles(DataType::kFp32, {width}, x))),
                  ElementsAre(static_cast<double>(width - 2)));
    }
  }
}

/// An element that equals the identity of the search is found all the same.
TEST_P(ArgmaxTest, TheLeastThereIsIsFound) {
  EXPECT_THAT(Values("argmax", ReductionOf(FromDoubles(DataType::kFp32, {3}, {-kInfinity, -kInfinity, -kInfinity}))),
              ElementsAre(0.0));
  EXPECT_THAT(Values("argmin", ReductionOf(FromDoubles(DataType::kFp8E4m3, {3}, {448, 448, 448}))), ElementsAre(0.0));
  EXPECT_THAT(Values("argmax", ReductionOf(FromDoubles(DataType::kInt8, {300}, std::vector<double>(300, -128.0)))),
              ElementsAre(0.0));
}

TEST_P(ArgmaxTest, CountsInTheFlattenedTensor) {
  std::vector<double> x(60, 0.0);
  x[47] = 9.0;
  EXPECT_THAT(Values("argmax", ReductionOf(FromDoubles(DataType::kFp32, {3, 4, 5}, x))), ElementsAre(47.0));
  EXPECT_THAT(Values("argmax", ReductionOf(FromDoubles(DataType::kFp32, {3, 4, 5}, x), Axes("1")))[12], 1.0);
}

}  // namespace
}  // namespace kernelwire::testing::argmax

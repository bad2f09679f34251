// What is particular to rotated boxes of nms: when they count as one, and which angles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/ops/nms/nms_test_case.h"
#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"

namespace kernelwire {
namespace {

using testing::AllDeviceRunners;
using testing::DeviceRunner;
using ::testing::ElementsAre;
using testing::FromDoubles;
using testing::OperatorCase;
using Numbers = std::vector<double>;  // of a box: centre, size, angle

/// Of two boxes, the first with the better score, those that each device keeps: all devices keep the same.
Numbers Kept(const Numbers& a, const Numbers& b, double iou_threshold, const std::string& unit = "degrees") {
  Numbers both = a;
  both.insert(both.end(), b.begin(), b.end());
  OperatorCase test_case = testing::nms::MakeCase("pair", Numbers(8), {2, 1}, {});
  test_case.inputs[0] = FromDoubles(DataType::kFp32, {2, 5}, both);
  test_case.attributes = {{"rotated", true}, {"iou_threshold", iou_threshold}, {"angle_unit", unit}};
  Numbers kept;
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(*FindOperator("nms"), test_case);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    const Numbers found = outputs.ok() ? testing::ToDoubles((*outputs)[0]) : Numbers();
    EXPECT_TRUE(kept.empty() || kept == found) << runner->name();
    kept = found;
  }
  return kept;
}

// Of equal boxes the IoU is 1 and not less, wherever they are and however they are turned.
TEST(NmsRotatedTest, EqualBoxesOverlapEntirely) {
  const double below_one = 1.0 - 0x1p-24;
  for (const double at : {0.0, -1.2e7, 4096.5}) {
    for (const double angle : {0.0, 30.0, 90.0, -137.25, 1e6}) {
      const Numbers box = {at, -at, 31.5, 7.25, angle};
      EXPECT_THAT(Kept(box, box, below_one), ElementsAre(0)) << at << ", " << angle;
    }
  }
}

// An upright box of 8 x 4 and the same turned by a quarter share 16 of 48: IoU 1/3, a hair above and below.
TEST(NmsRotatedTest, QuarterTurnsAreExact) {
  const Numbers upright = {100, 50, 8, 4, 0};
  const Numbers turned = {100, 50, 8, 4, 90};
  EXPECT_THAT(Kept(upright, turned, 1.0 / 3.0 + 1e-6), ElementsAre(0, 1));
  EXPECT_THAT(Kept(upright, turned, 1.0 / 3.0 - 1e-6), ElementsAre(0));
}

// Two boxes whose heights differ in the last bit and whose areas round to the same number.
TEST(NmsRotatedTest, TheIouIsThatOfThePairInEitherOrder) {
  const Numbers low = {5, 7, 1.53881669, 1.84631085, 37.7275085};
  const Numbers high = {5, 7, 1.53881669, 1.84631097, 37.7275085};
  for (int step = 1; step < 32; ++step) {
    const double threshold = 1.0 - step * 0x1p-24;
    EXPECT_EQ(Kept(low, high, threshold).size(), Kept(high, low, threshold).size()) << threshold;
  }
}

// An angle of many turns is that of what they leave.
TEST(NmsRotatedTest, RadiansOfAnySizeTurnABox) {
  const Numbers box = {0, 0, 10, 2, 0};
  for (const double angle : {1.0, 9999.0, 10001.0, 1e6, 1e9, -1e9, 3e38}) {
    const double exact = static_cast<float>(angle);
    const Numbers many = {0, 0, 10, 2, exact};
    if (std::abs(angle) < 1e15) {
      const Numbers few = {0, 0, 10, 2, std::remainder(exact, 2 * std::acos(-1.0))};
      EXPECT_THAT(Kept(many, few, 0.998, "radians"), ElementsAre(0)) << angle;
    }
    const Numbers across = {0, 20, 10, 2, exact};
    EXPECT_THAT(Kept(many, across, 0.0, "radians"), ElementsAre(0, 1)) << angle;
    EXPECT_THAT(Kept(many, many, 0.9999, "radians"), ElementsAre(0)) << angle;
  }
}

}  // namespace
}  // namespace kernelwire

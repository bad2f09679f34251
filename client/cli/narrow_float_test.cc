#include "client/cli/narrow_float.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

TEST(NarrowFloat, EveryPatternComesBack) {
  for (std::uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const float half = FloatFromFp16(bits);
    const float brain = FloatFromBf16(bits);
    if (std::isnan(half)) {
      EXPECT_TRUE(std::isnan(FloatFromFp16(Fp16FromFloat(half)))) << pattern;
    } else {
      EXPECT_EQ(Fp16FromFloat(half), bits);
    }
    if (std::isnan(brain)) {
      EXPECT_TRUE(std::isnan(FloatFromBf16(Bf16FromFloat(brain)))) << pattern;
    } else {
      EXPECT_EQ(Bf16FromFloat(brain), bits);
    }
  }
}

// Between every two neighbours: just below the middle, the middle, and just above it.
template <typename Widen, typename Narrow>
void CheckRounding(std::uint16_t infinity, Widen widen, Narrow narrow) {
  for (std::uint16_t low = 0; low + 1 < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const auto middle = static_cast<float>((static_cast<double>(widen(low)) + static_cast<double>(widen(high))) / 2);
    const std::uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(narrow(middle), even) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), low) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, std::numeric_limits<float>::infinity())), high) << low;
    ASSERT_EQ(narrow(-middle), even | 0x8000) << low;
  }
}

TEST(NarrowFloat, RoundsToNearestEven) {
  CheckRounding(0x7c00, FloatFromFp16, Fp16FromFloat);
  CheckRounding(0x7f80, FloatFromBf16, Bf16FromFloat);
}

TEST(NarrowFloat, OverflowsToInfinity) {
  EXPECT_EQ(Fp16FromFloat(65519.99f), 0x7bff);
  EXPECT_EQ(Fp16FromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(Fp16FromFloat(-1e30f), 0xfc00);
  EXPECT_EQ(Bf16FromFloat(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace kernelwire::cli

// Every pattern of both 16-bit types, against the definition of the formats rather than against another conversion.
#include "kernels/core/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace kernelwire {
namespace {

/// One 16-bit format and the functions under test.
struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow_float)(float);
  std::uint16_t (*narrow_double)(double);

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  unsigned infinity() const { return ((1u << exponent_bits) - 1u) << mantissa_bits; }
  /// The value of a finite pattern without its sign, as the standard defines it.
  double Magnitude(unsigned pattern) const {
    const int exponent = static_cast<int>(pattern >> mantissa_bits);
    const int fraction = static_cast<int>(pattern & ((1u << mantissa_bits) - 1u));
    const double significand = std::ldexp(fraction, -mantissa_bits) + (exponent == 0 ? 0.0 : 1.0);
    return std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias());
  }
};

constexpr std::uint16_t kSign = 0x8000;

class Float16Test : public ::testing::TestWithParam<Format> {};

TEST_P(Float16Test, EveryFinitePatternWidensToItsValueAndBack) {
  const Format& format = GetParam();
  for (unsigned pattern = 0; pattern < format.infinity(); ++pattern) {
    const auto positive = static_cast<std::uint16_t>(pattern);
    const auto negative = static_cast<std::uint16_t>(pattern | kSign);
    const double value = format.Magnitude(pattern);
    ASSERT_EQ(static_cast<double>(format.widen(positive)), value) << std::hex << pattern;
    ASSERT_EQ(static_cast<double>(format.widen(negative)), -value) << std::hex << pattern;
    ASSERT_TRUE(std::signbit(format.widen(negative)));
    ASSERT_EQ(format.narrow_double(value), positive);
    ASSERT_EQ(format.narrow_double(-value), negative);
    ASSERT_EQ(format.narrow_float(format.widen(positive)), positive);
    ASSERT_EQ(format.narrow_float(format.widen(negative)), negative);
  }
}

TEST_P(Float16Test, InfinitiesAndEveryNanKeepSignAndPayload) {
  const Format& format = GetParam();
  const unsigned quiet = 1u << (format.mantissa_bits - 1);
  for (const unsigned sign : {0u, unsigned{kSign}}) {
    const auto infinity = static_cast<std::uint16_t>(format.infinity() | sign);
    EXPECT_TRUE(std::isinf(format.widen(infinity)));
    EXPECT_EQ(std::signbit(format.widen(infinity)), sign != 0);
    EXPECT_EQ(format.narrow_float(format.widen(infinity)), infinity);
    EXPECT_EQ(format.narrow_double(static_cast<double>(format.widen(infinity))), infinity);
    for (unsigned pattern = format.infinity() + 1; pattern < kSign; ++pattern) {
      const auto nan = static_cast<std::uint16_t>(pattern | sign);
      ASSERT_TRUE(std::isnan(format.widen(nan)));
      ASSERT_EQ(format.narrow_float(format.widen(nan)), nan | quiet);
      ASSERT_EQ(format.narrow_double(static_cast<double>(format.widen(nan))), nan | quiet);
    }
  }
}

TEST_P(Float16Test, MidpointsGoToTheEvenNeighbourAndAnythingElseToTheNearer) {
  const Format& format = GetParam();
  for (unsigned lower = 0; lower < format.infinity(); ++lower) {
    // Above the largest finite value the next step would be 2^(max exponent + 1); from halfway there on it is infinity.
    const unsigned upper = lower + 1;
    const double below = format.Magnitude(lower);
    const double above = upper == format.infinity() ? std::ldexp(1.0, format.bias() + 1) : format.Magnitude(upper);
    const double middle = below + (above - below) / 2;
    const unsigned even = lower % 2 == 0 ? lower : upper;
    for (const double sign : {1.0, -1.0}) {
      const unsigned bit = sign < 0 ? kSign : 0u;
      ASSERT_EQ(format.narrow_double(sign * middle), even | bit) << std::hex << lower;
      ASSERT_EQ(format.narrow_double(sign * std::nextafter(middle, 0.0)), lower | bit) << std::hex << lower;
      ASSERT_EQ(format.narrow_double(sign * std::nextafter(middle, above)), upper | bit) << std::hex << lower;
      // A midpoint fits f32 (one bit more than the type has), and so do its f32 neighbours.
      const float middle_f32 = static_cast<float>(middle);
      ASSERT_EQ(static_cast<double>(middle_f32), middle);
      const float signed_middle = static_cast<float>(sign) * middle_f32;
      ASSERT_EQ(format.narrow_float(signed_middle), even | bit);
      ASSERT_EQ(format.narrow_float(std::nextafter(signed_middle, 0.0f)), lower | bit);
      ASSERT_EQ(format.narrow_float(
                    std::nextafter(signed_middle, static_cast<float>(sign) * std::numeric_limits<float>::infinity())),
                upper | bit);
    }
  }
}

TEST_P(Float16Test, FarOutOfRangeIsInfinityOrZero) {
  const Format& format = GetParam();
  EXPECT_EQ(format.narrow_double(std::numeric_limits<double>::max()), format.infinity());
  EXPECT_EQ(format.narrow_double(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(format.narrow_double(-std::numeric_limits<double>::denorm_min()), kSign);
  EXPECT_EQ(format.narrow_float(-std::numeric_limits<float>::max()), format.infinity() | kSign);
}

TEST_P(Float16Test, NarrowingFloatsAgreesWithNarrowingDoubles) {
  const Format& format = GetParam();
  constexpr std::uint32_t kStride = 1021;  // a prime: every exponent, and all low bits in turn
  for (std::uint64_t wide = 0; wide <= 0xffffffffu; wide += kStride) {
    const auto bits = static_cast<std::uint32_t>(wide);
    float value = 0.0f;
    std::memcpy(&value, &bits, sizeof(value));
    ASSERT_EQ(format.narrow_float(value), format.narrow_double(static_cast<double>(value))) << std::hex << bits;
  }
}

TEST(DoubleToFp16, RoundsOnceAndNotTwice) {
  // Just above the midpoint of 1 and its successor, by less than f32 can tell.
  const double value = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(DoubleToFp16(value), 0x3c01);
  EXPECT_EQ(FloatToFp16(static_cast<float>(value)), 0x3c00) << "through f32 it is the midpoint, and goes to even";
}

INSTANTIATE_TEST_SUITE_P(, Float16Test,
                         ::testing::Values(Format{"fp16", 5, 10, Fp16ToFloat, FloatToFp16, DoubleToFp16},
                                           Format{"bf16", 8, 7, Bf16ToFloat, FloatToBf16, DoubleToBf16}),
                         [](const auto& suite) { return std::string(suite.param.name); });

}  // namespace
}  // namespace kernelwire

#include "client/cli/narrow_float.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace kernelwire::cli {
namespace {

std::uint32_t BitsOf(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float FloatOf(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The upper bits of `bits` without the lowest `count`, rounded to nearest even. Requires: 0 < count < 32.
std::uint32_t RoundOff(std::uint32_t bits, unsigned count) {
  const std::uint32_t half_less_one = (1u << (count - 1)) - 1;
  const std::uint32_t odd = (bits >> count) & 1;
  return (bits + half_less_one + odd) >> count;
}

}  // namespace

float FloatFromBf16(std::uint16_t bits) { return FloatOf(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t Bf16FromFloat(float value) {
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>((BitsOf(value) >> 16) | 0x40);  // quiet, so that no NaN becomes an infinity
  }
  return static_cast<std::uint16_t>(RoundOff(BitsOf(value), 16));
}

float FloatFromFp16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  float magnitude = 0;
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint16_t Fp16FromFloat(float value) {
  const auto sign = static_cast<std::uint16_t>((BitsOf(value) >> 16) & 0x8000);
  const auto with_sign = [sign](std::uint32_t bits) { return static_cast<std::uint16_t>(sign | bits); };
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return with_sign(0x7e00);
  }
  if (magnitude >= 65520.0f) {  // halfway between the largest finite value and what would follow it
    return with_sign(0x7c00);
  }
  if (magnitude < 0x1p-14f) {
    // Subnormal: in units of 2^-24, rounded by the addition of a number whose last bit is worth 1.
    return with_sign(BitsOf(magnitude * 0x1p24f + 0x1p23f) & 0x7fffff);
  }
  // Normal: the exponent's offset goes from 127 to 15. A carry out of the fraction raises the exponent, as it should.
  return with_sign(RoundOff(BitsOf(magnitude) - ((127u - 15u) << 23), 13));
}

}  // namespace kernelwire::cli

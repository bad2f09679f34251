// The 16-bit floating-point types on the host, one scalar at a time: exact widening, and narrowing with a single
// rounding to nearest even. NaN stays NaN (its sign and leading payload bits are kept, the quiet bit is set),
// infinities and subnormals are what IEEE 754 says; nothing is flushed. Bit patterns travel as std::uint16_t.
//
// This is the definition that vectorised and device conversions are held against.
#ifndef KERNELWIRE_KERNELS_CORE_FLOAT16_H_
#define KERNELWIRE_KERNELS_CORE_FLOAT16_H_

#include <cstdint>
#include <cstring>

#include "kernels/core/dtype.h"

namespace kernelwire {

/// Rounds the f64 with bit pattern `bits` to the IEEE-like type of 1 sign bit, `kExponentBits` and `kMantissaBits`
/// (at most 16 in all), to nearest even, in integers only. Values beyond the largest finite one become infinity.
template <int kExponentBits, int kMantissaBits>
constexpr std::uint16_t NarrowDoubleBits(std::uint64_t bits) {
  static_assert(kExponentBits >= 2 && kExponentBits <= 8 && 1 + kExponentBits + kMantissaBits <= 16);
  constexpr int kMinExponent = 2 - (1 << (kExponentBits - 1));  // of the smallest normal number
  constexpr int kMaxExponent = 1 - kMinExponent;
  constexpr unsigned kInfinity = ((1u << kExponentBits) - 1u) << kMantissaBits;

  const unsigned sign = static_cast<unsigned>(bits >> 63) << (kExponentBits + kMantissaBits);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  if (exponent >= kMinExponent && exponent <= kMaxExponent) {
    // A normal number, as nearly all are: adding just under half a unit, plus the parity of the kept part, rounds to
    // nearest even, and a carry runs into the exponent as it should.
    constexpr int kShift = 52 - kMantissaBits;
    constexpr std::uint64_t kRebias = static_cast<std::uint64_t>(1023 - kMaxExponent) << kMantissaBits;
    const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
    const std::uint64_t odd = (magnitude >> kShift) & 1u;
    const std::uint64_t rounded = (magnitude + (std::uint64_t{1} << (kShift - 1)) - 1 + odd) >> kShift;
    return static_cast<std::uint16_t>(sign | static_cast<unsigned>(rounded - kRebias));
  }
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 1024 && fraction != 0) {
    const unsigned payload = static_cast<unsigned>(fraction >> (52 - kMantissaBits));
    return static_cast<std::uint16_t>(sign | kInfinity | (1u << (kMantissaBits - 1)) | payload);
  }
  if (exponent > kMaxExponent) {
    return static_cast<std::uint16_t>(sign | kInfinity);
  }
  if (exponent < kMinExponent - kMantissaBits - 1) {  // below half of the smallest subnormal
    return static_cast<std::uint16_t>(sign);
  }
  // Below the normal numbers: one more bit is dropped for each power of two. A carry makes the smallest normal one.
  const int shift = 52 - kMantissaBits + kMinExponent - exponent;
  const std::uint64_t significand = (std::uint64_t{1} << 52) | fraction;
  const std::uint64_t dropped = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  unsigned kept = static_cast<unsigned>(significand >> shift);
  kept += (dropped > half || (dropped == half && (kept & 1u) != 0)) ? 1u : 0u;
  return static_cast<std::uint16_t>(sign | kept);
}

inline std::uint16_t DoubleToFp16(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return NarrowDoubleBits<5, 10>(bits);
}

inline std::uint16_t DoubleToBf16(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return NarrowDoubleBits<8, 7>(bits);
}

/// Every f32 is an f64, so there is no second rounding.
inline std::uint16_t FloatToFp16(float value) { return DoubleToFp16(static_cast<double>(value)); }

inline std::uint16_t FloatToBf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x0040u);
  }
  // bf16 is the upper half of an f32: adding just under half a unit, plus the parity of the kept part, rounds to
  // nearest even, and a carry runs into the exponent as it should.
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float Bf16ToFloat(std::uint16_t pattern) {
  const std::uint32_t bits = static_cast<std::uint32_t>(pattern) << 16;
  float value = 0.0f;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline float Fp16ToFloat(std::uint16_t pattern) {
  const std::uint32_t sign = static_cast<std::uint32_t>(pattern & 0x8000u) << 16;
  const std::uint32_t exponent = (pattern >> 10) & 0x1fu;
  const std::uint32_t fraction = pattern & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: a multiple of 2^-24, exact in f32
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  // The bias grows by 112; infinity and NaN have all exponent bits set in both types.
  const std::uint32_t wide_exponent = exponent == 0x1f ? 0xffu : exponent + 112u;
  const std::uint32_t quiet = exponent == 0x1f && fraction != 0 ? 0x400000u : 0u;
  const std::uint32_t bits = sign | (wide_exponent << 23) | (fraction << 13) | quiet;
  float value = 0.0f;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Element `index` of aligned FP16, BF16 or FP32, exactly. Requires: one of these types.
inline float LoadFloat(DataType dtype, const void* data, std::int64_t index) {
  switch (dtype) {
    case DataType::kFp16:
      return Fp16ToFloat(static_cast<const std::uint16_t*>(data)[index]);
    case DataType::kBf16:
      return Bf16ToFloat(static_cast<const std::uint16_t*>(data)[index]);
    default:
      return static_cast<const float*>(data)[index];
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_FLOAT16_H_

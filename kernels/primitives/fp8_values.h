// The values of the FP8 types: 256 each, looked up.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_FP8_VALUES_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_FP8_VALUES_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/core/dtype.h"
#include "kernels/core/float16.h"

namespace kernelwire {

/// E4M3: exponent bias 7, no infinities; all bits set but the sign is NaN, and so nothing else.
inline float Fp8E4m3Value(std::uint8_t pattern) {
  const int exponent = pattern >> 3 & 0xF;
  const int fraction = pattern & 0x7;
  if ((pattern & 0x7F) == 0x7F) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const float magnitude =
      std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 8), (exponent == 0 ? 1 : exponent) - 10);
  return (pattern & 0x80) != 0 ? -magnitude : magnitude;
}

/// The value of each pattern. E5M2 is the upper half of an FP16. Requires: one of the two types. Thread-safe.
inline const float* Fp8Values(DataType dtype) {
  static const auto tables = [] {
    std::array<std::array<float, 256>, 2> values{};
    for (unsigned pattern = 0; pattern < 256; ++pattern) {
      values[0][pattern] = Fp8E4m3Value(static_cast<std::uint8_t>(pattern));
      values[1][pattern] = Fp16ToFloat(static_cast<std::uint16_t>(pattern << 8));
    }
    return values;
  }();
  return tables[dtype == DataType::kFp8E4m3 ? 0 : 1].data();
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_FP8_VALUES_H_

// What happens to a finished integer on its way into y. For host code and for device code: both must refuse alike.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_RESULT_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_RESULT_H_

#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/primitives/reduce_params.h"

namespace kernelwire {

/// Sums of INT64 stay exact whatever comes: 2^63 elements of 2^63 fit.
__extension__ typedef __int128 WideInteger;

/// Whether `value` is one of the type's values. Floating-point types take any, by rounding.
template <typename Integer>
KERNELWIRE_HOST_DEVICE constexpr bool FitsInto(DataType type, Integer value) {
  switch (type) {
    case DataType::kInt8:
      return value >= -128 && value <= 127;
    case DataType::kUint8:
      return value >= 0 && value <= 255;
    case DataType::kInt32:
      return value >= -2147483648LL && value <= 2147483647LL;
    case DataType::kInt64:
      return value >= static_cast<Integer>(-9223372036854775807LL - 1) &&
             value <= static_cast<Integer>(9223372036854775807LL);
    default:
      return true;
  }
}

/// ReduceMisfit bits.
template <typename Integer>
KERNELWIRE_HOST_DEVICE constexpr std::uint8_t MisfitOf(Integer value, DataType accumulator, DataType y_type) {
  return static_cast<std::uint8_t>((FitsInto(accumulator, value) ? kFits : kMissesAccumulator) |
                                   (FitsInto(y_type, value) ? kFits : kMissesOutputType));
}

/// An f64 that rounds to every narrower type as the integer itself does: where 53 bits do not hold it, what is cut off
/// leaves its mark in the last one ("round to odd": S. Boldo and G. Melquiond, "When double rounding is odd", 2005).
KERNELWIRE_HOST_DEVICE constexpr double RoundableDouble(std::int64_t value) {
  constexpr std::uint64_t kCutOff = 0x7FF;
  if (value > -(std::int64_t{1} << 53) && value < std::int64_t{1} << 53) {
    return static_cast<double>(value);
  }
  const auto bits = static_cast<std::uint64_t>(value);
  const bool inexact = (bits & kCutOff) != 0;
  return static_cast<double>(static_cast<std::int64_t>((bits & ~kCutOff) | (inexact ? kCutOff + 1 : 0)));
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_RESULT_H_

// A result on its way into y: rounded once to y's type, and noted where it does not fit.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_CUH_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_result.h"

namespace kernelwire {

template <typename Real>
inline constexpr Real kQuietNan = std::numeric_limits<Real>::quiet_NaN();

template <typename T, typename Value>
__device__ __forceinline__ void StoreAs(Value value, void* y, std::int64_t index) {
  static_cast<T*>(y)[index] = Narrow<T>(value);
}

/// Whatever a NaN's sign has become on its way, it is stored with none: that would follow from the kernel, and so from
/// how many requests share a launch.
template <typename Real>
__device__ __forceinline__ void StoreReal(DataType type, Real value, void* y, std::int64_t index) {
  const Real result = isnan(value) ? kQuietNan<Real> : value;
  WithFloatType(type, [&](auto tag) { StoreAs<typename decltype(tag)::Type>(result, y, index); });
}

__device__ __forceinline__ void StoreInteger(DataType type, std::int64_t value, void* y, std::int64_t index) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
      return StoreAs<std::uint8_t>(value, y, index);
    case DataType::kInt32:
      return StoreAs<std::int32_t>(value, y, index);
    case DataType::kInt64:
      return StoreAs<std::int64_t>(value, y, index);
    case DataType::kFp64:
      return StoreAs<double>(value, y, index);
    default:
      return StoreReal(type, RoundableDouble(value), y, index);
  }
}

/// `value` as an accumulator of the given type holds it.
__device__ __forceinline__ double RoundedTo(DataType type, double value) {
  switch (type) {
    case DataType::kFp16:
      return Widen<double>(Narrow<__half>(value));
    case DataType::kBf16:
      return Widen<double>(Narrow<__nv_bfloat16>(value));
    default:
      return value;
  }
}

/// Writes a real or an integer where it belongs, with its note where the launch has notes.
template <typename Value>
__device__ __forceinline__ void StoreResult(const ReduceArguments& arguments, const ResultPlace& place, Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    StoreReal(arguments.y_type, value, place.y, place.index);
  } else {
    StoreInteger(arguments.y_type, static_cast<std::int64_t>(value), place.y, place.index);
    if (arguments.checked) {
      const std::int64_t y_bytes = place.results * arguments.y_bytes;
      static_cast<std::uint8_t*>(place.y)[y_bytes + place.index] =
          MisfitOf(value, arguments.accumulator, arguments.y_type);
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_CUH_

// A result on its way into y, on the host: rounded once to y's type, and noted where it does not fit.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/core/float16.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_result.h"

namespace kernelwire {

/// Rounds as the hardware does; C++ leaves the conversion undefined where f32 overflows.
inline float FloatOf(double value) {
  constexpr double kRoundsToInfinity = 0x1.ffffffp127;
  return std::abs(value) >= kRoundsToInfinity
             ? std::copysign(std::numeric_limits<float>::infinity(), value > 0 ? 1.0F : -1.0F)
             : static_cast<float>(value);
}

inline void StoreReal(DataType type, double value, void* y, std::int64_t index) {
  switch (type) {
    case DataType::kFp16:
      static_cast<std::uint16_t*>(y)[index] = DoubleToFp16(value);
      return;
    case DataType::kBf16:
      static_cast<std::uint16_t*>(y)[index] = DoubleToBf16(value);
      return;
    case DataType::kFp32:
      static_cast<float*>(y)[index] = FloatOf(value);
      return;
    default:
      static_cast<double*>(y)[index] = value;
  }
}

inline void StoreInteger(DataType type, std::int64_t value, void* y, std::int64_t index) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
      static_cast<std::uint8_t*>(y)[index] = static_cast<std::uint8_t>(value);
      return;
    case DataType::kInt32:
      static_cast<std::int32_t*>(y)[index] = static_cast<std::int32_t>(value);
      return;
    case DataType::kInt64:
      static_cast<std::int64_t*>(y)[index] = value;
      return;
    case DataType::kFp64:
      static_cast<double*>(y)[index] = static_cast<double>(value);
      return;
    default:
      StoreReal(type, RoundableDouble(value), y, index);
  }
}

/// Writes an integer where it belongs, with its note where the launch has notes.
template <typename Integer>
void StoreWhole(const HostReduction& job, const HostPlace& place, Integer value) {
  void* const y = place.segment.outputs[0];
  const DataType type = job.params.y_type;
  StoreInteger(type, static_cast<std::int64_t>(value), y, place.index);
  if (job.params.checked) {
    const std::int64_t results = place.segment.rows * job.layout.results;
    auto* const notes = static_cast<std::uint8_t*>(y) + results * static_cast<std::int64_t>(SizeOf(type));
    notes[place.index] = MisfitOf(value, job.params.accumulator, type);
  }
}

/// `value` as an accumulator of the given type holds it.
inline double RoundedTo(DataType type, double value) {
  switch (type) {
    case DataType::kFp16:
      return static_cast<double>(Fp16ToFloat(DoubleToFp16(value)));
    case DataType::kBf16:
      return static_cast<double>(Bf16ToFloat(DoubleToBf16(value)));
    default:
      return value;
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_H_

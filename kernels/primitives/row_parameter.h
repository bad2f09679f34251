// What each request of a row-wise operator brings of its own, in Segment::extents: how its parameters (weight, bias)
// are read, and how far its rows lie apart. Requests that differ in these share a launch. For host code and for device
// code.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_H_

#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/primitives/segment_lookup.h"

namespace kernelwire {

/// Words of Segment::extents. Operators without such a tensor leave its word 0.
inline constexpr int kRowWeight = 0;          // a packed RowParameter
inline constexpr int kRowBias = 1;            // a packed RowParameter
inline constexpr int kRowStrideX = 2;         // elements from one row of x (or a) to the next, at least the width
inline constexpr int kRowStrideY = 3;         // the same of y
inline constexpr int kRowStrideB = 4;         // of the second summand
inline constexpr int kRowStrideResidual = 5;  // of the sum

/// How many elements a parameter has.
enum class RowParameterKind : std::uint8_t {
  kNone = 0,  // left out
  kOne = 1,   // one element, for all
  kRow = 2,   // one element for each of a row
};

/// A parameter as one request gives it. Its pointer is in Segment::inputs.
struct RowParameter {
  RowParameterKind kind = RowParameterKind::kNone;
  DataType dtype = DataType::kInvalid;  // of its elements, whatever x has
};

/// One word of extents; 0 says that the parameter was left out.
KERNELWIRE_HOST_DEVICE constexpr std::int64_t PackRowParameter(RowParameter parameter) {
  return static_cast<std::int64_t>(parameter.kind) | static_cast<std::int64_t>(parameter.dtype) << 8;
}

KERNELWIRE_HOST_DEVICE constexpr RowParameter UnpackRowParameter(std::int64_t word) {
  return {static_cast<RowParameterKind>(word & 0xff), static_cast<DataType>(word >> 8 & 0xff)};
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_H_

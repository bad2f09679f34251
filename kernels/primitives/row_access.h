// How the rows of a launch lie in memory: whether all can be read and written in whole aligned vectors, and if not, how
// wide an access may be. Asked on the host, where the table of segments lies too, so that kernels for the ordinary case
// carry no code for the others.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_ACCESS_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_ACCESS_H_

#include <cstdint>
#include <initializer_list>

#include "kernels/core/launch.h"
#include "kernels/core/segment.h"
#include "kernels/primitives/row_parameter.h"

namespace kernelwire {

/// A tensor of rows in a segment: where it lies, and the word of Segment::extents that has its stride.
struct RowPlace {
  bool output = false;
  int index = 0;
  int stride_word = 0;
};

/// A weight or bias in a segment.
struct ParameterPlace {
  int index = 0;  // in Segment::inputs
  int word = 0;   // of Segment::extents
};

inline constexpr std::int64_t kGranuleBytes = 16;

/// What holds for all rows of a launch.
struct RowAccess {
  /// 8, where all rows begin on a multiple of it, or 4. Rows of 2-byte elements may lie at odd places all the same.
  int bytes = 8;
  /// Rows begin on 16-byte boundaries and are whole vectors, and their parameters are vectors of the rows' type or f32.
  bool plain = true;
};

/// The bits of the addresses at which the rows of a tensor begin, as far as they differ from multiples of
/// kGranuleBytes.
inline std::uint64_t OffsetBits(const Segment& segment, const RowPlace& place, DataType dtype) {
  const void* const data = place.output ? segment.outputs[place.index] : segment.inputs[place.index];
  const std::int64_t stride_bytes = segment.extents[place.stride_word] * static_cast<std::int64_t>(SizeOf(dtype));
  const auto of_stride = segment.rows <= 1 ? 0U : static_cast<std::uint64_t>(stride_bytes);
  return (reinterpret_cast<std::uintptr_t>(data) | of_stride) % kGranuleBytes;
}

inline bool IsPlain(const Segment& segment, const ParameterPlace& place, DataType dtype) {
  const RowParameter parameter = UnpackRowParameter(segment.extents[place.word]);
  return parameter.kind != RowParameterKind::kRow ||
         (reinterpret_cast<std::uintptr_t>(segment.inputs[place.index]) % kGranuleBytes == 0 &&
          (parameter.dtype == dtype || parameter.dtype == DataType::kFp32));
}

/// How rows of `width` elements of `dtype` lie, in all segments. Absent tensors change nothing.
inline RowAccess AccessOfRows(const Launch& launch, DataType dtype, std::int64_t width,
                              std::initializer_list<RowPlace> rows, std::initializer_list<ParameterPlace> parameters) {
  RowAccess access;
  std::uint64_t bits = 0;
  for (int i = 0; i < launch.segment_count; ++i) {
    for (const RowPlace& place : rows) {
      bits |= OffsetBits(launch.segments[i], place, dtype);
    }
    for (const ParameterPlace& place : parameters) {
      access.plain = access.plain && IsPlain(launch.segments[i], place, dtype);
    }
  }
  const bool whole = width * static_cast<std::int64_t>(SizeOf(dtype)) % kGranuleBytes == 0;
  access.plain = access.plain && whole && bits == 0;
  access.bytes = bits % 8 == 0 ? 8 : 4;
  return access;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_ACCESS_H_

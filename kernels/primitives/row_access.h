// How the rows of a launch lie in memory: whether all can be read and written in whole aligned vectors. Asked on the
// host, where the table of segments lies too, so that kernels for the ordinary case carry no code for the others.
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

/// Whether all rows of a tensor begin on granules.
inline bool IsPlain(const Segment& segment, const RowPlace& place, DataType dtype) {
  const void* const data = place.output ? segment.outputs[place.index] : segment.inputs[place.index];
  const std::int64_t stride_bytes = segment.extents[place.stride_word] * static_cast<std::int64_t>(SizeOf(dtype));
  return reinterpret_cast<std::uintptr_t>(data) % kGranuleBytes == 0 &&
         (segment.rows <= 1 || stride_bytes % kGranuleBytes == 0);
}

inline bool IsPlain(const Segment& segment, const ParameterPlace& place, DataType dtype) {
  const RowParameter parameter = UnpackRowParameter(segment.extents[place.word]);
  return parameter.kind != RowParameterKind::kRow ||
         (reinterpret_cast<std::uintptr_t>(segment.inputs[place.index]) % kGranuleBytes == 0 &&
          (parameter.dtype == dtype || parameter.dtype == DataType::kFp32));
}

/// Whether the rows of `width` elements of `dtype` are plain, in all segments: they begin on 16-byte boundaries and are
/// whole vectors, and their parameters are vectors of the rows' type or f32. Absent tensors change nothing.
inline bool RowsArePlain(const Launch& launch, DataType dtype, std::int64_t width, std::initializer_list<RowPlace> rows,
                         std::initializer_list<ParameterPlace> parameters) {
  bool plain = width * static_cast<std::int64_t>(SizeOf(dtype)) % kGranuleBytes == 0;
  for (int i = 0; i < launch.segment_count; ++i) {
    for (const RowPlace& place : rows) {
      plain = plain && IsPlain(launch.segments[i], place, dtype);
    }
    for (const ParameterPlace& place : parameters) {
      plain = plain && IsPlain(launch.segments[i], place, dtype);
    }
  }
  return plain;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_ACCESS_H_

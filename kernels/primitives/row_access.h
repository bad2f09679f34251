// How the rows of a launch lie in memory: whether all can be read and written in whole aligned vectors, and where those
// that are read first begin. Asked on the host, where the table of segments lies too, so that kernels for the ordinary
// case carry no code for the others.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_ACCESS_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_ACCESS_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "kernels/core/launch.h"
#include "kernels/core/segment.h"
#include "kernels/device/early_reads.h"
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

/// All of them.
struct RowPlaces {
  std::initializer_list<RowPlace> rows;
  std::initializer_list<ParameterPlace> parameters = {};
  std::initializer_list<int> optional_outputs = {};  // that have no rows of these
};

inline constexpr std::int64_t kGranuleBytes = 16;

/// How kernels reach the rows of a launch. (A server's tensors begin on granules, and more. A library's caller may have
/// rows begin at any element.)
enum class RowAccess : std::uint8_t {
  kPlain,         // in whole vectors
  kDense,         // the same in the usual launch
  kTiledVectors,  // the same, many at a time (row_tile.cuh), where RowTuning has them so
  kTiled,         // in the usual launch, many at a time: those in halves of vectors, and words that RowTuning has so
  kMisaligned,    // the same in the usual launch, but for where tensors begin
  kShifted,       // they begin anywhere
  kOdd,           // the same in the usual launch
};

/// Whether rows are read and written in whole vectors.
constexpr bool InVectors(RowAccess access) { return access == RowAccess::kPlain || access == RowAccess::kDense; }
/// Whether parameters are, and rows are a whole number of them.
constexpr bool HasVectors(RowAccess access) {
  return InVectors(access) || access == RowAccess::kTiledVectors || access == RowAccess::kMisaligned;
}
/// Whether they pass through a tile of their block.
template <RowAccess kAccess>
inline constexpr bool kInTile = kAccess == RowAccess::kTiled || kAccess == RowAccess::kTiledVectors;
/// Whether the launch is known to be the usual one.
template <RowAccess kAccess>
inline constexpr bool kInUsualLaunch = !(kAccess == RowAccess::kPlain || kAccess == RowAccess::kShifted);
/// Whether rows may begin anywhere.
constexpr bool BeginAnywhere(RowAccess access) { return access == RowAccess::kShifted || access == RowAccess::kOdd; }
template <RowAccess kAccess>
inline constexpr bool kBeginAnywhere = BeginAnywhere(kAccess);
/// Whether vectors of rows lie across those of memory.
constexpr bool IsMoved(RowAccess access) { return BeginAnywhere(access) || access == RowAccess::kMisaligned; }

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
inline bool RowsArePlain(const Launch& launch, DataType dtype, std::int64_t width, const RowPlaces& places) {
  bool plain = width * static_cast<std::int64_t>(SizeOf(dtype)) % kGranuleBytes == 0;
  for (int i = 0; i < launch.segment_count; ++i) {
    for (const RowPlace& place : places.rows) {
      plain = plain && IsPlain(launch.segments[i], place, dtype);
    }
    for (const ParameterPlace& place : places.parameters) {
      plain = plain && IsPlain(launch.segments[i], place, dtype);
    }
  }
  return plain;
}

/// Whether the launch is as most are: one request, whose rows lie one after another from a granule on (or from
/// anywhere, where `misaligned`), whose parameters are rows of the same type, and that asks for no optional output.
inline bool IsUsual(const Launch& launch, DataType dtype, std::int64_t width, const RowPlaces& places,
                    bool misaligned = false) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (launch.segment_count != 1 || launch.total_rows > kMost || width > kMost) {
    return false;
  }
  const Segment& segment = launch.segments[0];
  bool usual = true;
  for (const RowPlace& place : places.rows) {
    const void* const data = place.output ? segment.outputs[place.index] : segment.inputs[place.index];
    usual = usual && (misaligned || reinterpret_cast<std::uintptr_t>(data) % kGranuleBytes == 0) &&
            (data == nullptr || segment.extents[place.stride_word] == width);
  }
  for (const ParameterPlace& place : places.parameters) {
    const RowParameter parameter = UnpackRowParameter(segment.extents[place.word]);
    usual = usual && parameter.kind == RowParameterKind::kRow && parameter.dtype == dtype &&
            reinterpret_cast<std::uintptr_t>(segment.inputs[place.index]) % kGranuleBytes == 0;
  }
  for (const int output : places.optional_outputs) {
    usual = usual && segment.outputs[output] == nullptr;
  }
  return usual;
}

/// How kernels reach these rows; see RowsArePlain and IsUsual.
inline RowAccess AccessOf(const Launch& launch, DataType dtype, std::int64_t width, const RowPlaces& places) {
  const bool usual = IsUsual(launch, dtype, width, places);
  if (RowsArePlain(launch, dtype, width, places)) {
    return usual ? RowAccess::kDense : RowAccess::kPlain;
  }
  const std::int64_t row_bytes = width * static_cast<std::int64_t>(SizeOf(dtype));
  if (usual) {
    return row_bytes % (kGranuleBytes / 2) == 0 ? RowAccess::kTiled : RowAccess::kOdd;
  }
  const bool vectors = row_bytes % kGranuleBytes == 0;
  return vectors && IsUsual(launch, dtype, width, places, true) ? RowAccess::kMisaligned : RowAccess::kShifted;
}

/// Whether all of these that are not null begin as far behind a granule as each other.
inline bool BeginAlike(std::initializer_list<const void*> tensors) {
  const auto odd = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % kGranuleBytes; };
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const void* at) { return at == nullptr || odd(at) == odd(*tensors.begin()); });
}

/// What a launch reads first: of one request, its parameters, and its tensors of rows that lie one after another. Where
/// several requests' lie, the device knows only when its turn has come. Nothing where one row of each tensor is more
/// than all that: such rows are walked over, and that was in the way (add_rms_norm of 1 x 1048576 FP32 elements took a
/// tenth longer).
inline EarlyReads EarlyReadsOf(const Launch& launch, DataType dtype, std::int64_t width, const RowPlaces& places) {
  EarlyReads early{};
  const auto is_read = [](const RowPlace& place) { return !place.output; };
  const std::int64_t inputs = std::count_if(places.rows.begin(), places.rows.end(), is_read);
  const std::int64_t row_bytes = launch.total_rows == 0 ? 0 : width * static_cast<std::int64_t>(SizeOf(dtype));
  if (launch.segment_count != 1 || row_bytes * inputs > EarlyReads::kMostBytes) {
    return early;
  }
  constexpr std::int64_t kMostOfParameter = EarlyReads::kMostBytes / 4;
  const Segment& segment = launch.segments[0];
  std::int64_t left = EarlyReads::kMostBytes;
  for (const ParameterPlace& place : places.parameters) {
    const RowParameter parameter = UnpackRowParameter(segment.extents[place.word]);
    if (parameter.kind == RowParameterKind::kRow) {
      const std::int64_t bytes = width * static_cast<std::int64_t>(SizeOf(parameter.dtype));
      early.Add(segment.inputs[place.index], bytes, kMostOfParameter);
      left -= std::min(bytes, kMostOfParameter);
    }
  }
  for (const RowPlace& place : places.rows) {
    if (is_read(place) && segment.extents[place.stride_word] == width) {
      early.Add(segment.inputs[place.index], segment.rows * row_bytes, left / inputs);
    }
  }
  return early;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_ACCESS_H_

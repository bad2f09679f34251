// Rows that no group holds: a block walks over a row, or over a part of a long one, a stretch at a time, first for the
// row's totals, and then for its results.
//
// A long row's parts are the work of several blocks (row_parts.cuh), so that even a single row keeps the whole device
// busy.
//
// In-place calls (y where x lies) are right here too: what the lanes of a stretch use of what they read is only what
// they write themselves, afterwards.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/row_words.cuh"

namespace kernelwire {

/// How a kernel reaches rows that are walked over.
enum class StreamAccess : std::uint8_t {
  kVectors,  // in whole vectors: plain rows
  kWords,    // in words: rows that are no whole number of vectors (row_words.cuh)
  kShifted,  // by way of shared memory: others, and those with results of another type than theirs
};

template <StreamAccess kAccess>
using StreamTag = std::integral_constant<StreamAccess, kAccess>;

/// Whether a stretch is asked for in registers, so that other work may lie between that and its use. Such rows are in
/// parts.
template <StreamAccess kAccess>
inline constexpr bool kAsksAhead = kAccess != StreamAccess::kShifted;

/// For __launch_bounds__.
template <StreamAccess kAccess>
inline constexpr int kMostThreadsOfStream = kAsksAhead<kAccess> ? kThreadsOfPart : kMostThreadsOfRowBlock;
/// The same: blocks that a multiprocessor has at a time, by what their registers must hold.
template <StreamAccess kAccess>
constexpr int StreamsAtATime(int in_vectors, int in_words) {
  return kAccess == StreamAccess::kVectors ? in_vectors : kAccess == StreamAccess::kWords ? in_words : 1;
}

/// What a thread has of a stretch: 64 bytes.
template <typename T, StreamAccess kAccess>
using StreamHeld = std::conditional_t<kAccess == StreamAccess::kWords, RowWords<T, 16, 0>,
                                      RowVectors<T, 4, kAccess == StreamAccess::kVectors>>;

/// A parameter of such rows, of which a thread asks for what a stretch of them needs at once.
template <typename Held, typename Acc>
using StretchParameter = DeviceParameter<Held, Acc, Held::kPlain ? RowAccess::kPlain : RowAccess::kShifted>;

/// Where stretches of kInputs rows lie on their way.
template <typename T, StreamAccess kAccess, int kInputs>
using StreamSpace = RowSpace<StreamHeld<T, kAccess>, BlockGroup, kInputs>;

/// Elements [first, end) of a row of `width`: from the row's part `index` on.
struct RowPart {
  int index;
  std::int64_t first;
  std::int64_t end;
  std::int64_t width;
};

/// `count` parts from the `index`-th on, as one.
template <typename T>
__device__ __forceinline__ RowPart RowPartAt(const StreamedParts& parts, std::int64_t width, int index, int count) {
  const std::int64_t elements = parts.bytes / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t first = index * elements;
  return {index, first, min(width, first + count * elements), width};
}

/// Calls body(part) for the parts of a range.
template <typename T, typename Body>
__device__ __forceinline__ void ForEachPart(const StreamedParts& parts, const RowPart& range, const Body& body) {
#pragma unroll 1
  for (int i = 0; i < parts.together && range.index + i < parts.count; ++i) {
    body(RowPartAt<T>(parts, range.width, range.index + i, 1));
  }
}

/// The elements of a stretch.
template <typename T>
__device__ __forceinline__ std::int64_t LengthOfStretch(const BlockGroup& group) {
  return std::int64_t{group.size()} * StreamHeld<T, StreamAccess::kVectors>::kHeld;
}

/// Calls body(first, count) for the stretches of a part in order: `count` elements from element `first` of the row on.
template <typename T, typename Body>
__device__ __forceinline__ void ForEachStretch(const BlockGroup& group, const RowPart& part, const Body& body) {
  const std::int64_t stretch = LengthOfStretch<T>(group);
  for (std::int64_t first = part.first; first < part.end; first += stretch) {
    body(first, static_cast<int>(min(stretch, part.end - first)));
  }
}

/// The same from the last stretch to the first, so that what was read last, and is still in a cache, is read first.
template <typename T, typename Body>
__device__ __forceinline__ void ForEachStretchBackwards(const BlockGroup& group, const RowPart& part,
                                                        const Body& body) {
  const std::int64_t stretch = LengthOfStretch<T>(group);
  for (std::int64_t first = part.first + (part.end - part.first - 1) / stretch * stretch; first >= part.first;
       first -= stretch) {
    body(first, static_cast<int>(min(stretch, part.end - first)));
  }
}

/// Elements [first, first + count) of the row of `width` elements at `row`.
template <typename T>
__device__ __forceinline__ RowSource<T> StretchOf(const RowSource<T>& row, std::int64_t width, std::int64_t first,
                                                  int count) {
  constexpr int kReach = kElementsOfGranule<T> - 1;
  return {row.data + first, count, row.has_before || first > 0, row.has_after || width - first - count >= kReach};
}

/// A row that is walked over, a source of stretches. A source's Ask(group, part, first, count) reads a stretch, and Get
/// gives what has been read; beyond its end, the fill. Where kAhead, other work may lie between. ElementAt(at) is one.
///
/// `priority`: of the reads, where kAhead.
template <typename T, typename Fill, StreamAccess kRowAccess>
struct StreamedRow {
  using Element = T;
  using Held = StreamHeld<T, kRowAccess>;
  using Asked = Held;
  static constexpr bool kAhead = kAsksAhead<kRowAccess>;

  RowSource<T> x;
  Granule* place;
  CachePriority priority;

  __device__ __forceinline__ Asked Ask(const BlockGroup& group, const RowPart& part, std::int64_t first,
                                       int count) const {
    const RowSource<T> stretch = StretchOf(x, part.width, first, count);
    Held held;
    if constexpr (kAhead) {
      held.template Begin<Fill>(group, stretch, place, priority);
    } else {
      held.template Begin<Fill>(group, stretch, place);
      held.template Finish<Fill>(group, stretch, place);
    }
    return held;
  }
  __device__ __forceinline__ Held Get(const BlockGroup& group, const Asked& asked, std::int64_t first,
                                      int count) const {
    Held held = asked;
    if constexpr (kAhead) {
      held.template Finish<Fill>(group, RowSource<T>{x.data + first, count, true, true}, place);
    }
    return held;
  }
  __device__ __forceinline__ T ElementAt(std::int64_t at) const { return x.data[at]; }
};

/// A stretch of `source` that is not asked for ahead.
template <typename Source>
__device__ __forceinline__ typename Source::Held ReadStretch(const BlockGroup& group, const Source& source,
                                                             const RowPart& part, std::int64_t first, int count) {
  return source.Get(group, source.Ask(group, part, first, count), first, count);
}

/// The stretches of a range of a source, in order. Where it asks ahead, the first is asked for in Begin; where a thread
/// has the registers (`kDeep`), each other before the one before it is worked on.
template <typename Source>
class StretchesAhead {
 public:
  using Held = typename Source::Held;

  /// Asks for the first stretch of `range`.
  __device__ __forceinline__ void Begin(const BlockGroup& group, const Source& source, const RowPart& range) {
    if constexpr (Source::kAhead) {
      Ask(group, source, range, range.first);
    }
  }
  /// The stretch of `count` elements from `first` on, which is the next of the range.
  template <bool kDeep>
  __device__ __forceinline__ Held Next(const BlockGroup& group, const Source& source, const RowPart& range,
                                       std::int64_t first, int count) {
    if constexpr (!Source::kAhead) {
      return ReadStretch(group, source, range, first, count);
    } else if constexpr (kDeep) {
      const typename Source::Asked asked = asked_;
      if (first + count < range.end) {
        Ask(group, source, range, first + count);
      }
      return source.Get(group, asked, first, count);
    } else {
      return first == range.first ? source.Get(group, asked_, first, count)
                                  : ReadStretch(group, source, range, first, count);
    }
  }

 private:
  __device__ __forceinline__ void Ask(const BlockGroup& group, const Source& source, const RowPart& range,
                                      std::int64_t first) {
    const std::int64_t stretch = LengthOfStretch<typename Source::Element>(group);
    asked_ = source.Ask(group, range, first, static_cast<int>(min(stretch, range.end - first)));
  }

  typename Source::Asked asked_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_

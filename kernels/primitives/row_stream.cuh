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

#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// For __launch_bounds__.
template <bool kPlain>
inline constexpr int kMostThreadsOfStream = kPlain ? kThreadsOfPart : kMostThreadsOfRowBlock;
template <bool kPlain>
inline constexpr int kStreamsAtATime = kPlain ? 3 : 1;

/// A parameter of plain rows, of which a thread asks for what a stretch of them needs at once.
template <typename T, typename Acc>
using StretchParameter = DeviceParameter<RowVectors<T, 4, true>, Acc, RowAccess::kPlain>;

/// What a thread has of a stretch. `kPlain`: see RowVectors.
template <typename T, bool kPlain>
using StreamVectors = RowVectors<T, 4, kPlain>;

/// Where stretches of kInputs rows lie on their way.
template <typename T, bool kPlain, int kInputs>
using StreamSpace = RowSpace<StreamVectors<T, kPlain>, BlockGroup, kInputs>;

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
  return std::int64_t{group.size()} * StreamVectors<T, true>::kHeld;
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

/// Elements [first, first + count) of the row of `width` elements at `row`; beyond them, the fill.
template <typename Fill, bool kPlain, typename T>
__device__ __forceinline__ StreamVectors<T, kPlain> LoadStretch(const BlockGroup& group, const RowSource<T>& row,
                                                                std::int64_t width, std::int64_t first, int count,
                                                                Granule* place) {
  constexpr int kReach = kElementsOfGranule<T> - 1;
  const RowSource<T> source{row.data + first, count, row.has_before || first > 0,
                            row.has_after || width - first - count >= kReach};
  StreamVectors<T, kPlain> held;
  held.template Begin<Fill>(group, source, place);
  held.template Finish<Fill>(group, source, place);
  return held;
}

/// A row that is walked over, a source of stretches. A source's Ask(group, part, first, count) reads a stretch, and Get
/// gives what has been read; of plain rows other work may lie between.
///
/// `priority`: of the reads of a plain row.
template <typename T, typename Fill, bool kPlainRows>
struct StreamedRow {
  using Element = T;
  using Held = StreamVectors<T, kPlainRows>;
  using Asked = Held;
  static constexpr bool kPlain = kPlainRows;

  RowSource<T> x;
  Granule* place;
  CachePriority priority;

  __device__ __forceinline__ Asked Ask(const BlockGroup& group, const RowPart& part, std::int64_t first,
                                       int count) const {
    if constexpr (kPlain) {
      Held held;
      held.template BeginPlain<Fill>(group, RowSource<T>{x.data + first, count, true, true}, priority);
      return held;
    } else {
      return LoadStretch<Fill, kPlain>(group, x, part.width, first, count, place);
    }
  }
  __device__ __forceinline__ Held Get(const BlockGroup& /*group*/, const Asked& asked, std::int64_t /*first*/,
                                      int /*count*/) const {
    return asked;
  }
};

/// A stretch of `source` that is not asked for ahead.
template <typename Source>
__device__ __forceinline__ typename Source::Held ReadStretch(const BlockGroup& group, const Source& source,
                                                             const RowPart& part, std::int64_t first, int count) {
  return source.Get(group, source.Ask(group, part, first, count), first, count);
}

/// The stretches of a range of a source, in order. The first of a plain row's is asked for in Begin; where a thread has
/// the registers (`kDeep`), each other before the one before it is worked on.
template <typename Source>
class StretchesAhead {
 public:
  using Held = typename Source::Held;

  /// Asks for the first stretch of `range`.
  __device__ __forceinline__ void Begin(const BlockGroup& group, const Source& source, const RowPart& range) {
    if constexpr (Source::kPlain) {
      Ask(group, source, range, range.first);
    }
  }
  /// The stretch of `count` elements from `first` on, which is the next of the range.
  template <bool kDeep>
  __device__ __forceinline__ Held Next(const BlockGroup& group, const Source& source, const RowPart& range,
                                       std::int64_t first, int count) {
    if constexpr (!Source::kPlain) {
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

/// Writes result(v) as this thread's vector `v` of the `count` elements of a plain row from `to` on.
template <typename T, typename Result>
__device__ __forceinline__ void StorePlainStretch(const BlockGroup& group, T* to, int count, CachePriority priority,
                                                  const Result& result) {
  using Held = StreamVectors<T, true>;
  T* const base = Held::Pinned(to + Held::IndexOf(group, 0));
#pragma unroll
  for (int v = 0; v < Held::kVectors; ++v) {
    const Granule results = result(v);
    if (Held::IndexOf(group, v) < count) {
      StoreGranule(base + v * Held::template kStep<BlockGroup>, results, priority);
    }
  }
}

/// Writes the elements of a stretch to a row of another type than theirs, rounded once, after compute(at, y) has turned
/// the vector y, which begins at element `at` of the row, into its results.
template <typename Acc, typename Held, typename Out, typename Compute>
__device__ __forceinline__ void StoreConverted(const BlockGroup& group, const Held& held, std::int64_t first, int count,
                                               Out* row, const Compute& compute) {
  constexpr int kLength = Held::kLength;
  const bool whole = reinterpret_cast<std::uintptr_t>(row + first) % (kLength * sizeof(Out)) == 0;
#pragma unroll
  for (int v = 0; v < Held::kVectors; ++v) {
    const int index = Held::IndexOf(group, v);
    if (index < count) {
      Acc results[kLength];
      Unpack<typename Held::Element>(held.vectors[v], results);
      compute(first + index, results);
      if (whole && index + kLength <= count) {
        StoreNarrowed(results, row + first + index);
      } else {
#pragma unroll
        for (int j = 0; j < kLength; ++j) {
          if (index + j < count) {
            row[first + index + j] = Narrow<Out>(results[j]);
          }
        }
      }
    }
  }
}

/// The same to a row of any type; `place`: of a stretch on its way out.
template <typename Acc, typename Held, typename Out, typename Compute>
__device__ __forceinline__ void StoreStretch(const BlockGroup& group, const Held& held, std::int64_t first, int count,
                                             Out* row, Granule* place, const Compute& compute) {
  using T = typename Held::Element;
  if constexpr (std::is_same_v<T, Out>) {
    Held::Store(group, row + first, count, place, [&](int v, int index) {
      Acc results[Held::kLength];
      Unpack<T>(held.vectors[v], results);
      if (index < count) {
        compute(first + index, results);
      }
      return Pack<T>(results);
    });
  } else {
    StoreConverted<Acc>(group, held, first, count, row, compute);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_

// Rows that no group holds, walked over by a block or a cluster, a stretch at a time.
//
// In-place calls (y where x lies) are right here too: what the lanes of a stretch use of what they read is only what
// they write themselves, afterwards.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// What a thread has of a stretch.
template <typename T>
using StreamVectors = RowVectors<T, 4, false>;

/// Where stretches of kInputs rows lie on their way. Results are written in no order that a place would help.
template <typename T, int kInputs>
using StreamSpace = RowSpace<StreamVectors<T>, BlockGroup, kInputs>;

/// Calls body(first, count) for the stretches of a row in order: `count` elements from element `first` on.
template <typename T, typename Body>
__device__ __forceinline__ void ForEachStretch(const BlockGroup& group, std::int64_t width, const Body& body) {
  const std::int64_t stretch = std::int64_t{group.size()} * StreamVectors<T>::kHeld;
  for (std::int64_t first = 0; first < width; first += stretch) {
    body(first, static_cast<int>(min(stretch, width - first)));
  }
}

/// The same from the last stretch to the first, so that what was read last, and is still in a cache, is read first.
template <typename T, typename Body>
__device__ __forceinline__ void ForEachStretchBackwards(const BlockGroup& group, std::int64_t width, const Body& body) {
  const std::int64_t stretch = std::int64_t{group.size()} * StreamVectors<T>::kHeld;
  for (std::int64_t first = (width - 1) / stretch * stretch; first >= 0; first -= stretch) {
    body(first, static_cast<int>(min(stretch, width - first)));
  }
}

/// Elements [first, first + count) of `row`; beyond its end, the fill.
template <typename Fill, typename T>
__device__ __forceinline__ StreamVectors<T> LoadStretch(const BlockGroup& group, const RowSource<T>& row,
                                                        std::int64_t first, int count, Granule* place) {
  // Rows may be longer than row.count can say, so which stretch is the last is not asked: the end of each keeps clear
  // of what lies behind the last row.
  const RowSource<T> source{row.data + first, count, row.has_before || first > 0, row.has_after};
  StreamVectors<T> held;
  held.template Begin<Fill>(group, source, place);
  held.template Finish<Fill>(group, source, place);
  return held;
}

/// Writes this thread's elements of a stretch to a row of any type, rounded once, after compute(at, y) has turned the
/// vector y, which begins at element `at` of the row, into its results.
template <typename Acc, typename Held, typename Out, typename Compute>
__device__ __forceinline__ void StoreStretch(const BlockGroup& group, const Held& held, std::int64_t first, int count,
                                             Out* row, const Compute& compute) {
  using T = typename Held::Element;
  constexpr int kLength = Held::kLength;
  const bool whole = reinterpret_cast<std::uintptr_t>(row + first) % (kLength * sizeof(Out)) == 0;
#pragma unroll
  for (int v = 0; v < Held::kVectors; ++v) {
    const int index = Held::IndexOf(group, v);
    if (index < count) {
      Acc results[kLength];
      Unpack<T>(held.vectors[v], results);
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

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_

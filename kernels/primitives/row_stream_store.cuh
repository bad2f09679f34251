// The ways of rows that are walked over from registers to memory (row_stream.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_STORE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_STORE_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

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

/// y[at] = result(at, value) for the elements of a part, one by one, some of them on their way together. y may lie
/// where the row does. For what rows in words seldom want: their stretches would take ten thousand instructions.
template <typename Acc, typename Source, typename Result>
__device__ __forceinline__ void StoreElements(const BlockGroup& group, const Source& source, const RowPart& part,
                                              typename Source::Element* y, const Result& result) {
  using T = typename Source::Element;
  constexpr int kTogether = 4;
  for (std::int64_t at = part.first + group.rank(); at < part.end; at += std::int64_t{kTogether} * group.size()) {
    T elements[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      elements[i] = source.ElementAt(min(at + i * group.size(), part.end - 1));
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (at + i * group.size() < part.end) {
        y[at + i * group.size()] = Narrow<T>(result(at + i * group.size(), Widen<Acc>(elements[i])));
      }
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_STORE_CUH_

// What a thread holds of a row of softmax: its maximum, and its exponentials.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_EXPONENTIALS_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_EXPONENTIALS_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/half_pairs.cuh"
#include "kernels/primitives/minus_infinity.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/running_softmax.cuh"

namespace kernelwire {

/// The maximum of what a thread holds of stretch `s`. A NaN may get lost: it makes the sum NaN.
template <typename Acc, typename Held>
__device__ __forceinline__ Acc MaximumOf(const Held& held, int s) {
  using T = typename Held::Element;
  if constexpr (kIsHalf<T>) {
    constexpr int kWords = static_cast<int>(sizeof(typename Held::Unit)) / 4;
    const int first = s * Held::kVectorsOfStretch * kWords;
    unsigned largest = held.vectors[first / kWords].words[0];
#pragma unroll
    for (int i = first + 1; i < Held::EndOfStretch(s) * kWords; ++i) {
      largest = LargerHalves<T>(largest, held.vectors[i / kWords].words[i % kWords]);
    }
    return Widen<Acc>(PairOfWord<T>(LargerHalves<T>(largest, SwapHalves(largest))).x);
  } else {
    Acc maximum = kMinusInfinity<Acc>;
    ForEachElement<Acc>(held, s, [&](int, Acc value) { maximum = fmax(maximum, value); });
    return maximum;
  }
}

/// The exponentials of what a thread holds, those of a stretch below the same maximum; see ScaledExp.
template <typename Out, typename Acc, typename Held>
struct Exponentials {
  Acc values[Held::kHeld];

  /// Fills in stretch `s`, and returns its sum, which runs in four chains.
  __device__ __forceinline__ Acc Compute(const Held& held, int s, Acc maximum) {
    const Acc offset = SoftmaxOffset(maximum);
    Acc sums[4] = {};
#pragma unroll
    for (int v = s * Held::kVectorsOfStretch; v < Held::EndOfStretch(s); ++v) {
      Acc elements[Held::kLength];
      Unpack<typename Held::Element>(held.vectors[v], elements);
#pragma unroll
      for (int j = 0; j < Held::kLength; ++j) {
        const int i = v * Held::kLength + j;
        values[i] = ScaledExp<Out>(elements[j] - offset);
        sums[i % 4] += values[i];
      }
    }
    if constexpr (Held::kUnmoved) {
      held.BringHome(sums);
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) * static_cast<Acc>(1.0F / kExpScale<Out>);
  }

  /// Those of vector `v`, below its stretch's maximum. Registers that hold no row have none for them either: they are
  /// taken once more, to the same bits.
  __device__ __forceinline__ void Of(const Held& held, int v, Acc maximum, Acc (&of_vector)[Held::kLength]) const {
    if constexpr (Held::kInShared) {
      Unpack<typename Held::Element>(held.vectors[v], of_vector);
    }
#pragma unroll
    for (int j = 0; j < Held::kLength; ++j) {
      if constexpr (Held::kInShared) {
        of_vector[j] = ScaledExp<Out>(of_vector[j] - SoftmaxOffset(maximum));
      } else {
        of_vector[j] = values[v * Held::kLength + j];
      }
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_EXPONENTIALS_CUH_

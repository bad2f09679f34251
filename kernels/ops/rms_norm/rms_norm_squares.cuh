// The squares of a row of rms_norm, and what multiplies the row.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_SQUARES_CUH_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_SQUARES_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_mean.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// This thread's part of the sum of squares.
template <typename Acc, typename Held, typename Group>
__device__ __forceinline__ RowParts<Acc, Held::kStretches> SumOfSquares(const Group& group, const Held& held) {
  constexpr int kChains = Held::kChains;
  RowParts<Acc, Held::kStretches> parts;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    Acc sums[kChains] = {};
    ForEachElement<Acc>(held, s, [&](int i, Acc value) { sums[i % kChains] = fma(value, value, sums[i % kChains]); });
    parts.of_stretch[s] = held.Join(group, sums, [](Acc a, Acc b) { return a + b; });
  }
  return parts;
}

/// What multiplies a row, or says that its squares have left f32 and the row must be computed in f64.
template <typename Acc>
struct RmsFactor {
  Acc factor;
  bool leaves_f32;

  __device__ __forceinline__ RmsFactor(Acc mean_square, const NormEpsilon& epsilon)
      : factor(InverseRoot(mean_square + epsilon.As<Acc>())),
        leaves_f32(std::is_same_v<Acc, float> && MeanSquareLeavesF32(mean_square, epsilon.As<Acc>())) {}
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_SQUARES_CUH_

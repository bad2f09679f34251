// The squares of a row of rms_norm, and what multiplies the row.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_SQUARES_CUH_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_SQUARES_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// This thread's part of the sum of squares: for each stretch, in four chains.
template <typename Acc, typename Held>
__device__ __forceinline__ RowParts<Acc, Held::kStretches> SumOfSquares(const Held& held) {
  RowParts<Acc, Held::kStretches> parts;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    Acc sums[4] = {};
    ForEachElement<Acc>(held, s, [&](int i, Acc value) { sums[i % 4] = fma(value, value, sums[i % 4]); });
    parts.of_stretch[s] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  return parts;
}

/// The sum of a row's squares, of which a RowMean makes their mean. Results of FP32 rows would show its rounding, in
/// all of a row alike.
template <typename T, typename Group, typename Acc, int kStretches>
__device__ __forceinline__ auto TotalOfSquares(Group& group, const RowParts<Acc, kStretches>& parts) {
  if constexpr (std::is_same_v<T, float> && std::is_same_v<Acc, float>) {
    return PreciseRowSum(group, parts);
  } else {
    return RowSum(group, parts);
  }
}

/// What multiplies a row of T, or says that its squares have left f32 and the row must be computed in f64.
template <typename T, typename Acc>
struct RmsFactor {
  RowFactor<T, Acc> factor;
  bool leaves_f32;

  __device__ __forceinline__ RmsFactor(Acc mean_square, const NormEpsilon& epsilon)
      : factor(InverseRootFor<T>(mean_square + epsilon.As<Acc>())),
        leaves_f32(std::is_same_v<Acc, float> && MeanSquareLeavesF32(mean_square, epsilon.As<Acc>())) {}
};

/// Elements of a row, and what becomes of them: (x * factor) * weight.
template <typename Acc, int kLength, typename Factor>
__device__ __forceinline__ void Scale(const Factor& factor, const Acc (&weights)[kLength], Acc (&values)[kLength]) {
#pragma unroll
  for (int j = 0; j < kLength; ++j) {
    values[j] = Times(values[j], factor) * weights[j];
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_SQUARES_CUH_

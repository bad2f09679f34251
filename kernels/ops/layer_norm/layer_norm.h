// What the plan of layer_norm settles, and its host and CUDA paths read. Light: device code includes it.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_H_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_H_

#include "kernels/core/dtype.h"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/row_parameter.h"

namespace kernelwire {

/// The width is 0 where statistics of empty rows are asked for; they are NaN.
using LayerNormParams = NormParams;

/// Segment::inputs of layer_norm.
inline constexpr int kLayerNormX = 0;
inline constexpr int kLayerNormWeightInput = 1;
inline constexpr int kLayerNormBiasInput = 2;

/// Segment::outputs of layer_norm. Each may be null: not asked for. The last two have one element a row, of
/// LayerNormStatisticsType.
inline constexpr int kLayerNormY = 0;
inline constexpr int kLayerNormMean = 1;
inline constexpr int kLayerNormInvStdDev = 2;  // 1 / sqrt(variance + epsilon)

KERNELWIRE_HOST_DEVICE constexpr DataType LayerNormStatisticsType(DataType x_type) {
  return x_type == DataType::kFp64 ? DataType::kFp64 : DataType::kFp32;
}

/// Whether moments found in f32 must not be believed, and the row is computed again in f64: sums have overflowed, or
/// the squares have underflowed where epsilon does not hide it. True for NaN too, which two overflows of unlike sign
/// give as well.
template <typename Acc>
KERNELWIRE_HOST_DEVICE constexpr bool MomentsLeaveF32(Acc mean, Acc variance, Acc epsilon) {
  constexpr Acc kMost(3.4e38F);
  const bool in_range = mean >= -kMost && mean <= kMost && variance <= kMost;
  return !in_range || (variance < Acc(0x1p-100F) && epsilon < Acc(0x1p-80F));
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_H_

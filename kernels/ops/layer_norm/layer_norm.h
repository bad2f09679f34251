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

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_H_

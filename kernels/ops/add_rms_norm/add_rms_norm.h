// What the plan of add_rms_norm settles, and its host and CUDA paths read. Light: device code includes it.
#ifndef KERNELWIRE_KERNELS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_H_
#define KERNELWIRE_KERNELS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_H_

#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/primitives/row_parameter.h"

namespace kernelwire {

/// Those of rms_norm, of which the sum is the x: a, b and residual have x_type. Strides of rows are in row_parameter.h,
/// that of a as x's.
using AddRmsNormParams = RmsNormParams;

/// Segment::inputs of add_rms_norm.
inline constexpr int kAddRmsNormA = 0;
inline constexpr int kAddRmsNormB = 1;
inline constexpr int kAddRmsNormWeightInput = 2;

/// Segment::outputs of add_rms_norm. Either may be null: not asked for. A library caller may place y or residual where
/// a or b lies.
inline constexpr int kAddRmsNormY = 0;
inline constexpr int kAddRmsNormResidual = 1;

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_H_

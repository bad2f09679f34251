// What the plan of rms_norm settles, and its host and CUDA paths read. Light: device code includes it.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_H_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_H_

#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/segment_lookup.h"

namespace kernelwire {

using RmsNormParams = NormParams;

/// Segment::inputs of rms_norm.
inline constexpr int kRmsNormX = 0;
inline constexpr int kRmsNormWeightInput = 1;

/// Where a sum of squares in f32 has overflowed, or epsilon takes the mean beyond f32, or the squares have lost their
/// low bits to underflow and epsilon does not hide it: such a row is computed again in f64. False for NaN, which no
/// precision cures.
template <typename Acc>
KERNELWIRE_HOST_DEVICE constexpr bool MeanSquareLeavesF32(Acc mean_square, Acc epsilon) {
  return mean_square + epsilon > Acc(3.4e38F) || (mean_square < Acc(0x1p-100F) && epsilon < Acc(0x1p-80F));
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_H_

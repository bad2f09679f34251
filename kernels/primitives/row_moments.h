// When mean and variance of a row leave f32. Host and device.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_H_

#include "kernels/primitives/segment_lookup.h"

namespace kernelwire {

/// Whether moments found in f32 must not be believed, and the row is computed again in f64: sums have overflowed, or
/// epsilon takes the variance beyond f32, or the squares have underflowed where epsilon does not hide it. True for NaN
/// too, which two overflows of unlike sign give as well.
template <typename Acc>
KERNELWIRE_HOST_DEVICE constexpr bool MomentsLeaveF32(Acc mean, Acc variance, Acc epsilon) {
  constexpr Acc kMost(3.4e38F);
  const bool in_range = mean >= -kMost && mean <= kMost && variance + epsilon <= kMost;
  return !in_range || (variance < Acc(0x1p-100F) && epsilon < Acc(0x1p-80F));
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_H_

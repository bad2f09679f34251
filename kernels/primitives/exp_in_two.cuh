// Exponentials of more digits than a float has.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_EXP_IN_TWO_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_EXP_IN_TWO_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {

/// exp(x), to 2^-26 of it and 2^-30 in the mean. Requires: |x| <= 80.
///
/// x less the nearest multiple of ln 2 comes in two parts, of which the first is exact (W. J. Cody and W. Waite,
/// "Software Manual for the Elementary Functions", 1980); the polynomial behind its exponential's first two terms is
/// the one whose largest error is least.
__device__ __forceinline__ TwoParts<float> ExpInTwo(float x) {
  constexpr float kRoundsToInteger = 12582912.0F;  // 1.5 * 2^23: a float this large has no fraction
  constexpr float kLn2 = 0.693145751953125F;       // of 15 bits: a product with an exponent of two is exact
  constexpr float kLn2Rest = 1.42860677E-6F;
  const float shifted = __fmaf_rn(x, 1.44269504F, kRoundsToInteger);
  const float power = __fsub_rn(shifted, kRoundsToInteger);
  const float exact = __fmaf_rn(power, -kLn2, x);
  const float left = __fmaf_rn(power, -kLn2Rest, exact);
  const float left_rest = __fmaf_rn(power, -kLn2Rest, __fsub_rn(exact, left));
  float tail = __fmaf_rn(left, 1.97900605E-4F, 1.39449432E-3F);
  tail = __fmaf_rn(tail, left, 8.33349861E-3F);
  tail = __fmaf_rn(tail, left, 4.16662917E-2F);
  tail = __fmaf_rn(tail, left, 0.166666657F);
  tail = __fmaf_rn(tail, left, 0.5F);
  const TwoParts<float> beyond_one = SumOfLargeInTwo(left, __fmaf_rn(__fmul_rn(left, left), tail, left_rest));
  const TwoParts<float> sum = SumOfLargeInTwo(1.0F, beyond_one.value);
  const float scale = __int_as_float((__float_as_int(shifted) - __float_as_int(kRoundsToInteger) + 127) << 23);
  return {__fmul_rn(sum.value, scale), __fmul_rn(__fadd_rn(sum.rest, beyond_one.rest), scale)};
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_EXP_IN_TWO_CUH_

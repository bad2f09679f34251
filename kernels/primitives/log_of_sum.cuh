// The logarithm of a sum of exponentials, for results that are rounded to FP32 or fewer bits.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_LOG_OF_SUM_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_LOG_OF_SUM_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/minus_infinity.h"
#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {

/// A number as 2^exponent * mantissa, the mantissa in [sqrt(1/2), sqrt(2)). Of a number that f32 holds both
/// constructors make the same. Requires: a normal number above 0; of any other the two are any.
template <typename Real>
struct SplitNumber {
  int exponent;
  Real mantissa;

  __device__ __forceinline__ explicit SplitNumber(Real number) {
    constexpr int kHighOfRootOfHalf = 0x3FE6A09E;  // of sqrt(1/2) in f64, the upper 32 bits
    constexpr int kRootOfHalf = 0x3F000000 | (kHighOfRootOfHalf & 0xFFFFF) << 3;  // the same number in f32
    if constexpr (std::is_same_v<Real, double>) {
      const int high = __double2hiint(number);
      exponent = (high - kHighOfRootOfHalf) >> 20;
      mantissa = __hiloint2double(high - (exponent << 20), __double2loint(number));
    } else {
      const int bits = __float_as_int(number);
      exponent = (bits - kRootOfHalf) >> 23;
      mantissa = __int_as_float(bits - (exponent << 23));
    }
  }
};

/// log(1 + x) for x in [sqrt(1/2) - 1, sqrt(2) - 1], within 2^-25 and within 2^-23 of itself: x + x^2 * p(x), p fitted
/// to the smallest largest error relative to x.
__device__ __forceinline__ float LogNearOne(float x) {
  constexpr float kCoefficients[] = {-0.0782337F, 0.13004841F,  -0.13208802F, 0.14163469F, -0.1661115F,
                                     0.20003016F, -0.25001523F, 0.33333308F,  -0.49999988F};
  float p = kCoefficients[0];
#pragma unroll
  for (int i = 1; i < 9; ++i) {
    p = fmaf(p, x, kCoefficients[i]);
  }
  return fmaf(x * x, p, x);
}

/// The logarithm of a number, within 2^-25.
template <typename Real>
__device__ __forceinline__ TwoParts<float> LogInTwo(const SplitNumber<Real>& split) {
  constexpr float kLog2High = 0.693115234375F;  // 12 bits: its product with an exponent is exact
  constexpr float kLog2Low = 3.1946183e-5F;
  const auto exponent = static_cast<float>(split.exponent);
  return {__fmul_rn(exponent, kLog2High), fmaf(exponent, kLog2Low, LogNearOne(static_cast<float>(split.mantissa - 1)))};
}

/// log(sum) + offset, rounded to f32: within half a unit of its last place and 2^-24, or, where `kShort`, which takes
/// half as many steps, within one and 2^-22. -infinity and infinity for a sum of 0 and of infinity, whatever the
/// offset; NaN for NaN. All in f32 but for the first step: an f64 logarithm takes some forty in f64, for which rows of
/// few elements would wait. A sum that f32 holds gives the same bits as f32 and as f64. Requires: a sum of 0, a normal
/// number above it, infinity or NaN; a finite offset.
template <bool kShort, typename Sum>
__device__ __forceinline__ float LogOfSum(Sum sum, float offset) {
  const SplitNumber<Sum> split(sum);
  float result;
  if constexpr (kShort) {
    const auto exponent = static_cast<float>(split.exponent);
    float power;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(static_cast<float>(split.mantissa)));
    constexpr float kLog2 = 0.69314718F;
    result = fmaf(exponent, kLog2, power * kLog2) + offset;
  } else {
    const TwoParts<float> log = LogInTwo(split);
    const TwoParts<float> total = SumInTwo(offset, log.value);
    result = total.value + (total.rest + log.rest);
  }
  const auto special = sum == 0 ? kMinusInfinity<float> : static_cast<float>(sum);
  return sum > 0 && isfinite(sum) ? result : special;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_LOG_OF_SUM_CUH_

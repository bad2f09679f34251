// Numbers of more digits than their type has: a number of it and what that lacks.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_TWO_PARTS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_TWO_PARTS_CUH_

#include <cuda_runtime.h>

namespace kernelwire {

/// value + rest, where `rest` is small beside `value`.
template <typename Real>
struct TwoParts {
  Real value;
  Real rest;
};

/// a + b, exactly: the rounded sum, and what rounding took. Of an infinite sum the rest is NaN. Source: D. E. Knuth,
/// "The Art of Computer Programming", volume 2, 4.2.2.
__device__ __forceinline__ TwoParts<float> SumInTwo(float a, float b) {
  const float sum = __fadd_rn(a, b);
  const float moved = __fsub_rn(sum, a);
  return {sum, __fadd_rn(__fsub_rn(a, __fsub_rn(sum, moved)), __fsub_rn(b, moved))};
}

/// The same in half as many steps where `large` is not smaller than `small`; else the rest may be off by half a unit of
/// the last place of `small`. Source: T. J. Dekker, "A floating-point technique for extending the available precision",
/// 1971.
__device__ __forceinline__ TwoParts<float> SumOfLargeInTwo(float large, float small) {
  const float sum = __fadd_rn(large, small);
  return {sum, __fsub_rn(small, __fsub_rn(sum, large))};
}

/// a * b, to the digits of both parts.
__device__ __forceinline__ TwoParts<float> ProductInTwo(const TwoParts<float>& a, const TwoParts<float>& b) {
  const float product = __fmul_rn(a.value, b.value);
  const float lost = __fmaf_rn(a.value, b.value, -product);
  return {product, __fmaf_rn(a.rest, b.value, __fmaf_rn(a.value, b.rest, lost))};
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_TWO_PARTS_CUH_

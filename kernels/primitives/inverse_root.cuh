// Arithmetic of the norms.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_INVERSE_ROOT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_INVERSE_ROOT_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace kernelwire {

/// 1 / sqrt(x) within an ulp: the approximation, and one step of Newton's method where that is finite.
__device__ __forceinline__ float InverseRoot(float x) {
  const float root = rsqrtf(x);
  const float error = fmaf(-x * root, root, 1.0F);
  return isfinite(root) && root != 0.0F ? fmaf(0.5F * root, error, root) : root;
}

__device__ __forceinline__ double InverseRoot(double x) { return 1.0 / sqrt(x); }

/// A power of two within a factor of 2 of sqrt(x); some number for an x that is not positive and finite.
__device__ __forceinline__ float PowerNearRoot(float x) {
  constexpr int kHalfOfBias = 0x1FC00000;  // of the exponent, with its lowest bit where halving moves it
  return __int_as_float(((__float_as_int(x) >> 1) + kHalfOfBias) & 0x7F800000);
}

/// A factor in two parts: `rest` is what `value` lacks, never less than nothing; 0 where that is no finite number.
struct TwoPartFactor {
  float value;
  float rest;

  __device__ __forceinline__ explicit operator float() const { return value + rest; }
};

/// 1 / sqrt(x), to some 2^-40 of it: the approximation, and the step of Newton's method that is left to add. The first
/// part is lowered by more than the approximation may be too large (2 ulp), so that the rest has its sign, and a
/// product with -0 stays -0.
__device__ __forceinline__ TwoPartFactor InverseRootInTwo(float x) {
  constexpr int kLowered = 4;  // ulp
  const float root = rsqrtf(x);
  const float product = x * root;
  const float lost = fmaf(x, root, -product);
  const float error = fmaf(-lost, root, fmaf(-product, root, 1.0F));
  const bool is_plain = isfinite(root) && root != 0.0F;
  const float value = is_plain ? __int_as_float(__float_as_int(root) - kLowered) : root;
  return {value, is_plain ? fmaf(0.5F * root, error, root - value) : 0.0F};
}

/// What rows of T are multiplied by. Results of FP32 rows would show the rounding of their row's factor, in each of
/// them alike; of 16 bits they do not, and f64's need not.
template <typename T, typename Acc>
using RowFactor = std::conditional_t<std::is_same_v<T, float> && std::is_same_v<Acc, float>, TwoPartFactor, Acc>;

/// 1 / sqrt(x) as a factor of rows of T.
template <typename T, typename Acc>
__device__ __forceinline__ RowFactor<T, Acc> InverseRootFor(Acc x) {
  if constexpr (std::is_same_v<RowFactor<T, Acc>, Acc>) {
    return InverseRoot(x);
  } else {
    return InverseRootInTwo(x);
  }
}

/// x * factor, rounded once.
template <typename Acc>
__device__ __forceinline__ Acc Times(Acc x, Acc factor) {
  return x * factor;
}
__device__ __forceinline__ float Times(float x, const TwoPartFactor& factor) {
  return fmaf(x, factor.value, x * factor.rest);
}

/// x * factor + addend, where the addend is small beside the product or 0.
template <typename Acc>
__device__ __forceinline__ Acc TimesPlus(Acc x, Acc factor, Acc addend) {
  return fma(x, factor, addend);
}
__device__ __forceinline__ float TimesPlus(float x, const TwoPartFactor& factor, float addend) {
  return fmaf(x, factor.value, fmaf(x, factor.rest, addend));
}

/// 1 / count, to the last bit or the one before: from f32's, in two steps of Newton's, where the division of f64 takes
/// a hundred instructions. Requires: count > 0.
__device__ __forceinline__ double ReciprocalOfCount(std::int64_t count) {
  const auto value = static_cast<double>(count);
  auto inverse = static_cast<double>(1.0F / static_cast<float>(count));
  inverse = fma(fma(-value, inverse, 1.0), inverse, inverse);
  return fma(fma(-value, inverse, 1.0), inverse, inverse);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_INVERSE_ROOT_CUH_

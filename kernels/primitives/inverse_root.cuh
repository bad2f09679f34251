// Arithmetic of the norms.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_INVERSE_ROOT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_INVERSE_ROOT_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace kernelwire {

/// a * b, rounded before anything is added. Elsewhere the compiler decides, kernel by kernel, whether a product and a
/// sum become one operation: here each kernel that may serve a row has to give the same bits.
__device__ __forceinline__ float RoundedProduct(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double RoundedProduct(double a, double b) { return __dmul_rn(a, b); }

/// 1 / sqrt(x) within an ulp: the approximation, and one step of Newton's method where that is finite.
__device__ __forceinline__ float InverseRoot(float x) {
  const float root = rsqrtf(x);
  const float error = fmaf(-x * root, root, 1.0F);
  return isfinite(root) && root != 0.0F ? fmaf(0.5F * root, error, root) : root;
}

__device__ __forceinline__ double InverseRoot(double x) { return 1.0 / sqrt(x); }

/// A factor in two parts: `rest` is what `value` lacks, 0 where that is no finite number.
struct TwoPartFactor {
  float value;
  float rest;

  __device__ __forceinline__ explicit operator float() const { return value + rest; }
};

/// 1 / sqrt(x), to some 2^-40 of it if x is between 2^-90 and 2^90: the approximation, and the step of Newton's method
/// that is left to add.
__device__ __forceinline__ TwoPartFactor InverseRootInTwo(float x) {
  const float root = rsqrtf(x);
  const float square = root * root;
  const float lost = fmaf(root, root, -square);
  const float error = fmaf(-x, lost, fmaf(-x, square, 1.0F));
  return {root, isfinite(root) && root != 0.0F ? 0.5F * root * error : 0.0F};
}

/// What rows of T are multiplied by. FP32 results would show the rounding of their row's factor, in each of them alike;
/// of 16 bits they do not, and f64's need not.
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

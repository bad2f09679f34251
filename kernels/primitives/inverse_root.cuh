// Arithmetic of the norms.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_INVERSE_ROOT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_INVERSE_ROOT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

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

// Products that nothing is fused with.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROUNDED_PRODUCT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROUNDED_PRODUCT_CUH_

#include <cuda_runtime.h>

namespace kernelwire {

/// a * b, rounded before anything is added. Elsewhere the compiler decides, kernel by kernel, whether a product and a
/// sum become one operation: here each kernel that may serve a row has to give the same bits.
__device__ __forceinline__ float RoundedProduct(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double RoundedProduct(double a, double b) { return __dmul_rn(a, b); }

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROUNDED_PRODUCT_CUH_

// Reading numbers of the three floating-point types that boxes and scores come in.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_LOAD_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_LOAD_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/core/dtype.h"

namespace kernelwire::box {

__device__ inline float ToFloat(float value) { return value; }
__device__ inline float ToFloat(__half value) { return __half2float(value); }
__device__ inline float ToFloat(__nv_bfloat16 value) { return __bfloat162float(value); }

__device__ inline float LoadFloat(DataType dtype, const void* data, std::int64_t i) {
  switch (dtype) {
    case DataType::kFp16:
      return ToFloat(static_cast<const __half*>(data)[i]);
    case DataType::kBf16:
      return ToFloat(static_cast<const __nv_bfloat16*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_LOAD_CUH_

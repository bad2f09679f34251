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

/// Number i of an input. Without a branch around the load and what is done with it, so that loads in a row are under
/// way together.
__device__ inline float LoadFloat(DataType dtype, const void* data, std::int64_t i) {
  const bool is_wide = dtype == DataType::kFp32;
  const std::uint32_t bits =
      is_wide ? __ldg(static_cast<const std::uint32_t*>(data) + i) : __ldg(static_cast<const std::uint16_t*>(data) + i);
  const float of_16_bits = dtype == DataType::kFp16 ? __half2float(__ushort_as_half(static_cast<std::uint16_t>(bits)))
                                                    : __uint_as_float(bits << 16);
  return is_wide ? __uint_as_float(bits) : of_16_bits;
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_LOAD_CUH_

// L2_norm by type, and the choice among them. The kernels compile in files of their own.
#ifndef KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_CUDA_CUH_
#define KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_CUDA_CUH_

#include <type_traits>

#include "kernels/ops/l2_norm/l2_norm_kernel.cuh"

namespace kernelwire {

template <typename T>
cudaError_t LaunchNormOf(const Launch& launch, cudaStream_t stream) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 1) {
    return LaunchReduction(launch, ByteSquareSum<T>{}, stream);
  } else {
    const auto params = launch.plan->Params<ReduceParams>();
    if constexpr (std::is_same_v<T, __half> || kIsFp8<T>) {
      if (params.accumulator == DataType::kFp32) {
        return LaunchReduction(launch, NarrowSquareSum<T>{}, stream);
      }
    }
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, __nv_bfloat16>) {
      if (ScaledSquareSum<T>::Takes(params)) {
        return LaunchReduction(launch, ScaledSquareSum<T>{}, stream);
      }
    }
    return LaunchReduction(launch, SquareSum<T>{params.accumulator}, stream);
  }
}

extern template cudaError_t LaunchNormOf<__half>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchNormOf<__nv_bfloat16>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchNormOf<float>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchNormOf<double>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchNormOf<__nv_fp8_e4m3>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchNormOf<__nv_fp8_e5m2>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchNormOf<std::int8_t>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchNormOf<std::uint8_t>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchNormOf<std::int32_t>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchNormOf<std::int64_t>(const Launch&, cudaStream_t);

/// The launch of l2_norm. Errors: those of the launch.
inline cudaError_t LaunchNorms(const Launch& launch, cudaStream_t stream) {
  return WithReducibleType(launch.plan->Params<ReduceParams>().x_type,
                           [&](auto tag) { return LaunchNormOf<typename decltype(tag)::Type>(launch, stream); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_CUDA_CUH_

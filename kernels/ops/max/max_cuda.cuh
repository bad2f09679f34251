// Max and min by type, and the choice among them. The kernels compile in files of their own.
#ifndef KERNELWIRE_KERNELS_OPS_MAX_MAX_CUDA_CUH_
#define KERNELWIRE_KERNELS_OPS_MAX_MAX_CUDA_CUH_

#include "kernels/ops/max/max_kernel.cuh"

namespace kernelwire {

template <typename T>
cudaError_t LaunchExtremumOf(const Launch& launch, bool smallest, cudaStream_t stream) {
  return LaunchReduction(launch, Extremum<T>{{smallest}}, stream);
}

extern template cudaError_t LaunchExtremumOf<__half>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchExtremumOf<__nv_bfloat16>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchExtremumOf<float>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchExtremumOf<double>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchExtremumOf<__nv_fp8_e4m3>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchExtremumOf<__nv_fp8_e5m2>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchExtremumOf<std::int8_t>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchExtremumOf<std::uint8_t>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchExtremumOf<std::int32_t>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchExtremumOf<std::int64_t>(const Launch&, bool, cudaStream_t);

/// The launch of max and min. Errors: those of the launch.
inline cudaError_t LaunchExtrema(const Launch& launch, bool smallest, cudaStream_t stream) {
  return WithReducibleType(launch.plan->Params<ReduceParams>().x_type, [&](auto tag) {
    return LaunchExtremumOf<typename decltype(tag)::Type>(launch, smallest, stream);
  });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_MAX_MAX_CUDA_CUH_

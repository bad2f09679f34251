// Prod by type, and the choice among them. The kernels compile in files of their own.
#ifndef KERNELWIRE_KERNELS_OPS_PROD_PROD_CUDA_CUH_
#define KERNELWIRE_KERNELS_OPS_PROD_PROD_CUDA_CUH_

#include "kernels/ops/prod/prod_kernel.cuh"

namespace kernelwire {

template <typename T>
cudaError_t LaunchProductOf(const Launch& launch, cudaStream_t stream) {
  if constexpr (std::is_integral_v<T>) {
    return LaunchReduction(launch, IntegerProduct<T>{}, stream);
  } else {
    return LaunchReduction(launch, FloatProduct<T>{launch.plan->Params<ReduceParams>().accumulator}, stream);
  }
}

extern template cudaError_t LaunchProductOf<__half>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchProductOf<__nv_bfloat16>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchProductOf<float>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchProductOf<double>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchProductOf<__nv_fp8_e4m3>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchProductOf<__nv_fp8_e5m2>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchProductOf<std::int8_t>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchProductOf<std::uint8_t>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchProductOf<std::int32_t>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchProductOf<std::int64_t>(const Launch&, cudaStream_t);

/// The launch of prod. Errors: those of the launch.
inline cudaError_t LaunchProducts(const Launch& launch, cudaStream_t stream) {
  return WithReducibleType(launch.plan->Params<ReduceParams>().x_type,
                           [&](auto tag) { return LaunchProductOf<typename decltype(tag)::Type>(launch, stream); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_PROD_PROD_CUDA_CUH_

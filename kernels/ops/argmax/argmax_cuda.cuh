// Argmax and argmin by type, and the choice among them. The kernels compile in files of their own.
#ifndef KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_CUDA_CUH_
#define KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_CUDA_CUH_

#include "kernels/ops/argmax/argmax_kernel.cuh"

namespace kernelwire {

template <typename T>
cudaError_t LaunchPlaceOf(const Launch& launch, bool smallest, cudaStream_t stream) {
  return LaunchReduction(launch, Place<T>{{smallest}}, stream);
}

extern template cudaError_t LaunchPlaceOf<__half>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchPlaceOf<__nv_bfloat16>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchPlaceOf<float>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchPlaceOf<double>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchPlaceOf<__nv_fp8_e4m3>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchPlaceOf<__nv_fp8_e5m2>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchPlaceOf<std::int8_t>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchPlaceOf<std::uint8_t>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchPlaceOf<std::int32_t>(const Launch&, bool, cudaStream_t);
extern template cudaError_t LaunchPlaceOf<std::int64_t>(const Launch&, bool, cudaStream_t);

/// The launch of argmax and argmin. Errors: those of the launch.
inline cudaError_t LaunchPlaces(const Launch& launch, bool smallest, cudaStream_t stream) {
  return WithReducibleType(launch.plan->Params<ReduceParams>().x_type, [&](auto tag) {
    return LaunchPlaceOf<typename decltype(tag)::Type>(launch, smallest, stream);
  });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_CUDA_CUH_

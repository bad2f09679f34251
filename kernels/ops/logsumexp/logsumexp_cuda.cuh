// Logsumexp by type, and the choice among them. The kernels compile in files of their own.
#ifndef KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_CUDA_CUH_
#define KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_CUDA_CUH_

#include "kernels/ops/logsumexp/logsumexp_integers.cuh"
#include "kernels/ops/logsumexp/logsumexp_kernel.cuh"

namespace kernelwire {

template <typename T>
cudaError_t LaunchLogSumExpOf(const Launch& launch, cudaStream_t stream) {
  const DataType accumulator = launch.plan->Params<ReduceParams>().accumulator;
  if constexpr (std::is_integral_v<T>) {
    return LaunchReduction(launch, IntegerLogSumExp<T>{accumulator}, stream);
  } else {
    if constexpr (!std::is_same_v<T, double>) {
      if (accumulator == DataType::kFp32) {
        return LaunchReduction(launch, LogSumExp<T, float>{accumulator}, stream);
      }
    }
    return LaunchReduction(launch, LogSumExp<T, double>{accumulator}, stream);
  }
}

extern template cudaError_t LaunchLogSumExpOf<__half>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchLogSumExpOf<__nv_bfloat16>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchLogSumExpOf<float>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchLogSumExpOf<double>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchLogSumExpOf<__nv_fp8_e4m3>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchLogSumExpOf<__nv_fp8_e5m2>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchLogSumExpOf<std::int8_t>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchLogSumExpOf<std::uint8_t>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchLogSumExpOf<std::int32_t>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchLogSumExpOf<std::int64_t>(const Launch&, cudaStream_t);

/// The launch of logsumexp. Errors: those of the launch.
inline cudaError_t LaunchLogSumExps(const Launch& launch, cudaStream_t stream) {
  return WithReducibleType(launch.plan->Params<ReduceParams>().x_type,
                           [&](auto tag) { return LaunchLogSumExpOf<typename decltype(tag)::Type>(launch, stream); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_CUDA_CUH_

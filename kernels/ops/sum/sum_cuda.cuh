// Sums by type, and the choice among them. Each type's kernels compile in a file of their own.
#ifndef KERNELWIRE_KERNELS_OPS_SUM_SUM_CUDA_CUH_
#define KERNELWIRE_KERNELS_OPS_SUM_SUM_CUDA_CUH_

#include "kernels/ops/sum/sum_kernel.cuh"

namespace kernelwire {

/// The sum of elements of T, in the accumulator that T has by default or in the one that was asked for.
template <typename T>
cudaError_t LaunchSumOf(const Launch& launch, const SumFinish& finish, cudaStream_t stream) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (sizeof(T) == 4) {
      if (LayOutReduction(launch.plan->Params<ReduceParams>()).width > kMostInLongLong<T>) {
        return LaunchReduction(launch, IntegerSum<T, WideInteger>{finish}, stream);
      }
    }
    return LaunchReduction(launch, IntegerSum<T>{finish}, stream);
  } else {
    if constexpr (!std::is_same_v<T, double>) {
      const DataType accumulator = launch.plan->Params<ReduceParams>().accumulator;
      if (accumulator != DataType::kFp32) {
        return LaunchReduction(launch, NamedSum<T>{finish, accumulator}, stream);
      }
    }
    return LaunchReduction(launch, FloatSum<T>{finish}, stream);
  }
}

extern template cudaError_t LaunchSumOf<__half>(const Launch&, const SumFinish&, cudaStream_t);
extern template cudaError_t LaunchSumOf<__nv_bfloat16>(const Launch&, const SumFinish&, cudaStream_t);
extern template cudaError_t LaunchSumOf<float>(const Launch&, const SumFinish&, cudaStream_t);
extern template cudaError_t LaunchSumOf<double>(const Launch&, const SumFinish&, cudaStream_t);
extern template cudaError_t LaunchSumOf<__nv_fp8_e4m3>(const Launch&, const SumFinish&, cudaStream_t);
extern template cudaError_t LaunchSumOf<__nv_fp8_e5m2>(const Launch&, const SumFinish&, cudaStream_t);
extern template cudaError_t LaunchSumOf<std::int8_t>(const Launch&, const SumFinish&, cudaStream_t);
extern template cudaError_t LaunchSumOf<std::uint8_t>(const Launch&, const SumFinish&, cudaStream_t);
extern template cudaError_t LaunchSumOf<std::int32_t>(const Launch&, const SumFinish&, cudaStream_t);
extern template cudaError_t LaunchSumOf<std::int64_t>(const Launch&, const SumFinish&, cudaStream_t);

/// The launch of sum and mean. Errors: those of the launch.
inline cudaError_t LaunchSums(const Launch& launch, const SumFinish& finish, cudaStream_t stream) {
  return WithReducibleType(launch.plan->Params<ReduceParams>().x_type,
                           [&](auto tag) { return LaunchSumOf<typename decltype(tag)::Type>(launch, finish, stream); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SUM_SUM_CUDA_CUH_

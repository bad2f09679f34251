// Dot products by type. The kernels compile in files of their own.
#ifndef KERNELWIRE_KERNELS_OPS_DOT_DOT_CUDA_CUH_
#define KERNELWIRE_KERNELS_OPS_DOT_DOT_CUDA_CUH_

#include "kernels/ops/dot/dot_kernel.cuh"

namespace kernelwire {

/// Dot products of a floating-point type, in the accumulator that it has by default or in the one that was asked for.
template <typename T>
cudaError_t LaunchDotOf(const Launch& launch, cudaStream_t stream) {
  if constexpr (!std::is_same_v<T, double>) {
    const DataType accumulator = launch.plan->Params<ReduceParams>().accumulator;
    if (accumulator != DataType::kFp32) {
      return LaunchReduction(launch, NamedDot<T>{accumulator}, stream);
    }
  }
  return LaunchReduction(launch, FloatDot<T>{}, stream);
}

extern template cudaError_t LaunchDotOf<__half>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchDotOf<__nv_bfloat16>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchDotOf<float>(const Launch&, cudaStream_t);
extern template cudaError_t LaunchDotOf<double>(const Launch&, cudaStream_t);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_DOT_DOT_CUDA_CUH_

// The launch of dot, and the kernels of FP16, BF16 and INT8.
#include "kernels/ops/dot/dot_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchDotOf<__half>(const Launch&, cudaStream_t);
template cudaError_t LaunchDotOf<__nv_bfloat16>(const Launch&, cudaStream_t);

int LaunchDotCuda(const Launch& launch, CUstream_st* stream) {
  const DataType type = launch.plan->Params<ReduceParams>().x_type;
  if (type == DataType::kInt8) {
    return LaunchReduction(launch, Int8Dot{}, stream);
  }
  return WithFloatType(type, [&](auto tag) { return LaunchDotOf<typename decltype(tag)::Type>(launch, stream); });
}

}  // namespace kernelwire

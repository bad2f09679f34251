// The kernels of logsumexp that read FP8 and integers.
#include "kernels/ops/logsumexp/logsumexp_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchLogSumExpOf<__nv_fp8_e4m3>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<__nv_fp8_e5m2>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<std::int8_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<std::uint8_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<std::int32_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<std::int64_t>(const Launch&, cudaStream_t);

}  // namespace kernelwire

// The kernels of logsumexp that read integers.
#include "kernels/ops/logsumexp/logsumexp_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchLogSumExpOf<std::int8_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<std::uint8_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<std::int32_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<std::int64_t>(const Launch&, cudaStream_t);

}  // namespace kernelwire

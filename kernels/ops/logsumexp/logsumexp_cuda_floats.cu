// The kernels of logsumexp that read FP16, BF16, FP32 and FP64.
#include "kernels/ops/logsumexp/logsumexp_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchLogSumExpOf<__half>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<__nv_bfloat16>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<float>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<double>(const Launch&, cudaStream_t);

}  // namespace kernelwire

// The kernels of logsumexp that read FP8.
#include "kernels/ops/logsumexp/logsumexp_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchLogSumExpOf<__nv_fp8_e4m3>(const Launch&, cudaStream_t);
template cudaError_t LaunchLogSumExpOf<__nv_fp8_e5m2>(const Launch&, cudaStream_t);

}  // namespace kernelwire

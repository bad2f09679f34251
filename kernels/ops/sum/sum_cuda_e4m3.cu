// The kernels of sum and mean that read FP8 E4M3.
#include "kernels/ops/sum/sum_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchSumOf<__nv_fp8_e4m3>(const Launch&, const SumFinish&, cudaStream_t);

}  // namespace kernelwire

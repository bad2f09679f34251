// The kernels of sum and mean that read FP8 E5M2.
#include "kernels/ops/sum/sum_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchSumOf<__nv_fp8_e5m2>(const Launch&, const SumFinish&, cudaStream_t);

}  // namespace kernelwire

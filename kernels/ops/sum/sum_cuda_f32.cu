// The kernels of sum and mean that read FP32.
#include "kernels/ops/sum/sum_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchSumOf<float>(const Launch&, const SumFinish&, cudaStream_t);

}  // namespace kernelwire

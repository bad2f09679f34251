// The kernels of sum and mean that read FP16.
#include "kernels/ops/sum/sum_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchSumOf<__half>(const Launch&, const SumFinish&, cudaStream_t);

}  // namespace kernelwire

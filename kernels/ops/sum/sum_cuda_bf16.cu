// The kernels of sum and mean that read BF16.
#include "kernels/ops/sum/sum_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchSumOf<__nv_bfloat16>(const Launch&, const SumFinish&, cudaStream_t);

}  // namespace kernelwire

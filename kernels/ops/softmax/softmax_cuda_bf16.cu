// The kernels of softmax that read BF16.
#include "kernels/ops/softmax/softmax_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchSoftmax<__nv_bfloat16>(DataType, const SoftmaxArguments&, cudaStream_t);

}  // namespace kernelwire

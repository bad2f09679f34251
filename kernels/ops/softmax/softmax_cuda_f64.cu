// The kernels of softmax that read FP64.
#include "kernels/ops/softmax/softmax_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchSoftmax<double>(DataType, const SoftmaxArguments&, cudaStream_t);

}  // namespace kernelwire

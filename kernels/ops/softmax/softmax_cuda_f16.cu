// The kernels of softmax that read FP16.
#include "kernels/ops/softmax/softmax_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchSoftmax<__half>(DataType, const SoftmaxArguments&, cudaStream_t);

}  // namespace kernelwire

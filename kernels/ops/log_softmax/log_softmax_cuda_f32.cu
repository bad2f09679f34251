// The kernels of log_softmax that read FP32.
#include "kernels/ops/log_softmax/log_softmax_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchSoftmaxRows<float, true>(DataType, RowAccess, const SoftmaxArguments&, cudaStream_t);

}  // namespace kernelwire

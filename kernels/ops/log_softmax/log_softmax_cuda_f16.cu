// The kernels of log_softmax that read FP16.
#include "kernels/ops/log_softmax/log_softmax_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchSoftmaxRows<__half, true>(DataType, RowAccess, const SoftmaxArguments&, cudaStream_t);

}  // namespace kernelwire

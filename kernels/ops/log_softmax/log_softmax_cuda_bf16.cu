// The kernels of log_softmax that read BF16.
#include "kernels/ops/log_softmax/log_softmax_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchSoftmaxRows<__nv_bfloat16, true>(DataType, RowAccess, const SoftmaxArguments&, cudaStream_t);

}  // namespace kernelwire

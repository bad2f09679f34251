// The kernels of softmax that read FP16.
#include "kernels/ops/softmax/softmax_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchSoftmaxRows<__half, false>(DataType, RowAccess, const SoftmaxArguments&, cudaStream_t);

}  // namespace kernelwire

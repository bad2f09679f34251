// The kernels of softmax that read BF16.
#include "kernels/ops/softmax/softmax_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchSoftmaxRows<__nv_bfloat16, false>(DataType, RowAccess, const SoftmaxArguments&,
                                                             cudaStream_t);

}  // namespace kernelwire

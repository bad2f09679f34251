// log_softmax on the device: the kernels of softmax, which differ in their last step.
#ifndef KERNELWIRE_KERNELS_OPS_LOG_SOFTMAX_LOG_SOFTMAX_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_LOG_SOFTMAX_LOG_SOFTMAX_KERNEL_CUH_

#include "kernels/ops/log_softmax/log_softmax.h"
#include "kernels/ops/softmax/softmax_kernel.cuh"

#endif  // KERNELWIRE_KERNELS_OPS_LOG_SOFTMAX_LOG_SOFTMAX_KERNEL_CUH_

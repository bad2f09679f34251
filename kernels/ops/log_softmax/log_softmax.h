// log_softmax shares its plan with softmax: its host and CUDA paths read SoftmaxParams. Light: device code includes it.
#ifndef KERNELWIRE_KERNELS_OPS_LOG_SOFTMAX_LOG_SOFTMAX_H_
#define KERNELWIRE_KERNELS_OPS_LOG_SOFTMAX_LOG_SOFTMAX_H_

#include "kernels/ops/softmax/softmax.h"

#endif  // KERNELWIRE_KERNELS_OPS_LOG_SOFTMAX_LOG_SOFTMAX_H_

// The launch of log_softmax: the rows of softmax, results as logarithms.
#include "kernels/ops/log_softmax/log_softmax_kernel.cuh"

namespace kernelwire {

int LaunchLogSoftmaxCuda(const Launch& launch, CUstream_st* stream) {
  return LaunchSoftmaxFamily<true>(launch, stream);
}

}  // namespace kernelwire

// The launch of softmax: its rows, results as probabilities.
#include "kernels/ops/softmax/softmax_kernel.cuh"

namespace kernelwire {

int LaunchSoftmaxCuda(const Launch& launch, CUstream_st* stream) { return LaunchSoftmaxFamily<false>(launch, stream); }

}  // namespace kernelwire

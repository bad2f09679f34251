// The launch of sum: from the plan to the kernels of its type.
#include "kernels/ops/sum/sum_cuda.cuh"

namespace kernelwire {

int LaunchSumCuda(const Launch& launch, CUstream_st* stream) { return LaunchSums(launch, SumFinish{}, stream); }

}  // namespace kernelwire

// The launch of mean: the kernels of sum, with a division at the end.
#include "kernels/ops/sum/sum_cuda.cuh"

namespace kernelwire {

int LaunchMeanCuda(const Launch& launch, CUstream_st* stream) { return LaunchSums(launch, MeanFinish(launch), stream); }

}  // namespace kernelwire

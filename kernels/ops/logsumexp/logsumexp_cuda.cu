// The launch of logsumexp.
#include "kernels/ops/logsumexp/logsumexp_cuda.cuh"

namespace kernelwire {

int LaunchLogsumexpCuda(const Launch& launch, CUstream_st* stream) { return LaunchLogSumExps(launch, stream); }

}  // namespace kernelwire

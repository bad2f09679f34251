// The launch of max.
#include "kernels/ops/max/max_cuda.cuh"

namespace kernelwire {

int LaunchMaxCuda(const Launch& launch, CUstream_st* stream) { return LaunchExtrema(launch, false, stream); }

}  // namespace kernelwire

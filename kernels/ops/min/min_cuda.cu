// The launch of min: the kernels of max.
#include "kernels/ops/max/max_cuda.cuh"

namespace kernelwire {

int LaunchMinCuda(const Launch& launch, CUstream_st* stream) { return LaunchExtrema(launch, true, stream); }

}  // namespace kernelwire

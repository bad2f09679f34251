// The launch of argmin: the kernels of argmax.
#include "kernels/ops/argmax/argmax_cuda.cuh"

namespace kernelwire {

int LaunchArgminCuda(const Launch& launch, CUstream_st* stream) { return LaunchPlaces(launch, true, stream); }

}  // namespace kernelwire

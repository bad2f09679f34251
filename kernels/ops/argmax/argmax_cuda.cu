// The launch of argmax.
#include "kernels/ops/argmax/argmax_cuda.cuh"

namespace kernelwire {

int LaunchArgmaxCuda(const Launch& launch, CUstream_st* stream) { return LaunchPlaces(launch, false, stream); }

}  // namespace kernelwire

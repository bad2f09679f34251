// The launch of l2_norm.
#include "kernels/ops/l2_norm/l2_norm_cuda.cuh"

namespace kernelwire {

int LaunchL2NormCuda(const Launch& launch, CUstream_st* stream) { return LaunchNorms(launch, stream); }

}  // namespace kernelwire

// The kernels of l2_norm that read integers.
#include "kernels/ops/l2_norm/l2_norm_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchNormOf<std::int8_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchNormOf<std::uint8_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchNormOf<std::int32_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchNormOf<std::int64_t>(const Launch&, cudaStream_t);

}  // namespace kernelwire

// The kernels of max and min that read integers.
#include "kernels/ops/max/max_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchExtremumOf<std::int8_t>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchExtremumOf<std::uint8_t>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchExtremumOf<std::int32_t>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchExtremumOf<std::int64_t>(const Launch&, bool, cudaStream_t);

}  // namespace kernelwire

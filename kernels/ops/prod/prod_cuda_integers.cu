// The kernels of prod that read integers.
#include "kernels/ops/prod/prod_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchProductOf<std::int8_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchProductOf<std::uint8_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchProductOf<std::int32_t>(const Launch&, cudaStream_t);
template cudaError_t LaunchProductOf<std::int64_t>(const Launch&, cudaStream_t);

}  // namespace kernelwire

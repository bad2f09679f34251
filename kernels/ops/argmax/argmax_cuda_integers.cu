// The kernels of argmax and argmin that read integers.
#include "kernels/ops/argmax/argmax_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchPlaceOf<std::int8_t>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchPlaceOf<std::uint8_t>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchPlaceOf<std::int32_t>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchPlaceOf<std::int64_t>(const Launch&, bool, cudaStream_t);

}  // namespace kernelwire

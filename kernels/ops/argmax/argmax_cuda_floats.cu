// The kernels of argmax and argmin that read FP16, BF16, FP32 and FP64.
#include "kernels/ops/argmax/argmax_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchPlaceOf<__half>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchPlaceOf<__nv_bfloat16>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchPlaceOf<float>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchPlaceOf<double>(const Launch&, bool, cudaStream_t);

}  // namespace kernelwire

// The kernels of max and min that read FP16, BF16, FP32 and FP64.
#include "kernels/ops/max/max_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchExtremumOf<__half>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchExtremumOf<__nv_bfloat16>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchExtremumOf<float>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchExtremumOf<double>(const Launch&, bool, cudaStream_t);

}  // namespace kernelwire

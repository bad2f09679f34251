// The kernels of max and min that read FP8.
#include "kernels/ops/max/max_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchExtremumOf<__nv_fp8_e4m3>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchExtremumOf<__nv_fp8_e5m2>(const Launch&, bool, cudaStream_t);

}  // namespace kernelwire

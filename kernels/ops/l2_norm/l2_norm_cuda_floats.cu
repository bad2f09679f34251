// The kernels of l2_norm that read FP16, BF16, FP32 and FP64.
#include "kernels/ops/l2_norm/l2_norm_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchNormOf<__half>(const Launch&, cudaStream_t);
template cudaError_t LaunchNormOf<__nv_bfloat16>(const Launch&, cudaStream_t);
template cudaError_t LaunchNormOf<float>(const Launch&, cudaStream_t);
template cudaError_t LaunchNormOf<double>(const Launch&, cudaStream_t);

}  // namespace kernelwire

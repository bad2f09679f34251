// The kernels of prod that read FP16, BF16, FP32 and FP64.
#include "kernels/ops/prod/prod_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchProductOf<__half>(const Launch&, cudaStream_t);
template cudaError_t LaunchProductOf<__nv_bfloat16>(const Launch&, cudaStream_t);
template cudaError_t LaunchProductOf<float>(const Launch&, cudaStream_t);
template cudaError_t LaunchProductOf<double>(const Launch&, cudaStream_t);

}  // namespace kernelwire

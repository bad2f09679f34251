// The kernels of l2_norm that read FP8.
#include "kernels/ops/l2_norm/l2_norm_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchNormOf<__nv_fp8_e4m3>(const Launch&, cudaStream_t);
template cudaError_t LaunchNormOf<__nv_fp8_e5m2>(const Launch&, cudaStream_t);

}  // namespace kernelwire

// The kernels of argmax and argmin that read FP8.
#include "kernels/ops/argmax/argmax_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchPlaceOf<__nv_fp8_e4m3>(const Launch&, bool, cudaStream_t);
template cudaError_t LaunchPlaceOf<__nv_fp8_e5m2>(const Launch&, bool, cudaStream_t);

}  // namespace kernelwire

// The kernels of dot that read FP32 and FP64.
#include "kernels/ops/dot/dot_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchDotOf<float>(const Launch&, cudaStream_t);
template cudaError_t LaunchDotOf<double>(const Launch&, cudaStream_t);

}  // namespace kernelwire

// The kernels of rms_norm that read FP16.
#include "kernels/ops/rms_norm/rms_norm_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchRmsNormRows<__half>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

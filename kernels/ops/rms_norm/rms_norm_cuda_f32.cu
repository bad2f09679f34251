// The kernels of rms_norm that read FP32.
#include "kernels/ops/rms_norm/rms_norm_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchRmsNormRows<float>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

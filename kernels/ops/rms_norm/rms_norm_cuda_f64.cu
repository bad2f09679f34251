// The kernels of rms_norm that read FP64.
#include "kernels/ops/rms_norm/rms_norm_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchRmsNormRows<double>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

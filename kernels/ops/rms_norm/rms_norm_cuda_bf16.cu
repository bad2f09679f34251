// The kernels of rms_norm that read BF16.
#include "kernels/ops/rms_norm/rms_norm_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchRmsNormRows<__nv_bfloat16>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

// The kernels of add_rms_norm that read BF16.
#include "kernels/ops/add_rms_norm/add_rms_norm_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchAddRmsNormRows<__nv_bfloat16>(DataType, RowAccess, const AddRmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

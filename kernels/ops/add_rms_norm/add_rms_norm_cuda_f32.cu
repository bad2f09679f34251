// The kernels of add_rms_norm that read FP32.
#include "kernels/ops/add_rms_norm/add_rms_norm_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchAddRmsNormRows<float>(DataType, RowAccess, const AddRmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

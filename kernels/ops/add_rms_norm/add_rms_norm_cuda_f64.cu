// The kernels of add_rms_norm that read FP64.
#include "kernels/ops/add_rms_norm/add_rms_norm_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchAddRmsNormRows<double>(DataType, RowAccess, const AddRmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

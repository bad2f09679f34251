// The kernels of layer_norm that read BF16.
#include "kernels/ops/layer_norm/layer_norm_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchLayerNormRows<__nv_bfloat16>(DataType, RowAccess, const LayerNormArguments&, cudaStream_t);

}  // namespace kernelwire

// The kernels of layer_norm that read FP32.
#include "kernels/ops/layer_norm/layer_norm_kernel.cuh"

namespace kernelwire {

template cudaError_t LaunchLayerNormRows<float>(DataType, RowAccess, const LayerNormArguments&, cudaStream_t);

}  // namespace kernelwire

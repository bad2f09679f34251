// The kernels of sum and mean that read INT8 and UINT8.
#include "kernels/ops/sum/sum_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchSumOf<std::int8_t>(const Launch&, const SumFinish&, cudaStream_t);
template cudaError_t LaunchSumOf<std::uint8_t>(const Launch&, const SumFinish&, cudaStream_t);

}  // namespace kernelwire

// The kernels of sum and mean that read INT32 and INT64.
#include "kernels/ops/sum/sum_cuda.cuh"

namespace kernelwire {

template cudaError_t LaunchSumOf<std::int32_t>(const Launch&, const SumFinish&, cudaStream_t);
template cudaError_t LaunchSumOf<std::int64_t>(const Launch&, const SumFinish&, cudaStream_t);

}  // namespace kernelwire

// The launch of softmax: from the plan to the kernels of its type.
#include "kernels/ops/softmax/softmax_kernel.cuh"

namespace kernelwire {

int LaunchSoftmaxCuda(const Launch& launch, CUstream_st* stream) {
  const auto params = launch.plan->Params<SoftmaxParams>();
  const SoftmaxArguments arguments{launch.device_segments, launch.segment_count, launch.total_rows,
                                   params.width,           params.inner,         params.algorithm};
  return WithFloatType(params.x_type, [&](auto tag) {
    return LaunchSoftmax<typename decltype(tag)::Type>(params.y_type, arguments, stream);
  });
}

}  // namespace kernelwire

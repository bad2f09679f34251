// The launch of rms_norm: from the plan to the kernels of its type.
#include "kernels/ops/rms_norm/rms_norm_kernel.cuh"

namespace kernelwire {

int LaunchRmsNormCuda(const Launch& launch, CUstream_st* stream) {
  const auto params = launch.plan->Params<RmsNormParams>();
  const RmsNormArguments arguments{launch.device_segments, launch.segment_count, launch.total_rows, params.width,
                                   params.epsilon};
  return WithFloatType(params.x_type, [&](auto tag) {
    return LaunchRmsNorm<typename decltype(tag)::Type>(params.y_type, arguments, stream);
  });
}

}  // namespace kernelwire

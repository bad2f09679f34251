// The launch of rms_norm: from the plan to the kernels of its type.
#include "kernels/ops/rms_norm/rms_norm_kernel.cuh"
#include "kernels/primitives/row_access.h"

namespace kernelwire {

int LaunchRmsNormCuda(const Launch& launch, CUstream_st* stream) {
  const auto params = launch.plan->Params<RmsNormParams>();
  static constexpr RowPlaces kPlaces{{{false, kRmsNormX, kRowStrideX}, {true, 0, kRowStrideY}},
                                     {{kRmsNormWeightInput, kRowWeight}}};
  const RmsNormArguments arguments{TableOf(launch),
                                   launch.tickets,
                                   launch.total_rows,
                                   params.width,
                                   NormEpsilon::Of(params.epsilon),
                                   WidthReciprocal::Of(params.width),
                                   EarlyReadsOf(launch, params.x_type, params.width, kPlaces),
                                   {}};
  const RowAccess access = AccessOf(launch, params.x_type, params.width, kPlaces);
  return WithFloatType(params.x_type, [&](auto tag) {
    return LaunchRmsNormRows<typename decltype(tag)::Type>(params.y_type, access, arguments, stream);
  });
}

}  // namespace kernelwire

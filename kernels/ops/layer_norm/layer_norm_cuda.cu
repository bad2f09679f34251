// The launch of layer_norm: from the plan to the kernels of its type.
#include "kernels/ops/layer_norm/layer_norm_kernel.cuh"
#include "kernels/primitives/row_access.h"

namespace kernelwire {

int LaunchLayerNormCuda(const Launch& launch, CUstream_st* stream) {
  const auto params = launch.plan->Params<LayerNormParams>();
  static constexpr RowPlaces kPlaces{{{false, kLayerNormX, kRowStrideX}, {true, kLayerNormY, kRowStrideY}},
                                     {{kLayerNormWeightInput, kRowWeight}, {kLayerNormBiasInput, kRowBias}},
                                     {kLayerNormMean, kLayerNormInvStdDev}};
  const LayerNormArguments arguments{TableOf(launch),
                                     launch.tickets,
                                     launch.total_rows,
                                     params.width,
                                     NormEpsilon::Of(params.epsilon),
                                     WidthReciprocal::Of(params.width),
                                     EarlyReadsOf(launch, params.x_type, params.width, kPlaces),
                                     {}};
  const RowAccess access = AccessOf(launch, params.x_type, params.width, kPlaces);
  return WithFloatType(params.x_type, [&](auto tag) {
    return LaunchLayerNormRows<typename decltype(tag)::Type>(params.y_type, access, arguments, stream);
  });
}

}  // namespace kernelwire

// The launch of add_rms_norm: from the plan to the kernels of its type.
#include "kernels/ops/add_rms_norm/add_rms_norm_kernel.cuh"
#include "kernels/primitives/row_access.h"

namespace kernelwire {

int LaunchAddRmsNormCuda(const Launch& launch, CUstream_st* stream) {
  const auto params = launch.plan->Params<AddRmsNormParams>();
  const AddRmsNormArguments arguments{TableOf(launch),
                                      launch.tickets,
                                      launch.total_rows,
                                      params.width,
                                      NormEpsilon::Of(params.epsilon),
                                      WidthReciprocal::Of(params.width),
                                      {}};
  const RowAccess access = AccessOf(launch, params.x_type, params.width,
                                    {{false, kAddRmsNormA, kRowStrideX},
                                     {false, kAddRmsNormB, kRowStrideB},
                                     {true, kAddRmsNormY, kRowStrideY},
                                     {true, kAddRmsNormResidual, kRowStrideResidual}},
                                    {{kAddRmsNormWeightInput, kRowWeight}});
  return WithFloatType(params.x_type, [&](auto tag) {
    return LaunchAddRmsNormRows<typename decltype(tag)::Type>(params.y_type, access, arguments, stream);
  });
}

}  // namespace kernelwire

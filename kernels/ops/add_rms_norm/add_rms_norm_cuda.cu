// The launch of add_rms_norm: from the plan to the kernels of its type.
#include "kernels/ops/add_rms_norm/add_rms_norm_kernel.cuh"
#include "kernels/primitives/row_access.h"

namespace kernelwire {
namespace {

/// As AccessOf says; misaligned rows have kernels where the summands and the sum begin alike (kAddsAsTheyLie).
RowAccess AccessOfSums(const Launch& launch, DataType dtype, std::int64_t width, const RowPlaces& places) {
  const RowAccess access = AccessOf(launch, dtype, width, places);
  const bool alike = access != RowAccess::kMisaligned ||
                     BeginAlike({launch.segments[0].inputs[kAddRmsNormA], launch.segments[0].inputs[kAddRmsNormB],
                                 launch.segments[0].outputs[kAddRmsNormResidual]});
  return alike ? access : RowAccess::kShifted;
}

}  // namespace

int LaunchAddRmsNormCuda(const Launch& launch, CUstream_st* stream) {
  const auto params = launch.plan->Params<AddRmsNormParams>();
  static constexpr RowPlaces kPlaces{{{false, kAddRmsNormA, kRowStrideX},
                                      {false, kAddRmsNormB, kRowStrideB},
                                      {true, kAddRmsNormY, kRowStrideY},
                                      {true, kAddRmsNormResidual, kRowStrideResidual}},
                                     {{kAddRmsNormWeightInput, kRowWeight}}};
  const AddRmsNormArguments arguments{TableOf(launch),
                                      launch.tickets,
                                      launch.total_rows,
                                      params.width,
                                      NormEpsilon::Of(params.epsilon),
                                      WidthReciprocal::Of(params.width),
                                      EarlyReadsOf(launch, params.x_type, params.width, kPlaces),
                                      {}};
  const RowAccess access = AccessOfSums(launch, params.x_type, params.width, kPlaces);
  return WithFloatType(params.x_type, [&](auto tag) {
    return LaunchAddRmsNormRows<typename decltype(tag)::Type>(params.y_type, access, arguments, stream);
  });
}

}  // namespace kernelwire

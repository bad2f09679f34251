// The launch of add_rms_norm: from the plan to the kernels of its type.
#include "kernels/ops/add_rms_norm/add_rms_norm_kernel.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {
namespace {

/// As AccessOf says. Kernels for misaligned rows, and for odd ones that are moved in registers, add them as they lie in
/// memory, and may write residual before they are done with a and b (kStoresSumAsItLies).
RowAccess AccessOfSums(const Launch& launch, DataType dtype, std::int64_t width, const RowPlaces& places) {
  const RowAccess access = AccessOf(launch, dtype, width, places);
  if (access != RowAccess::kMisaligned && access != RowAccess::kOdd && access != RowAccess::kTiled) {
    return access;
  }
  const Segment& only = launch.segments[0];
  const void* const a = only.inputs[kAddRmsNormA];
  const void* const b = only.inputs[kAddRmsNormB];
  const void* const residual = only.outputs[kAddRmsNormResidual];
  const bool moved = access == RowAccess::kMisaligned ||
                     AreMovedInVectors(RowWork::kTwoInputs, width * static_cast<std::int64_t>(SizeOf(dtype)),
                                       static_cast<int>(SizeOf(dtype)));
  return !moved || (BeginAlike({a, b, residual}) && residual != a && residual != b) ? access : RowAccess::kShifted;
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

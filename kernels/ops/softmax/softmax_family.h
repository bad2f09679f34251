// What softmax and log_softmax share: they take the same requests, and find the same statistics. Host code only.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_FAMILY_H_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_FAMILY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/operator.h"

namespace kernelwire {

std::vector<TensorSpec> SoftmaxInputs();
std::vector<TensorSpec> SoftmaxOutputs();
std::vector<AttributeSpec> SoftmaxAttributes();

/// Lays x out as rows and plans y; the plan's parameters are SoftmaxParams. Requires: a spec of the inputs, outputs and
/// attributes above. Errors: INVALID_ARGUMENT.
absl::StatusOr<Plan> PlanSoftmax(const PlanRequest& request);

enum class SoftmaxResult : std::uint8_t { kProbabilities, kLogarithms };

/// The host path (softmax_host.cc). Cannot fail.
absl::Status RunSoftmaxRows(SoftmaxResult result, const Launch& launch, ParallelExecutor& threads);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_FAMILY_H_

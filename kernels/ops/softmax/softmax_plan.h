// The planning of softmax, which log_softmax shares: the two take the same requests. Host code only.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_PLAN_H_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_PLAN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/core/operator.h"

namespace kernelwire {

std::vector<TensorSpec> SoftmaxInputs();
std::vector<TensorSpec> SoftmaxOutputs();
std::vector<AttributeSpec> SoftmaxAttributes();

/// Lays x out as rows and plans y; the plan's parameters are SoftmaxParams. Requires: a spec of the inputs, outputs and
/// attributes above. Errors: INVALID_ARGUMENT.
absl::StatusOr<Plan> PlanSoftmax(const PlanRequest& request);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_PLAN_H_

// Planning that all reductions share: types, axes, the shape of the result, and what happens to results that do not
// fit. Host code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PLAN_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PLAN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/operator.h"
#include "kernels/primitives/reduce_params.h"
#include "kernels/primitives/reduce_types.h"

namespace kernelwire {

/// The plan of a reduction of input 0. Errors: INVALID_ARGUMENT for axes out of range or given twice, for an
/// accumulator or output type that does not go with the input's, for nothing to choose from.
absl::StatusOr<Plan> PlanReduction(ReduceKind kind, const PlanRequest& request);

/// The same, where the axes are settled: `reduced` has bit i set where axis i is. For operators of two like inputs.
absl::StatusOr<Plan> PlanReductionOver(ReduceKind kind, const PlanRequest& request, std::uint32_t reduced,
                                       bool keep_axes);

/// Operator::finish of every reduction. Errors: OUT_OF_RANGE when a result did not fit; names the type to ask for where
/// there is one.
absl::Status FinishReduction(const Plan& plan, FinishedOutput* outputs);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PLAN_H_

// min: what it takes and promises.
#include <string>

#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/reduce_plan.h"

namespace kernelwire {

absl::Status RunMinHost(const Launch& launch, ParallelExecutor& threads);  // min_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "min";
  spec.summary = "The smallest element along any axes.";
  spec.formula = "y = min(x)";
  DescribeReduction(ReduceKind::kSelect, &spec);
  spec.promises = {
      "One of the elements, not rounded; NaN if any is.",
      "The same bits alone or batched, on every run, but for the sign of zero.",
  };
  return spec;
}

absl::StatusOr<Plan> PlanMin(const PlanRequest& request) { return PlanReduction(ReduceKind::kSelect, request); }

/// Rows of each sign.
KnownAnswer MinKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({2, 4}, {1.0F, 7.0F, 3.0F, 4.0F, -5.0F, -1.0F, -2.0F, -9.0F})};
  answer.attributes = {{"axes", std::string("1")}};
  answer.outputs = {Fp32Tensor({2}, {1.0F, -9.0F})};
  return answer;
}

}  // namespace

Operator MakeMin() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanMin;
  op.run_host = &RunMinHost;
  op.finish = &FinishReduction;
  op.known_answer = &MinKnownAnswer;
  return op;
}

}  // namespace kernelwire

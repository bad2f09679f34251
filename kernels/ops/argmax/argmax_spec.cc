// argmax: what it takes and promises.
#include <string>

#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/reduce_plan.h"

namespace kernelwire {

absl::Status RunArgmaxHost(const Launch& launch, ParallelExecutor& threads);  // argmax_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "argmax";
  spec.summary = "The index of the largest element along one axis, or in the whole tensor.";
  spec.formula = "y = argmax(x)";
  DescribeReduction(ReduceKind::kIndex, &spec);
  spec.promises = {
      "Of equals the first; NaN is above everything, and of several the first.",
      "The same result alone or batched, on every run.",
  };
  return spec;
}

absl::StatusOr<Plan> PlanArgmax(const PlanRequest& request) { return PlanReduction(ReduceKind::kIndex, request); }

/// The second row has its largest twice.
KnownAnswer ArgmaxKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({2, 4}, {1.0F, 7.0F, -3.0F, 4.0F, -5.0F, -1.0F, -2.0F, -1.0F})};
  answer.attributes = {{"axes", std::string("1")}};
  answer.outputs = {Int64Tensor({2}, {1, 1})};
  return answer;
}

}  // namespace

Operator MakeArgmax() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanArgmax;
  op.run_host = &RunArgmaxHost;
  op.finish = &FinishReduction;
  op.known_answer = &ArgmaxKnownAnswer;
  return op;
}

}  // namespace kernelwire

// l2_norm: what it takes and promises.
#include <string>

#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/reduce_plan.h"

namespace kernelwire {

absl::Status RunL2NormHost(const Launch& launch, ParallelExecutor& threads);  // l2_norm_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "l2_norm";
  spec.summary = "The Euclidean length of the elements along any axes.";
  spec.formula = "y = sqrt(sum(x * x))";
  DescribeReduction(ReduceKind::kReal, &spec);
  spec.promises = {
      "No square of an FP32 or narrower element overflows or vanishes on the way, and the root is rounded once.",
      "An accumulator of FP16 or BF16 has every partial sum rounded to it, in a fixed order.",
      "The same bits alone or batched, on every run.",
  };
  return spec;
}

absl::StatusOr<Plan> PlanL2Norm(const PlanRequest& request) { return PlanReduction(ReduceKind::kReal, request); }

/// The squares of the second row are beyond f32.
KnownAnswer L2NormKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({2, 2}, {3.0F, -4.0F, 0x1p70F, 0.0F})};
  answer.attributes = {{"axes", std::string("1")}};
  answer.outputs = {Fp32Tensor({2}, {5.0F, 0x1p70F})};
  return answer;
}

}  // namespace

Operator MakeL2Norm() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanL2Norm;
  op.run_host = &RunL2NormHost;
  op.finish = &FinishReduction;
  op.known_answer = &L2NormKnownAnswer;
  return op;
}

}  // namespace kernelwire

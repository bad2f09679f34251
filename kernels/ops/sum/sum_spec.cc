// sum: what it takes and promises.
#include <string>

#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/reduce_plan.h"

namespace kernelwire {

absl::Status RunSumHost(const Launch& launch, ParallelExecutor& threads);  // sum_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "sum";
  spec.summary = "Adds up the elements along any axes.";
  spec.formula = "y = sum(x)";
  DescribeReduction(ReduceKind::kSum, &spec);
  spec.promises = {
      "Added in f32 over short stretches and in f64 beyond (FP64 in f64), and rounded once; integers are added "
      "exactly.",
      "An accumulator of FP16 or BF16 has every partial sum rounded to it, in a fixed order.",
      "An integer sum that does not fit its accumulator or output type is OUT_OF_RANGE.",
      "The same bits alone or batched, on every run.",
  };
  return spec;
}

absl::StatusOr<Plan> PlanSum(const PlanRequest& request) { return PlanReduction(ReduceKind::kSum, request); }

/// Each row by itself; the last one cancels to what a rounded sum would lose.
KnownAnswer SumKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {
      Fp32Tensor({3, 4}, {1.0F, 2.0F, 3.0F, 4.0F, 0.5F, -0.5F, 0.25F, 0.0F, 65536.0F, 1.0F, -65536.0F, 2.0F})};
  answer.attributes = {{"axes", std::string("1")}};
  answer.outputs = {Fp32Tensor({3}, {10.0F, 0.25F, 3.0F})};
  return answer;
}

}  // namespace

Operator MakeSum() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanSum;
  op.run_host = &RunSumHost;
  op.finish = &FinishReduction;
  op.known_answer = &SumKnownAnswer;
  return op;
}

}  // namespace kernelwire

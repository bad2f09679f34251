// mean: what it takes and promises.
#include <string>

#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/reduce_plan.h"

namespace kernelwire {

absl::Status RunMeanHost(const Launch& launch, ParallelExecutor& threads);  // mean_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "mean";
  spec.summary = "The mean of the elements along any axes.";
  spec.formula = "y = sum(x) / n";
  DescribeReduction(ReduceKind::kMean, &spec);
  spec.promises = {
      "Summed as by sum, divided and rounded once; the sum of integers is exact and never overflows.",
      "An accumulator of FP16 or BF16 has every partial sum rounded to it, in a fixed order.",
      "The same bits alone or batched, on every run.",
  };
  return spec;
}

absl::StatusOr<Plan> PlanMean(const PlanRequest& request) { return PlanReduction(ReduceKind::kMean, request); }

/// Each row by itself; the last one cancels to what a rounded sum would lose.
KnownAnswer MeanKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({2, 4}, {1.0F, 2.0F, 3.0F, 4.0F, 65536.0F, 1.0F, -65536.0F, 2.0F})};
  answer.attributes = {{"axes", std::string("1")}};
  answer.outputs = {Fp32Tensor({2}, {2.5F, 0.75F})};
  return answer;
}

}  // namespace

Operator MakeMean() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanMean;
  op.run_host = &RunMeanHost;
  op.finish = &FinishReduction;
  op.known_answer = &MeanKnownAnswer;
  return op;
}

}  // namespace kernelwire

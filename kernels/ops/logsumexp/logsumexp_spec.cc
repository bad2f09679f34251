// logsumexp: what it takes and promises.
#include <string>

#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/reduce_plan.h"

namespace kernelwire {

absl::Status RunLogsumexpHost(const Launch& launch, ParallelExecutor& threads);  // logsumexp_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "logsumexp";
  spec.summary = "The logarithm of the sum of exponentials along any axes.";
  spec.formula = "y = log(sum(exp(x)))";
  DescribeReduction(ReduceKind::kReal, &spec);
  spec.promises = {
      "The maximum is taken out first, so that no exponential overflows; sums of stretches run in f64.",
      "An accumulator of FP16 or BF16 has every partial sum rounded to it, in a fixed order.",
      "Nothing but -infinity gives -infinity; +infinity gives +infinity; NaN gives NaN.",
      "The same bits alone or batched, on every run.",
  };
  return spec;
}

absl::StatusOr<Plan> PlanLogsumexp(const PlanRequest& request) { return PlanReduction(ReduceKind::kReal, request); }

/// Logarithms of 1, 2 and 1, then the same 1000 higher.
KnownAnswer LogsumexpKnownAnswer() {
  KnownAnswer answer;
  constexpr float kLog2 = 0.6931472F;
  answer.inputs = {Fp32Tensor({2, 3}, {0.0F, kLog2, 0.0F, 1000.0F, 1000.0F + kLog2, 1000.0F})};
  answer.attributes = {{"axes", std::string("1")}};
  answer.outputs = {Fp32Tensor({2}, {1.3862944F, 1001.3863F})};
  answer.absolute_tolerance = 1e-4;  // 1000 + log 2 is not a f32
  return answer;
}

}  // namespace

Operator MakeLogsumexp() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanLogsumexp;
  op.run_host = &RunLogsumexpHost;
  op.finish = &FinishReduction;
  op.known_answer = &LogsumexpKnownAnswer;
  return op;
}

}  // namespace kernelwire

// log_softmax: what it takes and promises. Its plan is softmax's.
#include "absl/status/status.h"
#include "kernels/core/operator.h"
#include "kernels/ops/softmax/softmax_family.h"
#include "kernels/primitives/known_answer.h"

namespace kernelwire {

absl::Status RunLogSoftmaxHost(const Launch& launch, ParallelExecutor& threads);  // log_softmax_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "log_softmax";
  spec.summary = "The logarithms of each row's probabilities: what softmax gives, without its underflow.";
  spec.formula = "y = x - max(x) - log(sum(exp(x - max(x))))";
  spec.inputs = SoftmaxInputs();
  spec.outputs = SoftmaxOutputs();
  spec.attributes = SoftmaxAttributes();
  spec.promises = {
      "Computed in f32 (f64 where x or y is FP64) and rounded once at the end; auto, safe and online keep one bound.",
      "A row gives the same bits alone or batched, on every run.",
      "A NaN or +infinity makes its whole row NaN, and so does a row of nothing but -infinity; otherwise -infinity "
      "gives -infinity.",
  };
  return spec;
}

/// Logarithms of 1, 2 and 1 are, less log 4, those of quarters and a half; so they are 1000 higher up. In the last row
/// softmax would end in numbers of few bits.
KnownAnswer LogSoftmaxKnownAnswer() {
  constexpr float kLog2 = 0.6931472F;
  constexpr float kLog4 = 1.3862944F;
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({3, 3}, {0.0F, kLog2, 0.0F, 1000.0F, 1000.0F + kLog2, 1000.0F, 7.0F, -93.0F, -93.0F})};
  answer.outputs = {Fp32Tensor({3, 3}, {-kLog4, -kLog2, -kLog4, -kLog4, -kLog2, -kLog4, 0.0F, -100.0F, -100.0F})};
  answer.absolute_tolerance = 1e-4;  // 1000 + log 2 is not a f32
  return answer;
}

}  // namespace

Operator MakeLogSoftmax() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanSoftmax;
  op.run_host = &RunLogSoftmaxHost;
  op.known_answer = &LogSoftmaxKnownAnswer;
  op.takes_row_strides = true;
  return op;
}

}  // namespace kernelwire

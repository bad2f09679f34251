// prod: what it takes and promises.
#include <string>

#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/reduce_plan.h"

namespace kernelwire {

absl::Status RunProdHost(const Launch& launch, ParallelExecutor& threads);  // prod_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "prod";
  spec.summary = "Multiplies the elements along any axes.";
  spec.formula = "y = product(x)";
  DescribeReduction(ReduceKind::kProduct, &spec);
  spec.promises = {
      "Multiplied in f64 and rounded once; integers are multiplied exactly.",
      "An accumulator of FP16 or BF16 has every partial product rounded to it, in a fixed order.",
      "An integer product that does not fit its accumulator or output type is OUT_OF_RANGE.",
      "The same bits alone or batched, on every run.",
  };
  return spec;
}

absl::StatusOr<Plan> PlanProd(const PlanRequest& request) { return PlanReduction(ReduceKind::kProduct, request); }

/// The second row leaves the range of f32 on the way.
KnownAnswer ProdKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({2, 4}, {1.0F, 2.0F, -3.0F, 4.0F, 1e30F, 1e30F, 0x1p-100F, 0x1p-100F})};
  answer.attributes = {{"axes", std::string("1")}};
  answer.outputs = {Fp32Tensor({2}, {-24.0F, 0.6223015F})};
  answer.absolute_tolerance = 1e-6;
  return answer;
}

}  // namespace

Operator MakeProd() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanProd;
  op.run_host = &RunProdHost;
  op.finish = &FinishReduction;
  op.known_answer = &ProdKnownAnswer;
  return op;
}

}  // namespace kernelwire

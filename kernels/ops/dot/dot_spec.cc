// dot: what it takes and promises.
#include "absl/strings/str_cat.h"
#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/reduce_plan.h"

namespace kernelwire {

absl::Status RunDotHost(const Launch& launch, ParallelExecutor& threads);  // dot_host.cc

namespace {

constexpr DataTypeSet kMultiplied{DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64, DataType::kInt8};

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "dot";
  spec.summary = "Dot products of the rows of two tensors.";
  spec.formula = "y = sum(a * b)";
  spec.inputs = {{"a", kMultiplied, DataType::kFp32, {-1}, false, "Any shape; rows run along the last axis."},
                 {"b", kMultiplied, DataType::kFp32, {-1}, false, "The type and shape of a."}};
  const DataTypeSet results{DataType::kFp16, DataType::kBf16,  DataType::kFp32,
                            DataType::kFp64, DataType::kInt32, DataType::kInt64};
  spec.outputs = {{"y", results, DataType::kFp32, {-1}, false, "The shape of a without its last axis."}};
  spec.attributes = {AccumulatorAttribute(ReduceKind::kSum), OutputTypeAttribute(ReduceKind::kSum)};
  spec.promises = {
      "Each product joins its sum unrounded; added in f32 over short stretches and in f64 beyond, and rounded once.",
      "An accumulator of FP16 or BF16 has every partial sum rounded to it, in a fixed order.",
      "An integer result that does not fit its accumulator or output type is OUT_OF_RANGE.",
      "The same bits alone or batched, on every run.",
  };
  return spec;
}

absl::StatusOr<Plan> PlanDot(const PlanRequest& request) {
  const TensorDesc& a = *request.inputs[0];
  const TensorDesc& b = *request.inputs[1];
  if (a.dtype != b.dtype || a.shape != b.shape) {
    return absl::InvalidArgumentError(absl::StrCat("input 'b': expected the type and shape of a, ", NameOf(a.dtype),
                                                   " ", a.shape.ToString(), ", got ", NameOf(b.dtype), " ",
                                                   b.shape.ToString()));
  }
  const std::uint32_t last = a.shape.rank() == 0 ? 0 : 1u << (a.shape.rank() - 1);
  return PlanReductionOver(ReduceKind::kSum, request, last, false);
}

/// The second pair cancels to what a rounded sum would lose.
KnownAnswer DotKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({2, 3}, {1.0F, 2.0F, 3.0F, 4096.0F, 1.0F, -4096.0F}),
                   Fp32Tensor({2, 3}, {4.0F, -5.0F, 6.0F, 4096.0F, 0.5F, 4096.0F})};
  answer.outputs = {Fp32Tensor({2}, {12.0F, 0.5F})};
  return answer;
}

}  // namespace

Operator MakeDot() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanDot;
  op.run_host = &RunDotHost;
  op.finish = &FinishReduction;
  op.known_answer = &DotKnownAnswer;
  return op;
}

}  // namespace kernelwire

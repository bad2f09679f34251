// softmax: what it takes and promises, and the planning of a request.
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/operator.h"
#include "kernels/core/status_macros.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/ops/softmax/softmax_family.h"
#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_plan.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

absl::Status RunSoftmaxHost(const Launch& launch, ParallelExecutor& threads);  // softmax_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "softmax";
  spec.summary = "Turns each row into probabilities: exponentials divided by their sum.";
  spec.formula = "y = exp(x - max(x)) / sum(exp(x - max(x)))";
  spec.inputs = SoftmaxInputs();
  spec.outputs = SoftmaxOutputs();
  spec.attributes = SoftmaxAttributes();
  spec.promises = {
      "Computed in f32 (f64 where x or y is FP64) and rounded once at the end; auto, safe and online keep one bound.",
      "A row gives the same bits alone or batched, on every run.",
      "A NaN or +infinity makes its whole row NaN, and so does a row of nothing but -infinity; otherwise -infinity "
      "gives 0.",
  };
  return spec;
}

SoftmaxAlgorithm AlgorithmOf(const std::optional<std::string>& name) {
  if (name == "safe") {
    return SoftmaxAlgorithm::kSafe;
  }
  return name == "online" ? SoftmaxAlgorithm::kOnline : SoftmaxAlgorithm::kAuto;
}

/// x seen as [pieces, width, inner]. An empty tensor has no pieces: parts of its shape may have no countable product.
struct Layout {
  std::int64_t pieces = 0;
  std::int64_t width = 0;
  std::int64_t inner = 1;
};

absl::StatusOr<Layout> LayOut(const Shape& shape, const Attributes& attributes) {
  const std::int64_t elements = shape.ElementCount().value_or(0);
  if (attributes.GetString("axis") == "all") {
    return Layout{elements == 0 ? 0 : 1, elements, 1};
  }
  KERNELWIRE_ASSIGN_OR_RETURN(const int axis,
                              ResolveAxis("axis", attributes.GetInt("axis").value_or(-1), shape.rank()));
  if (elements == 0) {
    return Layout{};
  }
  if (shape.rank() == 0) {
    return Layout{1, 1, 1};
  }
  return Layout{shape.ElementCount(0, axis).value_or(0), shape[axis],
                shape.ElementCount(axis + 1, shape.rank()).value_or(0)};
}

/// Logarithms of 1, 2 and 1 give quarters and a half, as does the same row 1000 higher, which overflows where nobody
/// subtracts the maximum; and a masked row.
KnownAnswer SoftmaxKnownAnswer() {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  constexpr float kLog2 = 0.6931472F;
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({3, 3}, {0.0F, kLog2, 0.0F, 1000.0F, 1000.0F + kLog2, 1000.0F, 7.0F, kMasked, kMasked})};
  answer.outputs = {Fp32Tensor({3, 3}, {0.25F, 0.5F, 0.25F, 0.25F, 0.5F, 0.25F, 1.0F, 0.0F, 0.0F})};
  answer.absolute_tolerance = 3e-5;  // 1000 + log 2 is not a f32
  return answer;
}

}  // namespace

std::vector<TensorSpec> SoftmaxInputs() {
  return {{"x", kFloats, DataType::kFp32, {-1}, false, "Any shape; rows run along `axis`."}};
}

std::vector<TensorSpec> SoftmaxOutputs() { return {{"y", kFloats, DataType::kFp32, {-1}, false, "The shape of x."}}; }

std::vector<AttributeSpec> SoftmaxAttributes() {
  AttributeSpec axis;
  axis.name = "axis";
  axis.kind = AttributeKind::kIntOrChoice;
  axis.doc = "The axis that rows run along; negative ones count from the end; \"all\" makes the whole tensor one row.";
  axis.default_text = "-1";
  axis.choices = {"all"};
  AttributeSpec algorithm;
  algorithm.name = "algorithm";
  algorithm.kind = AttributeKind::kEnum;
  algorithm.doc = "How maximum and sum are found: safe in two passes, online in one; auto picks by width.";
  algorithm.default_text = "auto";
  algorithm.choices = {"auto", "safe", "online"};
  return {axis, algorithm, FloatOutputTypeAttribute()};
}

absl::StatusOr<Plan> PlanSoftmax(const PlanRequest& request) {
  const TensorDesc& x = *request.inputs[0];
  KERNELWIRE_ASSIGN_OR_RETURN(const Layout layout, LayOut(x.shape, *request.attributes));
  SoftmaxParams params;
  params.x_type = x.dtype;
  params.y_type = OutputTypeOf(*request.attributes, x.dtype);
  params.algorithm = AlgorithmOf(request.attributes->GetString("algorithm"));
  params.width = layout.width;
  params.inner = layout.inner;

  Plan plan;
  plan.rows = layout.pieces;
  KERNELWIRE_ASSIGN_OR_RETURN(plan.outputs[0], PlanOutput("y", {params.y_type, x.shape}));
  // Interleaved rows have no stretch of their own that could lie apart from the next.
  const std::int64_t piece = layout.width * layout.inner;
  const bool contiguous = layout.inner <= 1;
  KERNELWIRE_RETURN_IF_ERROR(PlanRowTensors(request,
                                            {{RowTensor::kInput, 0, "x", piece, kRowStrideX, contiguous},
                                             {RowTensor::kOutput, 0, "y", piece, kRowStrideY, contiguous}},
                                            plan));
  plan.work_bytes = BytesTouched(request, plan);
  if (contiguous) {
    plan.workspace_bytes = StreamWorkspaceBytes(params.width, SizeOf(params.x_type), plan.rows);
  }
  plan.key.Append(static_cast<std::uint64_t>(params.x_type));
  plan.key.Append(static_cast<std::uint64_t>(params.y_type));
  plan.key.Append(static_cast<std::uint64_t>(params.algorithm));
  plan.key.Append(static_cast<std::uint64_t>(params.width));
  plan.key.Append(static_cast<std::uint64_t>(params.inner));
  plan.SetParams(params);
  return plan;
}

Operator MakeSoftmax() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanSoftmax;
  op.run_host = &RunSoftmaxHost;
  op.known_answer = &SoftmaxKnownAnswer;
  op.takes_row_strides = true;
  return op;
}

}  // namespace kernelwire

// rms_norm: what it takes and promises, and the planning of a request.
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/core/operator.h"
#include "kernels/core/status_macros.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/primitives/row_operator.h"

namespace kernelwire {

absl::Status RunRmsNormHost(const Launch& launch, ParallelExecutor& threads);  // rms_norm_host.cc

namespace {

constexpr double kDefaultEpsilon = 1e-5;

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "rms_norm";
  spec.summary = "Divides each row by its root mean square, and scales it by a weight.";
  spec.formula = "y = x / sqrt(mean(x^2) + epsilon) * weight";
  spec.inputs = {
      {"x", kFloats, DataType::kFp32, {-1}, false, "Any shape; a row is everything from `axis` on."},
      {"weight",
       kFloats,
       DataType::kFp32,
       {-1},
       true,
       "Left out (1), one element, or the shape of a row; its type may differ from that of x."},
  };
  spec.outputs = {{"y", kFloats, DataType::kFp32, {-1}, false, "The shape of x."}};
  AttributeSpec axis;
  axis.name = "axis";
  axis.kind = AttributeKind::kInt;
  axis.doc = "First axis of a row; negative ones count from the end.";
  axis.default_text = "-1";
  AttributeSpec epsilon;
  epsilon.name = "epsilon";
  epsilon.kind = AttributeKind::kDouble;
  epsilon.doc = "Added to the mean square before the root.";
  epsilon.default_text = "1e-5";
  epsilon.min = 0.0;
  spec.attributes = {axis, epsilon, FloatOutputTypeAttribute()};
  spec.promises = {
      "Computed in f32 (f64 where x or y is FP64) and rounded once at the end; x / rms is not rounded before the "
      "weight.",
      "A row gives the same bits alone or batched, on every run.",
      "Rows whose squares leave the range of f32 are computed in f64 rather than turned to 0 or infinity.",
      "A NaN makes its whole row NaN; an infinity makes itself NaN and the rest of its row 0.",
  };
  return spec;
}

absl::StatusOr<RmsNormWeight> PlanWeight(const TensorDesc& weight, const Shape& x, int axis) {
  Shape row;
  for (int i = axis; i < x.rank(); ++i) {
    row.Append(x[i]);
  }
  if (weight.shape == row) {
    return RmsNormWeight::kRow;
  }
  if (weight.shape.ElementCount() == 1) {
    return RmsNormWeight::kOne;
  }
  return absl::InvalidArgumentError(absl::StrCat("input 'weight': expected one element or shape ", row.ToString(),
                                                 " (x ", x.ToString(), " from axis ", axis, " on), got ",
                                                 weight.shape.ToString()));
}

absl::StatusOr<Plan> PlanRmsNorm(const PlanRequest& request) {
  const TensorDesc& x = *request.inputs[kRmsNormX];
  KERNELWIRE_ASSIGN_OR_RETURN(const int axis,
                              ResolveAxis("axis", request.attributes->GetInt("axis").value_or(-1), x.shape.rank()));
  RmsNormParams params;
  params.x_type = x.dtype;
  params.y_type = OutputTypeOf(*request.attributes, x.dtype);
  params.epsilon = request.attributes->GetDouble("epsilon").value_or(kDefaultEpsilon);
  // An empty tensor may have parts whose products overflow; nothing is computed of it, so they need no number.
  const bool empty = x.shape.ElementCount() == 0;
  params.width = empty ? 0 : x.shape.ElementCount(axis, x.shape.rank()).value_or(0);

  Plan plan;
  plan.rows = empty ? 0 : x.shape.ElementCount(0, axis).value_or(0);
  KERNELWIRE_ASSIGN_OR_RETURN(plan.outputs[0], PlanOutput("y", params.y_type, x.shape));
  plan.work_bytes = static_cast<std::int64_t>(*x.ByteSize() + plan.outputs[0].bytes);
  if (const auto& weight = request.inputs[kRmsNormWeightInput]; weight.has_value()) {
    KERNELWIRE_ASSIGN_OR_RETURN(const RmsNormWeight kind, PlanWeight(*weight, x.shape, axis));
    plan.extents[kRmsNormWeightKind] = static_cast<std::int64_t>(kind);
    plan.extents[kRmsNormWeightType] = static_cast<std::int64_t>(weight->dtype);
    plan.work_bytes += static_cast<std::int64_t>(*weight->ByteSize());
  }
  plan.key.Append(static_cast<std::uint64_t>(params.x_type));
  plan.key.Append(static_cast<std::uint64_t>(params.y_type));
  plan.key.Append(static_cast<std::uint64_t>(params.width));
  plan.key.AppendDouble(params.epsilon);
  plan.SetParams(params);
  return plan;
}

KnownAnswer::Tensor Fp32Tensor(const Shape& shape, const std::vector<float>& values) {
  KnownAnswer::Tensor tensor;
  tensor.desc = TensorDesc{DataType::kFp32, shape};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

/// Mean squares of 12.5, 25 and 0: roots that anybody can check.
KnownAnswer RmsNormKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({3, 2}, {3.0F, 4.0F, 5.0F, -5.0F, 0.0F, 0.0F}), Fp32Tensor({2}, {1.0F, 2.0F})};
  answer.attributes = {{"epsilon", 1e-12}};
  answer.outputs = {Fp32Tensor({3, 2}, {0.84852814F, 2.2627417F, 1.0F, -2.0F, 0.0F, 0.0F})};
  answer.absolute_tolerance = 2e-6;
  return answer;
}

}  // namespace

Operator MakeRmsNorm() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanRmsNorm;
  op.run_host = &RunRmsNormHost;
  op.known_answer = &RmsNormKnownAnswer;
  return op;
}

}  // namespace kernelwire

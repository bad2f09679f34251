// rms_norm: what it takes and promises, and the planning of a request.
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/operator.h"
#include "kernels/core/status_macros.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/norm_plan.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_plan.h"

namespace kernelwire {

absl::Status RunRmsNormHost(const Launch& launch, ParallelExecutor& threads);  // rms_norm_host.cc

namespace {

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
  spec.attributes = {NormAxisAttribute(), NormEpsilonAttribute("Added to the mean square before the root."),
                     FloatOutputTypeAttribute()};
  spec.promises = {
      "Computed in f32 (f64 where x or y is FP64) and rounded once at the end; x / rms is not rounded before the "
      "weight.",
      "A row gives the same bits alone or batched, on every run.",
      "Rows whose squares leave the range of f32 are computed in f64 rather than turned to 0 or infinity.",
      "A NaN makes its whole row NaN; an infinity makes itself NaN and the rest of its row 0.",
  };
  return spec;
}

absl::StatusOr<Plan> PlanRmsNorm(const PlanRequest& request) {
  const TensorDesc& x = *request.inputs[kRmsNormX];
  const auto& weight = request.inputs[kRmsNormWeightInput];
  KERNELWIRE_ASSIGN_OR_RETURN(const NormRows layout, LayOutNormRows(*request.attributes, x.shape));
  const RmsNormParams params = NormParamsOf(*request.attributes, x.dtype, layout.width);

  Plan plan;
  plan.rows = layout.width == 0 ? 0 : layout.rows;
  KERNELWIRE_ASSIGN_OR_RETURN(plan.outputs[0], PlanOutput("y", {params.y_type, x.shape}));
  KERNELWIRE_ASSIGN_OR_RETURN(plan.extents[kRowWeight], PlanRowParameter("weight", weight, x.shape, layout.axis));
  KERNELWIRE_RETURN_IF_ERROR(PlanRowTensors(request,
                                            {{RowTensor::kInput, kRmsNormX, "x", params.width, kRowStrideX},
                                             {RowTensor::kOutput, 0, "y", params.width, kRowStrideY}},
                                            plan));
  plan.work_bytes = BytesTouched(request, plan);
  SetNormParams(params, plan);
  return plan;
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
  op.takes_row_strides = true;
  return op;
}

}  // namespace kernelwire

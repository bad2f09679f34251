// add_rms_norm: what it takes and promises, and the planning of a request.
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/core/operator.h"
#include "kernels/core/status_macros.h"
#include "kernels/ops/add_rms_norm/add_rms_norm.h"
#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/norm_plan.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_plan.h"

namespace kernelwire {

absl::Status RunAddRmsNormHost(const Launch& launch, ParallelExecutor& threads);  // add_rms_norm_host.cc

namespace {

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "add_rms_norm";
  spec.summary = "Adds two tensors, divides each row of the sum by its root mean square, and scales it by a weight.";
  spec.formula = "residual = a + b; y = residual / sqrt(mean(residual^2) + epsilon) * weight";
  spec.inputs = {
      {"a", kFloats, DataType::kFp32, {-1}, false, "Any shape; a row is everything from `axis` on."},
      {"b", kFloats, DataType::kFp32, {-1}, false, "Shape and type of a."},
      {"weight",
       kFloats,
       DataType::kFp32,
       {-1},
       true,
       "Left out (1), one element, or the shape of a row; its type may differ from that of a."},
  };
  spec.outputs = {
      {"y", kFloats, DataType::kFp32, {-1}, false, "The shape of a."},
      {"residual", kFloats, DataType::kFp32, {-1}, false, "Shape and type of a: the sum, rounded once."},
  };
  spec.attributes = {NormAxisAttribute(), NormEpsilonAttribute("Added to the mean square before the root."),
                     FloatOutputTypeAttribute()};
  spec.promises = {
      "residual is a + b rounded to their type, and y is rms_norm of residual, bit for bit.",
      "Computed in f32 (f64 where a or y is FP64) and rounded once at the end.",
      "A row gives the same bits alone or batched, on every run, whichever outputs are asked for.",
  };
  return spec;
}

absl::Status CheckSameForm(const TensorDesc& a, const TensorDesc& b) {
  if (a.dtype == b.dtype && a.shape == b.shape) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("input 'b': expected type and shape of a, ", NameOf(a.dtype), " ",
                                                 a.shape.ToString(), ", got ", NameOf(b.dtype), " ",
                                                 b.shape.ToString()));
}

absl::Status PlanOutputs(const PlanRequest& request, const AddRmsNormParams& params, Plan& plan) {
  const Shape& shape = request.inputs[kAddRmsNormA]->shape;
  if ((request.wanted_outputs >> kAddRmsNormY & 1U) != 0) {
    KERNELWIRE_ASSIGN_OR_RETURN(plan.outputs[kAddRmsNormY], PlanOutput("y", {params.y_type, shape}));
  }
  if ((request.wanted_outputs >> kAddRmsNormResidual & 1U) != 0) {
    KERNELWIRE_ASSIGN_OR_RETURN(plan.outputs[kAddRmsNormResidual], PlanOutput("residual", {params.x_type, shape}));
  }
  return PlanRowTensors(request,
                        {{RowTensor::kInput, kAddRmsNormA, "a", params.width, kRowStrideX},
                         {RowTensor::kInput, kAddRmsNormB, "b", params.width, kRowStrideB},
                         {RowTensor::kOutput, kAddRmsNormY, "y", params.width, kRowStrideY},
                         {RowTensor::kOutput, kAddRmsNormResidual, "residual", params.width, kRowStrideResidual}},
                        plan);
}

absl::StatusOr<Plan> PlanAddRmsNorm(const PlanRequest& request) {
  const TensorDesc& a = *request.inputs[kAddRmsNormA];
  KERNELWIRE_RETURN_IF_ERROR(CheckSameForm(a, *request.inputs[kAddRmsNormB]));
  KERNELWIRE_ASSIGN_OR_RETURN(const NormRows layout, LayOutNormRows(*request.attributes, a.shape));
  const AddRmsNormParams params = NormParamsOf(*request.attributes, a.dtype, layout.width);

  Plan plan;
  plan.rows = layout.width == 0 ? 0 : layout.rows;
  KERNELWIRE_ASSIGN_OR_RETURN(plan.extents[kRowWeight],
                              PlanRowParameter("weight", request.inputs[kAddRmsNormWeightInput], a.shape, layout.axis));
  KERNELWIRE_RETURN_IF_ERROR(PlanOutputs(request, params, plan));
  plan.work_bytes = BytesTouched(request, plan);
  SetNormParams(params, plan);
  return plan;
}

/// Sums whose mean squares are 12.5, 25 and 0: roots that anybody can check.
KnownAnswer AddRmsNormKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({3, 2}, {1.0F, 5.0F, 9.0F, -2.0F, 4.0F, 0.5F}),
                   Fp32Tensor({3, 2}, {2.0F, -1.0F, -4.0F, -3.0F, -4.0F, -0.5F}), Fp32Tensor({2}, {1.0F, 2.0F})};
  answer.attributes = {{"epsilon", 1e-12}};
  answer.outputs = {Fp32Tensor({3, 2}, {0.84852814F, 2.2627417F, 1.0F, -2.0F, 0.0F, 0.0F}),
                    Fp32Tensor({3, 2}, {3.0F, 4.0F, 5.0F, -5.0F, 0.0F, 0.0F})};
  answer.absolute_tolerance = 2e-6;
  return answer;
}

}  // namespace

Operator MakeAddRmsNorm() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanAddRmsNorm;
  op.run_host = &RunAddRmsNormHost;
  op.known_answer = &AddRmsNormKnownAnswer;
  op.takes_row_strides = true;
  return op;
}

}  // namespace kernelwire

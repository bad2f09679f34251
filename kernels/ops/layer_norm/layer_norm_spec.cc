// layer_norm: what it takes and promises, and the planning of a request.
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/operator.h"
#include "kernels/core/status_macros.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/primitives/known_answer.h"
#include "kernels/primitives/norm_plan.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_plan.h"

namespace kernelwire {

absl::Status RunLayerNormHost(const Launch& launch, ParallelExecutor& threads);  // layer_norm_host.cc

namespace {

constexpr DataTypeSet kStatisticsTypes{DataType::kFp32, DataType::kFp64};

OperatorSpec MakeSpec() {
  const std::string parameter = "one element, or the shape of a row; its type may differ from that of x.";
  OperatorSpec spec;
  spec.name = "layer_norm";
  spec.summary = "Brings each row to mean 0 and variance 1, scales it by a weight and adds a bias.";
  spec.formula = "y = (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias";
  spec.inputs = {
      {"x", kFloats, DataType::kFp32, {-1}, false, "Any shape; a row is everything from `axis` on."},
      {"weight", kFloats, DataType::kFp32, {-1}, true, "Left out (1), " + parameter},
      {"bias", kFloats, DataType::kFp32, {-1}, true, "Left out (0), " + parameter},
  };
  spec.outputs = {
      {"y", kFloats, DataType::kFp32, {-1}, false, "The shape of x."},
      {"mean",
       kStatisticsTypes,
       DataType::kFp32,
       {-1},
       true,
       "Of each row; the shape of x with 1 for every axis of a row. FP64 where x is, else FP32."},
      {"inv_std_dev",
       kStatisticsTypes,
       DataType::kFp32,
       {-1},
       true,
       "1 / sqrt(variance + epsilon) of each row; shape and type of mean."},
  };
  spec.attributes = {NormAxisAttribute(), NormEpsilonAttribute("Added to the variance before the root."),
                     FloatOutputTypeAttribute()};
  spec.promises = {
      "Computed in f32 (f64 where x or y is FP64) and rounded once at the end; the variance is that of centred values, "
      "and the mean keeps more digits than f32 has.",
      "A row gives the same bits alone or batched, on every run, whichever outputs are asked for.",
      "Rows whose sums or squares leave the range of f32 are computed in f64.",
      "A NaN or an infinity makes its whole row NaN; a constant row gives the bias.",
  };
  return spec;
}

/// x's shape with every axis of a row replaced by 1.
Shape StatisticsShape(const Shape& x, int axis) {
  Shape shape = x;
  for (int i = axis; i < shape.rank(); ++i) {
    shape[i] = 1;
  }
  return shape;
}

absl::Status PlanOutputs(const PlanRequest& request, const LayerNormParams& params, int axis, Plan& plan) {
  const Shape& x = request.inputs[kLayerNormX]->shape;
  const DataType statistics = LayerNormStatisticsType(params.x_type);
  for (const auto& [index, name] : {std::pair(kLayerNormY, "y"), std::pair(kLayerNormMean, "mean"),
                                    std::pair(kLayerNormInvStdDev, "inv_std_dev")}) {
    if ((request.wanted_outputs >> index & 1U) != 0) {
      const TensorDesc desc =
          index == kLayerNormY ? TensorDesc{params.y_type, x} : TensorDesc{statistics, StatisticsShape(x, axis)};
      KERNELWIRE_ASSIGN_OR_RETURN(plan.outputs[static_cast<std::size_t>(index)], PlanOutput(name, desc));
    }
  }
  return PlanRowTensors(request,
                        {{RowTensor::kInput, kLayerNormX, "x", params.width, kRowStrideX},
                         {RowTensor::kOutput, kLayerNormY, "y", params.width, kRowStrideY},
                         {RowTensor::kOutput, kLayerNormMean, "mean", 1, RowTensor::kNoWord, false},
                         {RowTensor::kOutput, kLayerNormInvStdDev, "inv_std_dev", 1, RowTensor::kNoWord, false}},
                        plan);
}

absl::StatusOr<Plan> PlanLayerNorm(const PlanRequest& request) {
  const TensorDesc& x = *request.inputs[kLayerNormX];
  KERNELWIRE_ASSIGN_OR_RETURN(const NormRows layout, LayOutNormRows(*request.attributes, x.shape));
  const LayerNormParams params = NormParamsOf(*request.attributes, x.dtype, layout.width);

  Plan plan;
  // Rows of no elements have statistics all the same (NaN), and nothing else to compute.
  const bool statistics = (request.wanted_outputs & ~(1U << kLayerNormY)) != 0;
  plan.rows = layout.width == 0 && !statistics ? 0 : layout.rows;
  KERNELWIRE_ASSIGN_OR_RETURN(plan.extents[kRowWeight],
                              PlanRowParameter("weight", request.inputs[kLayerNormWeightInput], x.shape, layout.axis));
  KERNELWIRE_ASSIGN_OR_RETURN(plan.extents[kRowBias],
                              PlanRowParameter("bias", request.inputs[kLayerNormBiasInput], x.shape, layout.axis));
  KERNELWIRE_RETURN_IF_ERROR(PlanOutputs(request, params, layout.axis, plan));
  plan.work_bytes = BytesTouched(request, plan);
  SetNormParams(params, plan);
  return plan;
}

/// Means of 3, 1 and 5; variances of 4, 1 and 0.
KnownAnswer LayerNormKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {Fp32Tensor({3, 2}, {1.0F, 5.0F, 2.0F, 0.0F, 5.0F, 5.0F}), Fp32Tensor({2}, {1.0F, 3.0F}),
                   Fp32Tensor({2}, {0.0F, 10.0F})};
  answer.attributes = {{"epsilon", 1e-12}};
  answer.outputs = {
      Fp32Tensor({3, 2}, {-1.0F, 13.0F, 1.0F, 7.0F, 0.0F, 10.0F}), Fp32Tensor({3, 1}, {3.0F, 1.0F, 5.0F}), {}};
  answer.absolute_tolerance = 1e-5;
  return answer;
}

}  // namespace

Operator MakeLayerNorm() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanLayerNorm;
  op.run_host = &RunLayerNormHost;
  op.known_answer = &LayerNormKnownAnswer;
  op.takes_row_strides = true;
  return op;
}

}  // namespace kernelwire

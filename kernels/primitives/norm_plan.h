// Planning that the norms share: what a row is, their attributes and parameters, how a weight or a bias is given. Host
// code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_NORM_PLAN_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_NORM_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/core/attributes.h"
#include "kernels/core/plan.h"
#include "kernels/core/shape.h"
#include "kernels/core/status_macros.h"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// What norms take: everything from `axis` on is a row. An empty x has no rows, or rows of no elements.
struct NormRows {
  int axis = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

inline AttributeSpec NormAxisAttribute() {
  AttributeSpec spec;
  spec.name = "axis";
  spec.kind = AttributeKind::kInt;
  spec.doc = "First axis of a row; negative ones count from the end.";
  spec.default_text = "-1";
  return spec;
}

/// `doc`: what epsilon is added to.
inline AttributeSpec NormEpsilonAttribute(const std::string& doc) {
  AttributeSpec spec;
  spec.name = "epsilon";
  spec.kind = AttributeKind::kDouble;
  spec.doc = doc;
  spec.default_text = "1e-5";
  spec.min = 0.0;
  return spec;
}

/// Errors: INVALID_ARGUMENT for an axis that x does not have.
inline absl::StatusOr<NormRows> LayOutNormRows(const Attributes& attributes, const Shape& x) {
  KERNELWIRE_ASSIGN_OR_RETURN(const int axis, ResolveAxis("axis", attributes.GetInt("axis").value_or(-1), x.rank()));
  return NormRows{axis, x.ElementCount(0, axis).value_or(0), x.ElementCount(axis, x.rank()).value_or(0)};
}

/// The parameters of norms of rows of `x_type`.
inline NormParams NormParamsOf(const Attributes& attributes, DataType x_type, std::int64_t width) {
  NormParams params;
  params.x_type = x_type;
  params.y_type = OutputTypeOf(attributes, x_type);
  params.width = width;
  params.epsilon = attributes.GetDouble("epsilon").value_or(1e-5);
  return params;
}

/// Puts the parameters into the plan and its batch key, and the workspace that rows of `params` take. Requires: the
/// plan's rows.
inline void SetNormParams(const NormParams& params, Plan& plan) {
  plan.key.Append(static_cast<std::uint64_t>(params.x_type));
  plan.key.Append(static_cast<std::uint64_t>(params.y_type));
  plan.key.Append(static_cast<std::uint64_t>(params.width));
  plan.key.AppendDouble(params.epsilon);
  plan.SetParams(params);
  plan.workspace_bytes = StreamWorkspaceBytes(params.width, SizeOf(params.x_type), plan.rows);
}

/// The word of extents that says how the optional parameter `name` of rows of `x` is read.
/// Errors: INVALID_ARGUMENT when it is neither one element nor a row's shape.
inline absl::StatusOr<std::int64_t> PlanRowParameter(const char* name, const std::optional<TensorDesc>& parameter,
                                                     const Shape& x, int axis) {
  if (!parameter.has_value()) {
    return PackRowParameter({});
  }
  Shape row;
  for (int i = axis; i < x.rank(); ++i) {
    row.Append(x[i]);
  }
  if (parameter->shape == row) {
    return PackRowParameter({RowParameterKind::kRow, parameter->dtype});
  }
  if (parameter->shape.ElementCount() == 1) {
    return PackRowParameter({RowParameterKind::kOne, parameter->dtype});
  }
  return absl::InvalidArgumentError(absl::StrCat("input '", name, "': expected one element or shape ", row.ToString(),
                                                 " (x ", x.ToString(), " from axis ", axis, " on), got ",
                                                 parameter->shape.ToString()));
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_NORM_PLAN_H_

// Planning that the row-wise operators share: how far a tensor's rows lie apart, where a request may be cut, and, for
// norms, what a row is and how a weight is given. Host code only; kernels read the result (row_parameter.h).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PLAN_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/core/attributes.h"
#include "kernels/core/plan.h"
#include "kernels/core/shape.h"
#include "kernels/core/status_macros.h"
#include "kernels/primitives/row_parameter.h"

namespace kernelwire {

/// An input or output of a request that consists of the plan's rows.
struct RowTensor {
  enum Side : std::uint8_t { kInput, kOutput };
  static constexpr int kNoWord = -1;

  Side side = kInput;
  std::size_t index = 0;      // in the spec
  const char* name = "";      // for messages
  std::int64_t width = 0;     // elements of a row
  int stride_word = kNoWord;  // of Segment::extents: where the stride goes
  bool may_have_gaps = true;  // whether a request may ask for a stride
};

/// The stride of one tensor's rows, in elements. Errors: INVALID_ARGUMENT for one that cannot be.
inline absl::StatusOr<std::int64_t> ResolveRowStride(const RowTensor& tensor, std::int64_t asked, std::int64_t rows,
                                                     std::size_t element_bytes) {
  if (asked == 0) {
    return tensor.width;
  }
  const std::string what = absl::StrCat(tensor.side == RowTensor::kInput ? "input '" : "output '", tensor.name, "'");
  if (!tensor.may_have_gaps) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": expected rows that follow each other, got a row stride of ", asked));
  }
  if (asked < tensor.width) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": expected a row stride of at least ", tensor.width, ", a row's width, got ", asked));
  }
  const auto elements = CheckedMultiply(std::max<std::int64_t>(rows, 1), asked);
  if (!elements.has_value() || static_cast<std::uint64_t>(*elements) > kLargestTensorBytes / element_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": expected rows that span at most ", kLargestTensorBytes,
                                                   " bytes, got ", rows, " rows with a row stride of ", asked));
  }
  return asked;
}

/// Puts the strides of all tensors of rows into the plan's extents and, where no tensor has gaps between its rows, says
/// that the request may be cut between any two. Requires: `plan` has its rows and outputs; `tensors` holds every
/// output. Errors: INVALID_ARGUMENT.
inline absl::Status PlanRowTensors(const PlanRequest& request, std::initializer_list<RowTensor> tensors, Plan& plan) {
  auto input_strides = request.input_row_strides;
  bool dense = true;
  for (const RowTensor& tensor : tensors) {
    const bool input = tensor.side == RowTensor::kInput;
    const std::int64_t asked =
        input ? std::exchange(input_strides[tensor.index], 0) : request.output_row_strides[tensor.index];
    if (input ? request.inputs[tensor.index].has_value() : plan.outputs[tensor.index].wanted) {
      const DataType dtype = input ? request.inputs[tensor.index]->dtype : plan.outputs[tensor.index].desc.dtype;
      KERNELWIRE_ASSIGN_OR_RETURN(const std::int64_t stride, ResolveRowStride(tensor, asked, plan.rows, SizeOf(dtype)));
      if (tensor.stride_word != RowTensor::kNoWord) {
        plan.extents[static_cast<std::size_t>(tensor.stride_word)] = stride;
      }
      const std::int64_t row_bytes = tensor.width * static_cast<std::int64_t>(SizeOf(dtype));
      (input ? plan.input_row_bytes[tensor.index] : plan.outputs[tensor.index].row_bytes) = row_bytes;
      dense = dense && stride == tensor.width;
    }
  }
  for (std::size_t i = 0; i < input_strides.size(); ++i) {
    if (input_strides[i] != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, ": expected no row stride, since it has no rows, got ", input_strides[i]));
    }
  }
  if (!dense) {
    plan.input_row_bytes.fill(0);
    for (OutputPlan& output : plan.outputs) {
      output.row_bytes = 0;
    }
  }
  return absl::OkStatus();
}

/// What norms take: everything from `axis` on is a row.
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

inline double NormEpsilonOf(const Attributes& attributes) { return attributes.GetDouble("epsilon").value_or(1e-5); }

/// Errors: INVALID_ARGUMENT for an axis that x does not have.
inline absl::StatusOr<NormRows> LayOutNormRows(const Attributes& attributes, const Shape& x) {
  KERNELWIRE_ASSIGN_OR_RETURN(const int axis, ResolveAxis("axis", attributes.GetInt("axis").value_or(-1), x.rank()));
  // An empty tensor may have parts whose products overflow; nothing is computed of it, so they need no number.
  if (x.ElementCount() == 0) {
    return NormRows{axis, 0, 0};
  }
  return NormRows{axis, x.ElementCount(0, axis).value_or(0), x.ElementCount(axis, x.rank()).value_or(0)};
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

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_PLAN_H_

// Planning that the row-wise operators share: how far a tensor's rows lie apart, where a request may be cut, what it
// costs. Host code only; kernels read the result (row_parameter.h).
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

/// For Plan::work_bytes: all inputs and wanted outputs, once each.
inline std::int64_t BytesTouched(const PlanRequest& request, const Plan& plan) {
  std::size_t bytes = 0;
  for (const std::optional<TensorDesc>& input : request.inputs) {
    bytes += input.has_value() ? input->ByteSize().value_or(0) : 0;
  }
  for (const OutputPlan& output : plan.outputs) {
    bytes += output.wanted ? output.bytes : 0;
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_PLAN_H_

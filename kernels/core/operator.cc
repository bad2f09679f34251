#include "kernels/core/operator.h"

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"

namespace kernelwire {
namespace {

/// "FP16, BF16 or FP32".
std::string Alternatives(const DataTypeSet& types) {
  std::string text = types.ToString();
  const std::size_t last_comma = text.rfind(", ");
  if (last_comma != std::string::npos) {
    text.replace(last_comma, 2, " or ");
  }
  return text;
}

/// The bytes of a tensor that may be one of a request's.
absl::StatusOr<std::size_t> CountBytes(const char* side, const std::string& name, const TensorDesc& desc) {
  const std::optional<std::size_t> bytes = desc.ByteSize();
  if (!bytes.has_value() || *bytes > kLargestTensorBytes) {
    return absl::InvalidArgumentError(absl::StrCat(side, " '", name,
                                                   "': expected a shape whose bytes are at most 2^56, got ",
                                                   NameOf(desc.dtype), " ", desc.shape.ToString()));
  }
  return *bytes;
}

absl::Status CheckShape(const TensorSpec& spec, const TensorDesc& desc) {
  for (const std::int64_t extent : desc.shape) {
    if (extent < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", spec.name, "': expected extents of at least 0, got shape ", desc.shape.ToString()));
    }
  }
  return CountBytes("input", spec.name, desc).status();
}

absl::Status CheckInput(const TensorSpec& spec, const std::optional<TensorDesc>& desc) {
  if (!desc.has_value()) {
    if (spec.optional) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("input '", spec.name, "': required (a tensor of ",
                                                   Alternatives(spec.dtypes), "), but it was not given"));
  }
  if (!spec.dtypes.Contains(desc->dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", spec.name, "': expected ", Alternatives(spec.dtypes), ", got ", NameOf(desc->dtype)));
  }
  return CheckShape(spec, *desc);
}

absl::Status CheckInputs(const OperatorSpec& spec, const PlanRequest& request) {
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (i < spec.inputs.size()) {
      KERNELWIRE_RETURN_IF_ERROR(CheckInput(spec.inputs[i], request.inputs[i]));
    } else if (request.inputs[i].has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("operator '", spec.name, "': expected at most ",
                                                     spec.inputs.size(), " inputs, got one at position ", i));
    }
  }
  return absl::OkStatus();
}

/// The outputs that a request gets which lists none.
std::uint32_t DefaultOutputs(const OperatorSpec& spec) {
  std::uint32_t wanted = 0;
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    wanted |= spec.outputs[i].optional ? 0u : 1u << i;
  }
  return wanted;
}

/// FNV-1a over the name: stable, and equal for copies of one operator.
std::uint64_t Identity(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

absl::Status CheckRowStrides(const Operator& op, const PlanRequest& request) {
  const auto check = [&](const char* kind, const std::vector<TensorSpec>& tensors, const auto& strides) {
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] < 0 || (strides[i] > 0 && (!op.takes_row_strides || i >= tensors.size()))) {
        return absl::InvalidArgumentError(
            absl::StrCat(kind, " ", i, " of operator '", op.spec.name, "': expected ",
                         op.takes_row_strides ? "a row stride of at least 0" : "rows that follow each other",
                         ", got a row stride of ", strides[i]));
      }
    }
    return absl::OkStatus();
  };
  KERNELWIRE_RETURN_IF_ERROR(check("input", op.spec.inputs, request.input_row_strides));
  return check("output", op.spec.outputs, request.output_row_strides);
}

}  // namespace

void InlineExecutor::ParallelFor(std::int64_t count, std::int64_t /*grain*/,
                                 const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count > 0) {
    body(0, count);
  }
}

absl::StatusOr<OutputPlan> PlanOutput(const std::string& name, const TensorDesc& desc) {
  OutputPlan output;
  output.wanted = true;
  output.desc = desc;
  KERNELWIRE_ASSIGN_OR_RETURN(output.bytes, CountBytes("output", name, desc));
  return output;
}

absl::StatusOr<Plan> PlanRequestFor(const Operator& op, const PlanRequest& request) {
  KERNELWIRE_RETURN_IF_ERROR(CheckInputs(op.spec, request));
  KERNELWIRE_RETURN_IF_ERROR(CheckRowStrides(op, request));
  const std::uint32_t known_outputs = (1u << op.spec.outputs.size()) - 1u;
  if ((request.wanted_outputs & ~known_outputs) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("operator '", op.spec.name, "': expected outputs among its ",
                                                   op.spec.outputs.size(), ", got the mask ", request.wanted_outputs));
  }
  const Attributes none;
  PlanRequest complete = request;
  complete.attributes = request.attributes != nullptr ? request.attributes : &none;
  if (complete.wanted_outputs == 0) {
    complete.wanted_outputs = DefaultOutputs(op.spec);
  }
  KERNELWIRE_ASSIGN_OR_RETURN(Plan plan, op.plan(complete));
  plan.key.Prepend(Identity(op.spec.name));
  return plan;
}

}  // namespace kernelwire

#include "server/codec/request_parameters.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/core/quoted.h"
#include "kernels/core/status_macros.h"

namespace kernelwire {
namespace {

using inference::InferParameter;
using GivenAttributes = std::vector<std::pair<std::string, AttributeValue>>;

std::string Describe(const InferParameter& value) {
  switch (value.parameter_choice_case()) {
    case InferParameter::kBoolParam:
      return absl::StrCat("the boolean ", value.bool_param() ? "true" : "false");
    case InferParameter::kInt64Param:
      return absl::StrCat("the integer ", value.int64_param());
    case InferParameter::kStringParam:
      return absl::StrCat("the string ", Quoted(value.string_param()));
    case InferParameter::kDoubleParam:
      return absl::StrCat("the number ", value.double_param());
    case InferParameter::kUint64Param:
      return absl::StrCat("the uint64 ", value.uint64_param());
    case InferParameter::PARAMETER_CHOICE_NOT_SET:
      break;
  }
  return "no value";
}

/// `where` is "" for the request's own parameters, else "input 'x': ".
absl::Status Mismatch(absl::string_view where, absl::string_view name, absl::string_view expected,
                      const InferParameter& got) {
  return absl::InvalidArgumentError(
      absl::StrCat(where, "parameter '", name, "': expected ", expected, ", got ", Describe(got)));
}

bool IsIgnored(absl::string_view name) {
  return name == "sequence_id" || name == "sequence_start" || name == "sequence_end" || name == "binary_data_output" ||
         absl::StartsWith(name, "triton_");
}

absl::StatusOr<DataType> ReadFp8(absl::string_view where, const InferParameter& value) {
  if (value.has_string_param()) {
    if (value.string_param() == "e4m3") {
      return DataType::kFp8E4m3;
    }
    if (value.string_param() == "e5m2") {
      return DataType::kFp8E5m2;
    }
  }
  return Mismatch(where, "fp8", "the string 'e4m3' or 'e5m2'", value);
}

/// An integer of either sign's type that is not negative; larger ones than an int64 holds count as its largest.
absl::StatusOr<std::int64_t> ReadNotNegative(absl::string_view name, absl::string_view unit,
                                             const InferParameter& value) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (value.has_uint64_param()) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(value.uint64_param(), kLargest));
  }
  if (value.has_int64_param() && value.int64_param() >= 0) {
    return value.int64_param();
  }
  return Mismatch("", name, absl::StrCat("an integer", unit, " of at least 0"), value);
}

absl::StatusOr<AttributeValue> ToAttribute(const std::string& name, const InferParameter& value) {
  switch (value.parameter_choice_case()) {
    case InferParameter::kBoolParam:
      return AttributeValue(value.bool_param());
    case InferParameter::kInt64Param:
      return AttributeValue(value.int64_param());
    case InferParameter::kStringParam:
      return AttributeValue(value.string_param());
    case InferParameter::kDoubleParam:
      return AttributeValue(value.double_param());
    case InferParameter::kUint64Param:
    case InferParameter::PARAMETER_CHOICE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "parameter ", Quoted(name), ": expected a value as bool_param, int64_param, string_param or double_param, got ",
      Describe(value)));
}

/// One parameter of the request: into `read`, or among the attributes.
absl::Status ReadOne(const std::string& name, const InferParameter& value, RequestParameters* read,
                     GivenAttributes* attributes) {
  if (value.parameter_choice_case() == InferParameter::PARAMETER_CHOICE_NOT_SET) {
    return absl::InvalidArgumentError(absl::StrCat("parameter ", Quoted(name), ": expected a value, got none"));
  }
  if (IsIgnored(name)) {
    return absl::OkStatus();
  }
  if (name == "priority") {
    KERNELWIRE_ASSIGN_OR_RETURN(const std::int64_t priority, ReadNotNegative(name, "", value));
    read->priority =
        static_cast<std::uint32_t>(std::min<std::int64_t>(priority, std::numeric_limits<std::uint32_t>::max()));
  } else if (name == "timeout") {
    KERNELWIRE_ASSIGN_OR_RETURN(const std::int64_t micros, ReadNotNegative(name, " of microseconds", value));
    read->timeout_micros = micros > 0 ? std::optional<std::int64_t>(micros) : std::nullopt;
  } else if (name == "fp8") {
    KERNELWIRE_ASSIGN_OR_RETURN(read->fp8, ReadFp8("", value));
  } else {
    KERNELWIRE_ASSIGN_OR_RETURN(AttributeValue attribute, ToAttribute(name, value));
    attributes->emplace_back(name, std::move(attribute));
  }
  return absl::OkStatus();
}

/// Looks before anything else does: a map has no order, and the answer must not depend on one.
absl::Status RefuseSharedMemory(absl::string_view kind, const std::string& tensor, const ParameterMap& parameters) {
  for (const auto& [name, value] : parameters) {
    if (absl::StartsWith(name, "shared_memory_")) {
      return absl::UnimplementedError(absl::StrCat(kind, " '", tensor, "': parameter ", Quoted(name),
                                                   ": shared memory is not served; send the tensor's bytes"));
    }
  }
  return absl::OkStatus();
}

absl::Status UnknownParameter(absl::string_view kind, const std::string& tensor, const std::string& name,
                              absl::string_view known) {
  return absl::InvalidArgumentError(
      absl::StrCat(kind, " '", tensor, "': unknown parameter ", Quoted(name), ": expected ", known));
}

}  // namespace

absl::StatusOr<RequestParameters> ReadRequestParameters(const ParameterMap& parameters, const OperatorSpec& spec) {
  RequestParameters read;
  GivenAttributes attributes;
  for (const auto& [name, value] : parameters) {
    KERNELWIRE_RETURN_IF_ERROR(ReadOne(name, value, &read, &attributes));
  }
  if (!attributes.empty()) {  // most requests have none, and then nothing is allocated
    KERNELWIRE_ASSIGN_OR_RETURN(read.attributes, Attributes::Parse(spec.attributes, attributes));
  }
  return read;
}

absl::StatusOr<std::optional<DataType>> ReadInputParameters(const std::string& input_name,
                                                            const ParameterMap& parameters) {
  KERNELWIRE_RETURN_IF_ERROR(RefuseSharedMemory("input", input_name, parameters));
  std::optional<DataType> fp8;
  for (const auto& [name, value] : parameters) {
    if (name != "fp8") {
      return UnknownParameter("input", input_name, name, "fp8 or none");
    }
    KERNELWIRE_ASSIGN_OR_RETURN(fp8, ReadFp8(absl::StrCat("input '", input_name, "': "), value));
  }
  return fp8;
}

absl::Status CheckOutputParameters(const std::string& output_name, const ParameterMap& parameters) {
  KERNELWIRE_RETURN_IF_ERROR(RefuseSharedMemory("output", output_name, parameters));
  if (!parameters.empty()) {
    return UnknownParameter("output", output_name, parameters.begin()->first, "none");
  }
  return absl::OkStatus();
}

}  // namespace kernelwire

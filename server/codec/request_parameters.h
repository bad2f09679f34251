// The parameters of a request, of its inputs and of its outputs: which are attributes of the operator, which belong to
// the protocol, and which nobody knows.
#ifndef KERNELWIRE_SERVER_CODEC_REQUEST_PARAMETERS_H_
#define KERNELWIRE_SERVER_CODEC_REQUEST_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/map.h"
#include "kernels/core/attributes.h"
#include "kernels/core/dtype.h"
#include "kernels/core/spec.h"
#include "open_inference.pb.h"

namespace kernelwire {

using ParameterMap = google::protobuf::Map<std::string, inference::InferParameter>;

struct RequestParameters {
  std::uint32_t priority = 0;  // 1 = first ... ; 0 = default; larger ones than this type's count as its max
  std::optional<std::int64_t> timeout_micros;  // > 0; nullopt: none given, or 0
  std::optional<DataType> fp8;                 // what UINT8 inputs are that do not say so themselves
  Attributes attributes;
};

/// Errors: INVALID_ARGUMENT that names the parameter, what was expected and what came.
absl::StatusOr<RequestParameters> ReadRequestParameters(const ParameterMap& parameters, const OperatorSpec& spec);

/// What an input's own `fp8` says, if it has one. Errors: UNIMPLEMENTED for shared memory, INVALID_ARGUMENT for a bad
/// value and for names that inputs do not have.
absl::StatusOr<std::optional<DataType>> ReadInputParameters(const std::string& input_name,
                                                            const ParameterMap& parameters);

/// Outputs have no parameters. Errors: UNIMPLEMENTED for shared memory, INVALID_ARGUMENT for any other.
absl::Status CheckOutputParameters(const std::string& output_name, const ParameterMap& parameters);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CODEC_REQUEST_PARAMETERS_H_

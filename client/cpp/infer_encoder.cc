#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "client/cpp/infer_codec.h"
#include "client/cpp/varint.h"
#include "grpcpp/support/slice.h"
#include "open_inference.pb.h"

namespace kernelwire::client {
namespace {

// Field 7 (raw_input_contents), length-delimited.
constexpr char kRawInputTag = (7 << 3) | 2;
static_assert(inference::ModelInferRequest::kRawInputContentsFieldNumber == 7);

// Protobuf reads no larger message, and gRPC would send the length of one above 4 GiB without its upper bits.
constexpr std::size_t kMostMessageBytes = std::numeric_limits<std::int32_t>::max();

void SetParameter(const ParameterValue& value, inference::InferParameter* parameter) {
  std::visit(
      [parameter](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>) {
          parameter->set_bool_param(held);
        } else if constexpr (std::is_same_v<Held, std::int64_t>) {
          parameter->set_int64_param(held);
        } else if constexpr (std::is_same_v<Held, double>) {
          parameter->set_double_param(held);
        } else {
          parameter->set_string_param(held);
        }
      },
      value);
}

// Everything but the payloads.
inference::ModelInferRequest HeaderOf(const InferRequest& request) {
  inference::ModelInferRequest header;
  header.set_model_name(request.model);
  header.set_model_version(request.version);
  header.set_id(request.id);
  for (const auto& [name, value] : request.parameters) {
    SetParameter(value, &(*header.mutable_parameters())[name]);
  }
  for (const InferInput& input : request.inputs) {
    auto* encoded = header.add_inputs();
    encoded->set_name(input.name);
    encoded->set_datatype(NameOf(input.tensor.dtype));
    encoded->mutable_shape()->Add(input.tensor.shape.begin(), input.tensor.shape.end());
  }
  for (const std::string& output : request.outputs) {
    header.add_outputs()->set_name(output);
  }
  return header;
}

Status CheckInput(const InferInput& input) {
  const TensorView& tensor = input.tensor;
  const auto refuse = [&input](const std::string& reason) {
    return Status(StatusCode::kInvalidArgument, "input '" + input.name + "': " + reason);
  };
  const std::optional<std::int64_t> count = ElementCount(tensor.shape);
  const std::size_t element = SizeOf(tensor.dtype);
  if (!count.has_value() || static_cast<std::uint64_t>(*count) > std::numeric_limits<std::size_t>::max() / element) {
    return refuse("shape " + ShapeText(tensor.shape) + " has a negative size or too many elements");
  }
  const std::size_t expected = static_cast<std::size_t>(*count) * element;
  if (expected != tensor.byte_size) {
    return refuse("shape " + ShapeText(tensor.shape) + " of " + NameOf(tensor.dtype) + " takes " +
                  std::to_string(expected) + " bytes, got " + std::to_string(tensor.byte_size));
  }
  if (tensor.data == nullptr && expected != 0) {
    return refuse("expected " + std::to_string(expected) + " bytes, got a null pointer");
  }
  return Status();
}

// What comes before a payload of so many bytes.
std::string PayloadHead(std::size_t byte_size) {
  std::string head(1, kRawInputTag);
  AppendVarint(byte_size, &head);
  return head;
}

// Before a payload is touched: a copy of one that is refused in the end could exhaust the memory.
Status CheckInputs(const std::vector<InferInput>& inputs, std::size_t header_bytes) {
  std::size_t message_bytes = header_bytes;
  for (const InferInput& input : inputs) {
    if (Status status = CheckInput(input); !status.ok()) {
      return status;
    }
    const std::size_t payload_bytes = input.tensor.byte_size;
    message_bytes += PayloadHead(payload_bytes).size();
    if (message_bytes > kMostMessageBytes || payload_bytes > kMostMessageBytes - message_bytes) {
      return Status(StatusCode::kInvalidArgument, "input '" + input.name + "': " + std::to_string(payload_bytes) +
                                                      " bytes after " + std::to_string(message_bytes) +
                                                      " do not fit in a message, which holds at most " +
                                                      std::to_string(kMostMessageBytes));
    }
    message_bytes += payload_bytes;
  }
  return Status();
}

// A slice over memory that `owner` keeps alive until the transport is done with it.
grpc::Slice ReferTo(const TensorView& tensor, const std::shared_ptr<const void>& owner) {
  using Owner = std::shared_ptr<const void>;
  return grpc::Slice(
      const_cast<void*>(tensor.data), tensor.byte_size, [](void* held) { delete static_cast<Owner*>(held); },
      new Owner(owner));
}

}  // namespace

Result<grpc::ByteBuffer> EncodeInferRequest(const InferRequest& request, const std::shared_ptr<const void>& borrowed) {
  std::vector<grpc::Slice> slices;
  std::string pending = HeaderOf(request).SerializeAsString();
  if (Status status = CheckInputs(request.inputs, pending.size()); !status.ok()) {
    return status;
  }
  for (const InferInput& input : request.inputs) {
    const TensorView& tensor = input.tensor;
    pending += PayloadHead(tensor.byte_size);
    if (tensor.byte_size <= kCopiedPayloadBytes) {
      pending.append(static_cast<const char*>(tensor.data), tensor.byte_size);
      continue;
    }
    slices.emplace_back(pending);
    pending.clear();
    const std::shared_ptr<const void>& owner = tensor.owner != nullptr ? tensor.owner : borrowed;
    slices.push_back(owner != nullptr ? ReferTo(tensor, owner) : grpc::Slice(tensor.data, tensor.byte_size));
  }
  if (!pending.empty() || slices.empty()) {
    slices.emplace_back(pending);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace kernelwire::client

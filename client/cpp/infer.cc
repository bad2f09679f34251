#include "kernelwire/infer.h"

#include <utility>

#include "client/cpp/encoded_request.h"
#include "client/cpp/infer_codec.h"

namespace kernelwire::client {

OutputTensor* InferReply::Find(std::string_view name) {
  for (OutputTensor& output : outputs) {
    if (output.name() == name) {
      return &output;
    }
  }
  return nullptr;
}

Result<EncodedRequest> EncodedRequest::From(const InferRequest& request) {
  Result<grpc::ByteBuffer> message = EncodeInferRequest(request, nullptr);
  if (!message.ok()) {
    return message.status();
  }
  return EncodedRequest(std::make_shared<const Bytes>(Bytes{*std::move(message)}));
}

std::size_t EncodedRequest::byte_size() const { return bytes_->message.Length(); }

}  // namespace kernelwire::client

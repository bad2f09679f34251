#include "server/rpc/message_bytes.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"

namespace kernelwire {

absl::Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message* message) {
  if (bytes.Length() > kMaxParsedBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("request: expected a message of type ", message->GetTypeName(),
                                                     " of at most ", kMaxParsedBytes, " bytes, got ", bytes.Length()));
  }
  grpc::ByteBuffer slices(bytes);  // the reader wants one that it may change
  grpc::ProtoBufferReader reader(&slices);
  if (!reader.status().ok() || !message->ParseFromZeroCopyStream(&reader)) {
    return absl::InvalidArgumentError(absl::StrCat("request: expected a message of type ", message->GetTypeName(),
                                                   ", got ", bytes.Length(), " bytes that are none"));
  }
  return absl::OkStatus();
}

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message) {
  grpc::Slice slice(message.ByteSizeLong());
  // A slice made by its size is ours alone until it is handed on, so that writing into it is allowed.
  message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace kernelwire

// Protobuf messages from and to the bytes of a call, for the methods that are not on the hot path.
#ifndef KERNELWIRE_SERVER_RPC_MESSAGE_BYTES_H_
#define KERNELWIRE_SERVER_RPC_MESSAGE_BYTES_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace kernelwire {

/// Errors: INVALID_ARGUMENT that names the type.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_MESSAGE_BYTES_H_

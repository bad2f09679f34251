// Protobuf messages from and to the bytes of a call, for the methods that are not on the hot path.
#ifndef KERNELWIRE_SERVER_RPC_MESSAGE_BYTES_H_
#define KERNELWIRE_SERVER_RPC_MESSAGE_BYTES_H_

#include <cstddef>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace kernelwire {

/// The largest message that ParseMessage takes: none of these methods has more to ask. Unknown fields cost the parser a
/// multiple of their bytes, in memory and time, so that a message of --max_message_bytes would hold up its queue.
inline constexpr std::size_t kMaxParsedBytes = std::size_t{128} * 1024;

/// Errors: RESOURCE_EXHAUSTED above kMaxParsedBytes, INVALID_ARGUMENT that names the type.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_MESSAGE_BYTES_H_

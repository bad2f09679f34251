// Joins a function of messages to the table of functions of bytes.
#ifndef KERNELWIRE_SERVER_RPC_TYPED_ANSWER_H_
#define KERNELWIRE_SERVER_RPC_TYPED_ANSWER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/status_macros.h"
#include "server/rpc/call_environment.h"
#include "server/rpc/message_bytes.h"

namespace kernelwire {

/// Parses a RequestMessage, calls `answer(request, &reply)`, which returns an absl::Status, and serialises the reply.
template <typename RequestMessage, typename ReplyMessage, typename Answer>
absl::StatusOr<grpc::ByteBuffer> TypedAnswer(const grpc::ByteBuffer& bytes, Answer&& answer) {
  RequestMessage request;
  KERNELWIRE_RETURN_IF_ERROR(ParseMessage(bytes, &request));
  ReplyMessage reply;
  KERNELWIRE_RETURN_IF_ERROR(answer(request, &reply));
  return SerializeMessage(reply);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_TYPED_ANSWER_H_

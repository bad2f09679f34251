#include "server/rpc/unary_call.h"

#include "server/rpc/call_queue.h"

namespace kernelwire {

absl::Status NoMessage(const Call& call) {
  if (call.cancelled()) {
    return absl::CancelledError("the call ended before its message came");
  }
  // Also what a message above the limit looks like from here; gRPC has answered that one already.
  return absl::InvalidArgumentError("request: expected one message, got none");
}

void UnaryCall::MessageRead(bool ok) {
  const CallEnvironment& environment = call_->queue().environment();
  absl::StatusOr<grpc::ByteBuffer> reply = ok ? answer_(environment, message_) : NoMessage(*call_);
  message_.Clear();
  if (reply.ok()) {
    call_->WriteAndFinish(*reply);
    return;
  }
  environment.parts.metrics->RecordError(reply.status().code());
  call_->Finish(reply.status());
}

}  // namespace kernelwire

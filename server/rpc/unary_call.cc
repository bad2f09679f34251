#include "server/rpc/unary_call.h"

#include "server/rpc/call_queue.h"

namespace kernelwire {

absl::Status NoMessage() { return absl::InvalidArgumentError("request: expected one message, got none"); }

absl::StatusCode CodeWithoutMessage(const Call& call) {
  return call.cancelled() ? absl::StatusCode::kCancelled : NoMessage().code();
}

void UnaryCall::MessageRead(bool ok) {
  const CallEnvironment& environment = call_->queue().environment();
  has_message_ = ok;
  absl::StatusOr<grpc::ByteBuffer> reply = ok ? answer_(environment, message_) : NoMessage();
  message_.Clear();
  if (reply.ok()) {
    call_->WriteAndFinish(*reply);
    return;
  }
  if (has_message_) {
    environment.parts.metrics->RecordError(reply.status().code());
  }
  call_->Finish(reply.status());
}

void UnaryCall::Release() {
  if (!has_message_) {
    call_->queue().environment().parts.metrics->RecordError(CodeWithoutMessage(*call_));
  }
  delete this;
}

}  // namespace kernelwire

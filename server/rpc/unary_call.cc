#include "server/rpc/unary_call.h"

#include "server/rpc/call_queue.h"

namespace kernelwire {

absl::Status NoMessage() { return absl::InvalidArgumentError("request: expected one message, got none"); }

void UnaryCall::MessageRead(bool ok) {
  absl::StatusOr<grpc::ByteBuffer> reply = ok ? answer_(call_->queue().environment(), message_) : NoMessage();
  message_.Clear();
  code_ = reply.status().code();
  if (reply.ok()) {
    call_->WriteAndFinish(*reply);
  } else {
    call_->Finish(reply.status());
  }
}

void UnaryCall::Release() {
  call_->queue().RecordError(call_->FinalCode(code_));
  delete this;
}

}  // namespace kernelwire

#include "server/rpc/unary_infer.h"

#include <memory>

#include "server/codec/infer_reply.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/unary_call.h"

namespace kernelwire {

void UnaryInfer::MessageRead(bool ok) {
  if (!ok || call_->cancelled()) {
    call_->Finish(NoMessage());
    return;
  }
  has_message_ = true;
  const absl::Status started = Start(bytes_, call_->DeadlineOn(*queue().environment().parts.clock));
  bytes_.Clear();
  if (!started.ok()) {
    Fail(started);
  }
}

void UnaryInfer::Complete(const Completion& completion) {
  if (!completion.status.ok()) {
    Fail(completion.status);
    return;
  }
  EncodeBegins();
  const grpc::ByteBuffer reply = EncodeInferReply(message(), completion);
  Replied(absl::StatusCode::kOk);
  call_->WriteAndFinish(reply);
}

void UnaryInfer::Fail(const absl::Status& status) {
  Replied(status.code());
  call_->Finish(status);
}

void UnaryInfer::Answered(bool ok) {
  if (has_message_) {
    Conclude(ok);
  }
}

void UnaryInfer::Release() {
  if (!has_message_) {
    queue().RecordError(call_->FinalCode(NoMessage().code()));
  }
  has_message_ = false;
  std::unique_ptr<UnaryInfer> self(this);
  if (!oversized()) {
    home_->Keep(std::move(self));
  }
}

}  // namespace kernelwire

#include "server/rpc/reflection_stream.h"

#include "server/batch/retry_hint.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/reflection.h"

namespace kernelwire {
namespace {

absl::Status Stopping() { return WithRetryHint(absl::UnavailableError("the server is stopping"), 0); }

}  // namespace

void ReflectionStream::MessageRead(bool ok) {
  if (finished_) {
    return;
  }
  if (!ok) {
    Finish(absl::OkStatus());
    return;
  }
  grpc::reflection::v1::ServerReflectionRequest question;
  const absl::Status parsed = ParseMessage(bytes_, &question);
  bytes_.Clear();
  if (!parsed.ok()) {
    Finish(parsed);
    return;
  }
  writing_ = true;
  call_->Write(SerializeMessage(AnswerReflection(question)));
}

void ReflectionStream::MessageWritten(bool ok) {
  writing_ = false;
  if (!ok) {
    Finish(absl::CancelledError("the client is gone"));
  } else if (draining_) {
    Finish(Stopping());
  } else {
    call_->Read(&bytes_);
  }
}

void ReflectionStream::Drain() {
  draining_ = true;
  if (!writing_) {
    Finish(Stopping());
  }
}

void ReflectionStream::Finish(const absl::Status& status) {
  if (!finished_) {
    finished_ = true;
    code_ = status.code();
    call_->Finish(status);
  }
}

void ReflectionStream::Release() {
  call_->queue().RecordError(call_->FinalCode(code_));
  delete this;
}

}  // namespace kernelwire

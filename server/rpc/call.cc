#include "server/rpc/call.h"

#include "grpc/support/time.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/status_encoder.h"

namespace kernelwire {

void Call::Arm() {
  context_.emplace();
  stream_.emplace(&*context_);
  context_->AsyncNotifyWhenDone(&over_event_);  // comes only for calls that were accepted
  reading_ = answered_ = answer_left_ = over_ = cancelled_ = refused_ = read_as_probe_ = false;
  stream_places_ = nullptr;
  queue_->environment().service.RequestCall(&*context_, &*stream_, queue_->grpc_queue(), queue_->grpc_queue(),
                                            &accept_event_);
}

Nanos Call::DeadlineOn(const Clock& clock) const {
  const gpr_timespec deadline = context_->raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return kNever;
  }
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  constexpr std::int64_t kCountableSeconds = 100LL * 366 * 24 * 3600;
  if (left.tv_sec >= kCountableSeconds) {
    return kNever;
  }
  return clock.Now() + left.tv_sec * 1'000'000'000 + left.tv_nsec;
}

absl::StatusCode Call::FinalCode(absl::StatusCode told) const {
  return cancelled_ || !answer_left_ ? absl::StatusCode::kCancelled : told;
}

void Call::Read(grpc::ByteBuffer* message) {
  reading_ = true;
  stream_->Read(message, &read_event_);
}

void Call::ReadInTurn(grpc::ByteBuffer* message) {
  read_into_ = message;
  queue_->ReadInTurn(this);
}

void Call::Write(const grpc::ByteBuffer& message) { stream_->Write(message, &write_event_); }

void Call::WriteAndFinish(const grpc::ByteBuffer& message) {
  stream_->WriteAndFinish(message, grpc::WriteOptions(), grpc::Status::OK, &answer_event_);
}

void Call::Finish(const absl::Status& status) {
  // Without a message before it, gRPC sends headers and status as one frame: what clients take for retryable.
  stream_->Finish(EncodeStatus(status, &*context_), &answer_event_);
}

void Call::Accepted(bool ok) {
  if (!ok) {
    queue_->ArmedReturned(this);
    return;
  }
  queue_->Accept(this);
}

void Call::ReadDone(bool ok) {
  reading_ = false;
  queue_->ReadEnded(this);
  handler_->MessageRead(ok);
  CloseIfDone();
}

void Call::WriteDone(bool ok) { handler_->MessageWritten(ok); }

void Call::AnswerDone(bool ok) {
  handler_->Answered(ok);
  answered_ = true;
  answer_left_ = ok;
  CloseIfDone();
}

void Call::Over(bool /*ok*/) {
  over_ = true;
  cancelled_ = context_->IsCancelled();
  const bool unread = queue_->StopWaitingToRead(this);  // answered while it waited, if not cancelled
  if (cancelled_) {
    handler_->Cancelled();
  }
  if (unread) {
    handler_->MessageRead(false);
  }
  CloseIfDone();
}

void Call::CloseIfDone() {
  if (!answered_ || !over_ || reading_) {
    return;
  }
  handler_.reset();
  stream_.reset();
  context_.reset();  // lets go of the library's call, too
  queue_->Closed(this);
}

}  // namespace kernelwire

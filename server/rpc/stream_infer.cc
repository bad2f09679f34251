#include "server/rpc/stream_infer.h"

#include <algorithm>
#include <utility>

#include "server/batch/retry_hint.h"
#include "server/codec/infer_reply.h"
#include "server/rpc/call_queue.h"

namespace kernelwire {

void StreamInfer::Element::Complete(const Completion& completion) {
  if (!completion.status.ok()) {
    Fail(completion.status);
    return;
  }
  EncodeBegins();
  reply_ = EncodeStreamReply(message(), completion);
  Replied(absl::StatusCode::kOk);
  stream_->Send(this);
}

void StreamInfer::Element::Fail(const absl::Status& status) {
  reply_ = EncodeStreamError(message().id(), status);
  Replied(status.code());
  stream_->Send(this);
}

void StreamInfer::MessageRead(bool ok) {
  reading_ = false;
  if (!ok) {
    ending_ = true;
    FinishIfDone();
    return;
  }
  if (ending_) {
    return;  // read before the server began to stop, come after: the stream's status says that it was not served
  }
  Element* const element = Take();
  const absl::Status started = element->Start(bytes_, call_->DeadlineOn(*call_->queue().environment().parts.clock));
  bytes_.Clear();
  if (!started.ok()) {
    element->Fail(started);
  }
  ReadMore();
}

void StreamInfer::ReadMore() {
  if (!reading_ && !ending_ && in_flight_ < call_->queue().environment().options.max_stream_requests) {
    reading_ = true;
    call_->Read(&bytes_);
  }
}

StreamInfer::Element* StreamInfer::Take() {
  if (spare_.empty()) {
    all_.push_back(std::make_unique<Element>(&call_->queue(), this));
    spare_.push_back(all_.back().get());
  }
  Element* const element = spare_.back();
  spare_.pop_back();
  element->in_flight_ = true;
  ++in_flight_;
  return element;
}

void StreamInfer::Send(Element* element) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (writing_ != nullptr) {
      outgoing_.push_back(element);
      return;
    }
    writing_ = element;
  }
  // Whoever made `writing_` its own is the only one that writes, until MessageWritten.
  call_->Write(element->reply_);
}

void StreamInfer::MessageWritten(bool ok) {
  Element* written = nullptr;
  Element* next = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!outgoing_.empty()) {
      next = outgoing_.front();
      outgoing_.pop_front();
    }
    written = std::exchange(writing_, next);
  }
  if (next != nullptr) {
    call_->Write(next->reply_);
  }
  Return(written, ok);
  ReadMore();
  FinishIfDone();
}

void StreamInfer::Return(Element* element, bool sent) {
  element->reply_.Clear();
  element->Conclude(sent);
  element->in_flight_ = false;
  --in_flight_;
  if (!element->oversized()) {
    spare_.push_back(element);
    return;
  }
  all_.erase(std::find_if(all_.begin(), all_.end(), [element](const auto& one) { return one.get() == element; }));
}

void StreamInfer::Cancelled() {
  ending_ = true;
  // Elements are given back on this thread only, so that none of them can go away under the scheduler's hands.
  for (const std::unique_ptr<Element>& element : all_) {
    if (element->in_flight_) {
      element->CancelRequest();
    }
  }
  FinishIfDone();
}

void StreamInfer::Drain() {
  if (!ending_) {
    ending_ = true;
    end_ = WithRetryHint(absl::UnavailableError("the server is stopping; what was read has been answered"), 0);
  }
  FinishIfDone();
}

void StreamInfer::FinishIfDone() {
  if (ending_ && in_flight_ == 0 && !finished_) {
    finished_ = true;
    call_->Finish(call_->cancelled() ? absl::CancelledError("the call ended") : end_);
  }
}

void StreamInfer::Release() {
  call_->queue().RecordError(call_->FinalCode(end_.code()));
  delete this;
}

}  // namespace kernelwire

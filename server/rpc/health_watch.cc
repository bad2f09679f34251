#include "server/rpc/health_watch.h"

#include <optional>

#include "health.pb.h"
#include "server/batch/retry_hint.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/unary_call.h"

namespace kernelwire {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

void HealthWatch::MessageRead(bool ok) {
  if (finished_) {
    return;
  }
  HealthCheckRequest request;
  const absl::Status status = ok ? ParseMessage(bytes_, &request) : NoMessage();
  bytes_.Clear();
  if (!status.ok()) {
    Finish(status);
    return;
  }
  service_ = request.service();
  watching_ = true;
  GoOn();
}

void HealthWatch::MessageWritten(bool ok) {
  writing_ = false;
  if (!ok || call_->cancelled()) {  // a write under way when the client goes may end well
    Finish(absl::CancelledError("the client is gone"));
    return;
  }
  GoOn();
}

void HealthWatch::Cancelled() {
  if (!writing_) {
    Finish(absl::CancelledError("the call ended"));
  }
}

void HealthWatch::Drain() {
  draining_ = true;
  GoOn();
}

void HealthWatch::GoOn() {
  if (finished_ || writing_) {
    return;
  }
  const int current = Current();
  if (watching_ && current != sent_) {
    HealthCheckResponse response;
    response.set_status(static_cast<HealthCheckResponse::ServingStatus>(current));
    sent_ = current;
    writing_ = true;
    call_->Write(SerializeMessage(response));
    return;
  }
  if (draining_) {
    Finish(WithRetryHint(absl::UnavailableError("the server is stopping"), 0));
  }
}

int HealthWatch::Current() const {
  const std::optional<Health> health = call_->queue().environment().parts.health->Get(service_);
  return health.has_value() ? static_cast<int>(*health) : HealthCheckResponse::SERVICE_UNKNOWN;
}

void HealthWatch::Finish(const absl::Status& status) {
  if (!finished_) {
    finished_ = true;
    code_ = status.code();
    call_->Finish(status);
  }
}

void HealthWatch::Release() {
  call_->queue().RecordError(call_->FinalCode(code_));
  delete this;
}

}  // namespace kernelwire

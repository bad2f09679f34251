#include "server/rpc/infer_request.h"

#include <algorithm>

#include "kernels/core/status_macros.h"
#include "server/observe/log.h"
#include "server/rpc/call_queue.h"

namespace kernelwire {
namespace {

// A header of more than this is not kept for reuse. Payloads are never part of it, unless they came as typed contents.
constexpr std::size_t kKeptHeaderBytes = std::size_t{64} * 1024;

const Clock& ClockOf(const CallQueue& queue) { return *queue.environment().parts.clock; }

}  // namespace

absl::Status InferRequest::Start(const grpc::ByteBuffer& bytes, Nanos call_deadline) {
  began_ = ClockOf(*queue_).Now();
  const absl::Status decoded = Decode(bytes);
  decoded_ = ClockOf(*queue_).Now();
  KERNELWIRE_RETURN_IF_ERROR(decoded);
  FillRequest(call_deadline);
  absl::Status submitted = queue_->environment().parts.scheduler->Submit(this);
  admitted_ = submitted.ok();  // read on this thread only, so that it does not matter if the reply has been sent by now
  return submitted;
}

absl::Status InferRequest::Decode(const grpc::ByteBuffer& bytes) {
  message_bytes = bytes.Length();
  oversized_ = message_bytes > kKeptHeaderBytes;
  KERNELWIRE_RETURN_IF_ERROR(message_.Parse(bytes));
  oversized_ = oversized_ && message_.header().ByteSizeLong() > kKeptHeaderBytes;
  return message_.Bind(*queue_->environment().parts.catalog);
}

void InferRequest::FillRequest(Nanos call_deadline) {
  op = message_.model()->op;
  op_index = message_.model()->op_index;
  plan = message_.plan();
  plan_request = message_.plan_request();
  priority = message_.priority();
  may_be_cut = message_.all_raw();  // the values of typed contents can only be found one after the other
  for (int i = 0; i < kMaxInputs; ++i) {
    input_bytes[i] = message_.input_bytes(i);
  }
  deadline = call_deadline;
  const std::int64_t timeout_micros = message_.timeout_micros().value_or(0);
  constexpr std::int64_t kNanosPerMicro = 1000;
  if (timeout_micros > 0 && timeout_micros < (kNever - began_) / kNanosPerMicro) {  // 0: none, as clients understand it
    deadline = std::min(deadline, began_ + timeout_micros * kNanosPerMicro);
  }
}

void InferRequest::CancelRequest() {
  if (admitted_) {
    queue_->environment().parts.scheduler->Cancel(this);
  }
}

absl::Status InferRequest::CopyInput(int input, std::size_t offset, std::size_t bytes, void* destination) {
  if (!may_be_cut) {
    return message_.CopyInput(input, destination);
  }
  message_.CopyRaw(input, offset, bytes, destination);
  return absl::OkStatus();
}

void InferRequest::InputsCopied() { message_.LetGoOfInputs(); }

void InferRequest::Placed() { queue_->Post(this); }

void InferRequest::Deliver() { queue_->environment().parts.scheduler->ResumeStaging(this); }

void InferRequest::EncodeBegins() { encode_began_ = ClockOf(*queue_).Now(); }

void InferRequest::Replied(absl::StatusCode code) {
  reply_ready_ = ClockOf(*queue_).Now();
  code_ = code;
  replied_.store(true, std::memory_order_release);
}

void InferRequest::Conclude(bool sent) {
  replied_.load(std::memory_order_acquire);
  absl::StatusCode code = code_;
  if (!sent && code == absl::StatusCode::kOk) {
    code = absl::StatusCode::kCancelled;
  }
  if (code == absl::StatusCode::kCancelled && deadline <= reply_ready_) {
    code = absl::StatusCode::kDeadlineExceeded;  // which is why gRPC cancelled the call
  }
  Record(code);
  if (admitted_) {
    queue_->environment().parts.scheduler->ReleaseBudget(*this);
  }
  admitted_ = false;
  replied_.store(false, std::memory_order_relaxed);
  encode_began_ = 0;
  deadline = kNever;
  message_.Clear();
}

void InferRequest::Record(absl::StatusCode code) const {
  const std::optional<std::uint32_t> index = OperatorIndex();
  if (!index.has_value()) {
    queue_->environment().parts.metrics->RecordError(code);
    return;
  }
  RequestRecord record;
  record.op_index = *index;
  record.code = code;
  record.duration = reply_ready_ - began_;
  const auto set = [&record](Stage stage, Nanos duration) {
    record.stages[static_cast<std::size_t>(stage)] = duration;
  };
  set(Stage::kDecode, decoded_ - began_);
  const RequestTimes passed = admitted_ ? times() : RequestTimes{};
  if (passed.staged != 0) {
    set(Stage::kStage, passed.staged - passed.placed);
  }
  if (passed.launched != 0) {
    set(Stage::kQueue, (passed.placed - passed.submitted) + (passed.launched - passed.staged));
  }
  if (passed.finished != 0) {
    set(Stage::kCopyIn, passed.copy_in);
    set(Stage::kKernel, passed.kernel);
    set(Stage::kCopyOut, passed.copy_out);
  }
  if (encode_began_ != 0) {
    set(Stage::kEncode, reply_ready_ - encode_began_);
  }
  queue_->environment().parts.metrics->RecordRequest(record);
  if (LogsRequests()) {
    LogRequest(message_.id(), message_.header().model_name(), record);
  }
}

std::optional<std::uint32_t> InferRequest::OperatorIndex() const {
  if (message_.model() != nullptr) {
    return message_.model()->op_index;
  }
  // A known model in an unknown version counts, too.
  const Model* model = queue_->environment().parts.catalog->FindAnyVersion(message_.header().model_name());
  return model == nullptr ? std::nullopt : std::optional<std::uint32_t>(model->op_index);
}

}  // namespace kernelwire

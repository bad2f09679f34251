#include "server/rpc/call_queue.h"

#include <pthread.h>

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/batch/retry_hint.h"
#include "server/rpc/refusal.h"
#include "server/rpc/status_encoder.h"

namespace kernelwire {
namespace {

constexpr std::uint64_t kTicksToRead = 8;  // a read times out after that many whole ticks
static_assert(kShortestReadTimeout / static_cast<int>(kTicksToRead) >= std::chrono::milliseconds(1),
              "gRPC's alarms count milliseconds");
constexpr std::size_t kMaxSpareCalls = 512;  // kept for reuse beyond what is armed
constexpr int kProbeReserve = 64;            // probes that may live beyond the limit of calls
constexpr std::size_t kProbePlaces = 8;      // to read, on each queue: probes do not wait for the others
// See MayTakePlace. One busy connection has most places to read; probes are few, and hold their places for no time.
constexpr std::size_t kReadFactor = 3;
constexpr std::size_t kProbeFactor = 1;
constexpr std::size_t kMaxEchoedPath = 200;

/// The part of one queue.
std::size_t PlacesToRead(const RpcOptions& options) {
  return static_cast<std::size_t>(options.max_reading_calls / options.completion_queues);
}

}  // namespace

CallQueue::CallQueue(CallEnvironment* environment, std::unique_ptr<grpc::ServerCompletionQueue> queue, int index)
    : environment_(environment),
      queue_(std::move(queue)),
      index_(index),
      mailbox_(queue_.get()),
      handlers_(this),
      turns_(PlacesToRead(environment->options), &PeerCounts::Peer::reading, kReadFactor),
      probe_turns_(kProbePlaces, &PeerCounts::Peer::probing, kProbeFactor) {}

CallQueue::~CallQueue() {
  if (thread_.joinable() || closed_) {
    return;  // Stop has run
  }
  queue_->Shutdown();  // never started: gRPC wants it drained all the same
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
  }
}

void CallQueue::Start() {
  KeepArmed();
  thread_ = std::thread([this] { Run(); });
}

void CallQueue::Stop() {
  // Closed by its own thread, which arms calls and sets alarms: neither may happen on a closed queue.
  PostOnce(&close_);
  thread_.join();
}

void CallQueue::PostOnce(Notice* notice) {
  if (!notice->posted.exchange(true)) {
    mailbox_.Post(notice);
  }
}

void CallQueue::Run() {
  pthread_setname_np(pthread_self(), absl::StrCat("kw-rpc-", index_).c_str());
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    static_cast<Event*>(tag)->Happen(ok);
  }
}

void CallQueue::KeepArmed() {
  while (arming_ && armed_ < environment_->options.armed_calls) {
    if (spare_calls_.empty()) {
      spare_calls_.push_back(std::make_unique<Call>(this));
    }
    Call* const call = spare_calls_.back().release();  // gRPC holds it now, until Retire
    spare_calls_.pop_back();
    ++armed_;
    call->Arm();
  }
}

void CallQueue::Accept(Call* call) {
  --armed_;
  ++live_;
  environment_->live_calls.fetch_add(1, std::memory_order_relaxed);
  call->peer_ = peers_.Add(call->context().c_call());
  const Method* method = environment_->methods.Find(call->context().method());
  call->read_as_probe_ = method != nullptr && method->read_as_probe();
  if (environment_->draining.load(std::memory_order_relaxed)) {
    environment_->late_calls.fetch_add(1, std::memory_order_relaxed);
  }
  absl::Status admitted = Admit(call, method);
  if (admitted.ok()) {
    call->handler_ = handlers_.Make(call, *method);
  } else {
    Refuse(call, std::move(admitted));
  }
  call->handler_->Begin();
  KeepArmed();
}

void CallQueue::Refuse(Call* call, absl::Status status) {
  call->refused_ = true;
  environment_->live_refused.fetch_add(1, std::memory_order_relaxed);
  RecordError(status.code());
  call->handler_ = HandlerPointer(new Refusal(call, std::move(status)));
}

absl::Status CallQueue::Admit(Call* call, const Method* method) {
  const RpcOptions& options = environment_->options;
  if (method == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("unknown method '", CutText(call->context_->method(), kMaxEchoedPath), "'"));
  }
  if (method->kind == MethodKind::kNotServed) {
    return absl::UnimplementedError(absl::StrCat(call->context_->method(), ": ", method->missing));
  }
  if (environment_->draining.load(std::memory_order_relaxed) && !method->probe) {
    return WithRetryHint(absl::UnavailableError("the server is stopping and takes no new calls"), 0);
  }
  const int reserve = method->probe ? kProbeReserve : 0;
  if (environment_->live_calls.load(std::memory_order_relaxed) > options.max_calls + reserve) {
    return LimitReached("the server", static_cast<std::size_t>(options.max_calls), "calls at once: --max_calls");
  }
  if (call->peer_ != nullptr && call->peer_->calls > options.max_calls_per_peer) {
    return LimitReached("this connection", static_cast<std::size_t>(options.max_calls_per_peer),
                        "calls at once: --max_calls_per_peer");
  }
  return method->streaming() ? AdmitStream(call, *method) : absl::OkStatus();
}

absl::Status CallQueue::AdmitStream(Call* call, const Method& method) {
  StreamPlaces& places = method.kind == MethodKind::kHealthWatch ? environment_->watches : environment_->streams;
  absl::Status taken = places.Take(call->peer_);
  if (taken.ok()) {
    call->stream_places_ = &places;
    streams_.PushBack(&call->stream_link_);
  }
  return taken;
}

void CallQueue::ArmedReturned(Call* call) {
  --armed_;
  arming_ = false;  // gRPC is shutting down, and would return the next one at once
  call->stream_.reset();
  call->context_.reset();
  Retire(call);
}

void CallQueue::Closed(Call* call) {
  --live_;
  environment_->live_calls.fetch_sub(1, std::memory_order_relaxed);
  if (call->refused_) {
    environment_->live_refused.fetch_sub(1, std::memory_order_relaxed);
  }
  if (call->stream_places_ != nullptr) {
    call->stream_places_->GiveBack(call->peer_);
    streams_.Remove(&call->stream_link_);
  }
  peers_.Remove(call->peer_);
  Retire(call);
}

void CallQueue::Retire(Call* call) {
  std::unique_ptr<Call> owned(call);
  if (spare_calls_.size() < kMaxSpareCalls) {
    spare_calls_.push_back(std::move(owned));
  }
  CloseIfEmpty();
}

ReadTurns& CallQueue::TurnsOf(const Call& call) { return call.read_as_probe_ ? probe_turns_ : turns_; }

void CallQueue::ReadInTurn(Call* call) {
  ReadTurns& turns = TurnsOf(*call);
  turns.Enter(call);
  BeginReads(&turns);
}

void CallQueue::BeginReads(ReadTurns* turns) {
  while (Call* const call = turns->Next()) {
    call->read_began_ = tick_;
    KeepTicking();
    call->Read(call->read_into_);
  }
}

void CallQueue::ReadEnded(Call* call) {
  ReadTurns& turns = TurnsOf(*call);
  if (!turns.IsReading(call)) {
    return;  // a stream
  }
  turns.Leave(call);
  BeginReads(&turns);
}

bool CallQueue::StopWaitingToRead(Call* call) {
  ReadTurns& turns = TurnsOf(*call);
  if (!turns.IsWaiting(call)) {
    return false;
  }
  turns.StopWaiting(call);
  return true;
}

void CallQueue::KeepTicking() {
  if (tick_pending_ || closed_) {
    return;
  }
  tick_pending_ = true;
  const auto interval = std::chrono::nanoseconds(environment_->options.read_timeout) / static_cast<int>(kTicksToRead);
  tick_alarm_.Set(queue_.get(), std::chrono::system_clock::now() + interval, &tick_event_);
}

void CallQueue::Tick(bool ok) {
  tick_pending_ = false;
  if (!ok) {
    return;
  }
  ++tick_;
  for (const ReadTurns* turns : {&turns_, &probe_turns_}) {
    EndStaleReads(*turns);
    if (turns->oldest() != nullptr) {
      KeepTicking();
    }
  }
}

void CallQueue::EndStaleReads(const ReadTurns& turns) const {
  for (Call* call = turns.oldest(); call != nullptr; call = IntrusiveList<Call>::Next(call)) {
    if (tick_ - call->read_began_ <= kTicksToRead) {
      break;  // those behind it began later
    }
    call->context().TryCancel();  // its read ends, and with it the call
  }
}

void CallQueue::DrainStreams() {
  for (auto* link = streams_.front(); link != nullptr; link = IntrusiveList<Call::StreamLink>::Next(link)) {
    link->call->handler_->Drain();
  }
}

void CallQueue::TellStreamsHealth() {
  for (auto* link = streams_.front(); link != nullptr; link = IntrusiveList<Call::StreamLink>::Next(link)) {
    link->call->handler_->HealthChanged();
  }
}

void CallQueue::Close() {
  stopping_ = true;
  arming_ = false;
  CloseIfEmpty();
}

void CallQueue::CloseIfEmpty() {
  // gRPC's server is down once its connections are; calls of ours may still wait for a device, or in the queue.
  if (stopping_ && !closed_ && armed_ == 0 && live_ == 0) {
    closed_ = true;
    tick_alarm_.Cancel();
    queue_->Shutdown();
  }
}

}  // namespace kernelwire

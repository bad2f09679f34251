// A completion queue with its thread and the calls that live on it.
#ifndef KERNELWIRE_SERVER_RPC_CALL_QUEUE_H_
#define KERNELWIRE_SERVER_RPC_CALL_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/alarm.h"
#include "grpcpp/completion_queue.h"
#include "server/rpc/call.h"
#include "server/rpc/call_environment.h"
#include "server/rpc/handler_factory.h"
#include "server/rpc/intrusive_list.h"
#include "server/rpc/mailbox.h"
#include "server/rpc/peer_counts.h"
#include "server/rpc/read_turns.h"

namespace kernelwire {

/// Everything but the functions marked "any thread" happens on the queue's own thread, so that calls need no lock.
class CallQueue {
 public:
  /// `index` is for the thread's name. `environment` outlives the queue.
  CallQueue(CallEnvironment* environment, std::unique_ptr<grpc::ServerCompletionQueue> queue, int index);
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  /// Arms calls and starts the thread. Once, after gRPC's server was started.
  void Start();
  /// Any thread: `mail` is delivered on the queue's thread. Only while a call of this queue lives.
  void Post(Mail* mail) { mailbox_.Post(mail); }
  /// Any thread: calls without an end of their own are told to end.
  void Drain() { PostOnce(&drain_); }
  /// Any thread: calls that watch the health are told.
  void TellHealth() { PostOnce(&health_changed_); }
  /// Waits for the last call and ends the thread. Once, after gRPC's server was shut down; by one thread.
  void Stop();

  CallEnvironment& environment() const { return *environment_; }
  /// Counts a call that failed and is no request of an operator; OK is none.
  void RecordError(absl::StatusCode code) const { environment_->parts.metrics->RecordError(code); }
  grpc::ServerCompletionQueue* grpc_queue() const { return queue_.get(); }

 private:
  friend class Call;

  struct Notice final : Mail {
    Notice(CallQueue* to_queue, void (CallQueue::*to_call)()) : queue(to_queue), call(to_call) {}
    void Deliver() override {
      posted.store(false);
      (queue->*call)();
    }
    CallQueue* queue;
    void (CallQueue::*call)();
    std::atomic<bool> posted{false};
  };
  void PostOnce(Notice* notice);

  void Run();
  void KeepArmed();
  void DrainStreams();
  void TellStreamsHealth();
  void Close();
  void CloseIfEmpty();

  // For calls.
  void Accept(Call* call);
  void ArmedReturned(Call* call);
  void Closed(Call* call);
  void ReadInTurn(Call* call);
  void ReadEnded(Call* call);
  bool StopWaitingToRead(Call* call);

  absl::Status Admit(Call* call, const Method* method);
  absl::Status AdmitStream(Call* call, const Method& method);
  void Refuse(Call* call, absl::Status status);
  ReadTurns& TurnsOf(const Call& call);
  void BeginReads(ReadTurns* turns);
  void KeepTicking();
  void Tick(bool ok);
  void EndStaleReads(const ReadTurns& turns) const;
  void Retire(Call* call);

  CallEnvironment* const environment_;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  const int index_;
  std::thread thread_;
  Mailbox mailbox_;
  HandlerFactory handlers_;

  std::vector<std::unique_ptr<Call>> spare_calls_;
  int armed_ = 0;          // calls that gRPC holds and has not matched
  int live_ = 0;           // calls that were accepted and are not closed
  bool arming_ = true;     // until gRPC says that it takes no more calls
  bool stopping_ = false;  // closes when it is empty
  bool closed_ = false;
  PeerCounts peers_;

  ReadTurns turns_;
  ReadTurns probe_turns_;
  IntrusiveList<Call::StreamLink> streams_;

  // Runs only while somebody reads.
  grpc::Alarm tick_alarm_;
  Event tick_event_ = Event::To<&CallQueue::Tick>(this);
  bool tick_pending_ = false;
  std::uint64_t tick_ = 0;

  Notice drain_{this, &CallQueue::DrainStreams};
  Notice health_changed_{this, &CallQueue::TellStreamsHealth};
  Notice close_{this, &CallQueue::Close};
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_CALL_QUEUE_H_

// One gRPC call of any method, from being armed to being closed; reused afterwards.
#ifndef KERNELWIRE_SERVER_RPC_CALL_H_
#define KERNELWIRE_SERVER_RPC_CALL_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/batch/clock.h"
#include "server/rpc/call_handler.h"
#include "server/rpc/event.h"
#include "server/rpc/intrusive_list.h"
#include "server/rpc/peer_counts.h"

namespace kernelwire {

class CallQueue;
class StreamPlaces;

/// A call belongs to one queue, and all its events come on that queue's thread. Operations are started on that thread
/// too, except that Write, WriteAndFinish and Finish may be started by any one thread at a time.
///
/// gRPC's own objects cannot be used twice; they are made anew in the same place for each call.
///
/// Invariant: a call is closed, and its place used again, only when (1) the answer's event, (2) the event that says the
/// call is over and (3) the event of a read under way have all come. gRPC promises each of them exactly once.
class Call : public ListLink<Call> {
 public:
  explicit Call(CallQueue* queue) : queue_(queue) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Waits for a client's call.
  void Arm();

  CallQueue& queue() const { return *queue_; }
  grpc::GenericServerContext& context() { return *context_; }
  /// Whether the client is gone.
  bool cancelled() const { return cancelled_; }
  /// What a call that was answered with `told` counts as: cancelled if the client went before it could hear that. Only
  /// once the call is over (in CallHandler::Release), since the end of an operation may be heard of before the reason.
  absl::StatusCode FinalCode(absl::StatusCode told) const;
  /// The client's deadline as a time of `clock`; kNever without one.
  Nanos DeadlineOn(const Clock& clock) const;

  /// Reads the next message into `message`, which must stay until MessageRead.
  void Read(grpc::ByteBuffer* message);
  /// The same once the queue has a free place for a call that reads (see RpcOptions::max_reading_calls).
  void ReadInTurn(grpc::ByteBuffer* message);

  void Write(const grpc::ByteBuffer& message);
  void WriteAndFinish(const grpc::ByteBuffer& message);
  void Finish(const absl::Status& status);

 private:
  /// A call in its queue's list of streams; beside the list of those that read or wait for it.
  struct StreamLink : ListLink<StreamLink> {
    explicit StreamLink(Call* its_call) : call(its_call) {}
    Call* const call;
  };

  friend class CallQueue;
  friend class ReadTurns;
  friend class ReadTurnsTest;

  void Accepted(bool ok);
  void ReadDone(bool ok);
  void WriteDone(bool ok);
  void AnswerDone(bool ok);
  void Over(bool ok);
  void CloseIfDone();

  CallQueue* const queue_;
  std::optional<grpc::GenericServerContext> context_;
  std::optional<grpc::GenericServerAsyncReaderWriter> stream_;
  HandlerPointer handler_;

  bool reading_ = false;
  bool answered_ = false;
  bool answer_left_ = false;
  bool over_ = false;
  bool cancelled_ = false;
  // For the queue: how it counts this call.
  bool refused_ = false;
  bool read_as_probe_ = false;
  StreamPlaces* stream_places_ = nullptr;  // null: no stream, or one that was not let in
  StreamLink stream_link_{this};
  PeerCounts::Peer* peer_ = nullptr;       // null: not known
  std::uint64_t read_began_ = 0;           // in ticks of the queue
  grpc::ByteBuffer* read_into_ = nullptr;  // of a call that waits for its turn to read

  Event accept_event_ = Event::To<&Call::Accepted>(this);
  Event read_event_ = Event::To<&Call::ReadDone>(this);
  Event write_event_ = Event::To<&Call::WriteDone>(this);
  Event answer_event_ = Event::To<&Call::AnswerDone>(this);
  Event over_event_ = Event::To<&Call::Over>(this);
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_CALL_H_

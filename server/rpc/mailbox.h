// Brings work from any thread to a completion queue's own thread.
#ifndef KERNELWIRE_SERVER_RPC_MAILBOX_H_
#define KERNELWIRE_SERVER_RPC_MAILBOX_H_

#include <atomic>

#include "grpcpp/alarm.h"
#include "grpcpp/completion_queue.h"
#include "server/rpc/event.h"

namespace kernelwire {

/// Something to be done on the queue's thread. It may be posted again once Deliver has begun, not before.
class Mail {
 public:
  virtual ~Mail() = default;
  virtual void Deliver() = 0;

 private:
  friend class Mailbox;
  Mail* next_ = nullptr;
};

/// A stack without a lock (pushed by many, emptied whole by one), and an alarm that wakes the queue when mail comes
/// into an empty box: one wake-up serves all mail that came before it is handled.
class Mailbox {
 public:
  explicit Mailbox(grpc::CompletionQueue* queue) : queue_(queue) {}

  /// Any thread. Never after the queue was shut down.
  void Post(Mail* mail);

 private:
  void Open(bool ok);

  grpc::CompletionQueue* const queue_;
  std::atomic<Mail*> newest_{nullptr};
  // Only who posts into the empty box sets the alarm, and the box is emptied only once the alarm has rung: so it is
  // never set twice at once.
  grpc::Alarm alarm_;
  Event opened_ = Event::To<&Mailbox::Open>(this);
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_MAILBOX_H_

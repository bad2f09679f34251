// What a method does with a call: told of each thing that happens to it, it starts the next.
#ifndef KERNELWIRE_SERVER_RPC_CALL_HANDLER_H_
#define KERNELWIRE_SERVER_RPC_CALL_HANDLER_H_

#include <memory>

namespace kernelwire {

class Call;

/// One object for one call. All functions are called on the thread of the call's queue.
///
/// A handler must answer every call exactly once (Call::Finish or Call::WriteAndFinish), one that was cancelled too,
/// and must have nothing else under way then but a read.
class CallHandler {
 public:
  virtual ~CallHandler() = default;

  /// The call was accepted; nothing has been read.
  virtual void Begin() = 0;
  /// Call::Read ended. Not ok: no more messages will come, since the client is done, gone, or sent one too large.
  virtual void MessageRead(bool ok) = 0;
  /// Call::Write ended.
  virtual void MessageWritten(bool /*ok*/) {}
  /// The client went away, or its deadline passed. Operations under way end by themselves.
  virtual void Cancelled() {}
  /// The answer has left (ok) or was dropped.
  virtual void Answered(bool /*ok*/) {}
  /// The server stops: calls that have no end of their own are to end soon.
  virtual void Drain() {}
  /// Some state in HealthState changed.
  virtual void HealthChanged() {}

  /// The call is over, and nothing is said to this object any more: it deletes itself, or goes back to where it is
  /// kept.
  virtual void Release() { delete this; }
};

struct ReleaseHandler {
  void operator()(CallHandler* handler) const { handler->Release(); }
};
using HandlerPointer = std::unique_ptr<CallHandler, ReleaseHandler>;

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_CALL_HANDLER_H_

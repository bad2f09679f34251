// One call in the calling thread: attempts, waits between them, and the end of the request's memory.
#ifndef KERNELWIRE_CLIENT_UNARY_CALLER_H_
#define KERNELWIRE_CLIENT_UNARY_CALLER_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "client/cpp/channel_set.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/byte_buffer.h"
#include "kernelwire/retry.h"
#include "kernelwire/status.h"

namespace grpc {
class ClientContext;
}

namespace kernelwire::client {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Now + timeout; a timeout of more than a year counts as a year, so that no clock overflows.
SteadyTime DeadlineAfter(std::chrono::nanoseconds timeout);
/// The same moment on the clock that gRPC reads.
std::chrono::system_clock::time_point OnSystemClock(SteadyTime time);
/// The outcome of a finished call, with the server's retry hint out of its trailers.
Status StatusOf(const grpc::Status& status, const grpc::ClientContext& context);

/// As long as somebody may wait for a connection that has failed.
inline constexpr std::chrono::nanoseconds kReconnectionWait = std::chrono::milliseconds(20);
/// If the channel's last connection failed, polls the network until it has one again, at most for `longest`.
/// Thread-safe.
///
/// gRPC connects anew by itself, but what its sockets have to say is heard only by who polls. A call on such a channel
/// fails at once, without polling, so that a caller of nothing but calls would leave it to a poller of gRPC's own that
/// looks every 5 s, and takes a look for each step of connecting.
void AwaitReconnection(grpc::Channel& channel, std::chrono::nanoseconds longest);

/// For one call, in one thread.
class UnaryCaller {
 public:
  explicit UnaryCaller(ChannelSet& channels);
  ~UnaryCaller();
  UnaryCaller(const UnaryCaller&) = delete;
  UnaryCaller& operator=(const UnaryCaller&) = delete;

  /// Sends `request` to `method` ("/package.Service/Method") until it succeeds, may not be repeated, or `deadline`.
  Status Call(const std::string& method, const grpc::ByteBuffer& request, SteadyTime deadline,
              const RetryPolicy& policy, grpc::ByteBuffer* reply);

  /// Returns when `released` is set, as it is when the transport lets go of the request's slices. After success that is
  /// immediate. After a failure the transport may still be writing some of them, and nothing but the peer's reading on
  /// or the end of the connection takes them from it.
  void AwaitRelease(const std::atomic<bool>& released);

 private:
  Status Attempt(const std::string& method, const grpc::ByteBuffer& request, SteadyTime deadline,
                 grpc::ByteBuffer* reply);

  const std::shared_ptr<grpc::Channel> channel_;
  grpc::CompletionQueue queue_;
};

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_UNARY_CALLER_H_

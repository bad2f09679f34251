// The gRPC front: ports, completion queues and limits. It takes every method as bytes (grpc::AsyncGenericService).
//
// A call's way: accepted at once by one of the queues, counted, looked up in the method table; refused here, or its
// message is read and its handler runs on the queue's thread. Nothing else polls: health and reflection are served on
// the same path, so that there is one place where calls are counted.
#ifndef KERNELWIRE_SERVER_RPC_RPC_SERVER_H_
#define KERNELWIRE_SERVER_RPC_RPC_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batch/clock.h"
#include "server/batch/scheduler.h"
#include "server/catalog/catalog.h"
#include "server/observe/metrics.h"
#include "server/rpc/health.h"

namespace kernelwire {

/// Of RpcOptions::read_timeout: the queues look at their reads eight times in it, each time a whole millisecond.
inline constexpr std::chrono::milliseconds kShortestReadTimeout{8};

struct RpcOptions {
  /// "host:port" ("[::]:8001", "127.0.0.1:0": the system picks), "unix:/path" (mode 0660), "unix-abstract:name".
  std::vector<std::string> addresses = {"0.0.0.0:8001"};
  /// Each has one thread. More than four only contend.
  int completion_queues = 2;
  /// Of a request's message; exactly that many bytes pass.
  std::size_t max_message_bytes = std::size_t{64} << 20;

  /// Calls alive at once; above it they are refused before anything is read. Health checks have a small reserve.
  int max_calls = 16384;
  /// Of these, calls of one connection on one queue; a burst may spill over to the other queues. Also told to clients
  /// as the limit of concurrent streams, which the well-behaved keep by themselves. Connections over Unix sockets are
  /// not counted: they cannot be told apart.
  int max_calls_per_peer = 1024;
  /// Unary calls whose message is being read; the others wait their turn, unread. A connection has three quarters of
  /// its queue's places at most (see ReadTurns). Probes have 8 places of their own on each queue.
  /// Memory before admission is bounded by
  /// (max_reading_calls + 8 * completion_queues + max_streams) * max_message_bytes.
  /// At least one for each queue.
  int max_reading_calls = 64;
  /// Streaming calls alive at once, ModelStreamInfer and reflection; above it they are refused, and of one connection
  /// above three quarters of it (see StreamPlaces). Health watches hold no message, and are counted by themselves: a
  /// quarter of max_calls at most.
  int max_streams = 64;
  /// Requests of one ModelStreamInfer that are not answered yet; above it the stream is not read.
  int max_stream_requests = 64;
  /// The message of a unary call or of a Watch must have come after this long; else the call is cancelled.
  std::chrono::milliseconds read_timeout = std::chrono::seconds(60);
  /// Calls that each queue holds ready to be matched with a client's.
  int armed_calls = 64;
  /// What gRPC may take for its buffers before it pushes back; 0: no limit.
  std::size_t memory_quota_bytes = 0;
  /// A connection without calls is closed after `max_connection_idle`. Every connection is closed, gently, at
  /// `max_connection_age`, so that clients behind a connection balancer spread again; calls alive may go on for
  /// `max_connection_age_grace`. 0: never.
  std::chrono::milliseconds max_connection_idle = std::chrono::minutes(5);
  std::chrono::milliseconds max_connection_age{0};
  std::chrono::milliseconds max_connection_age_grace = std::chrono::minutes(1);

  bool reflection = true;
  std::string server_name = "kernelwire";
  std::string server_version;
};

/// What calls work with; all of it outlives the server.
struct RpcParts {
  const Catalog* catalog = nullptr;
  Scheduler* scheduler = nullptr;
  Metrics* metrics = nullptr;
  HealthState* health = nullptr;
  const Clock* clock = nullptr;  // the scheduler's
};

/// A running server. The functions are thread-safe, except that Shutdown may be called by one thread only.
class RpcServer {
 public:
  /// Binds and serves. Errors: INVALID_ARGUMENT for an option out of range; UNAVAILABLE that names the address that
  /// could not be bound (bad, taken, or not allowed).
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const RpcOptions& options, const RpcParts& parts);
  /// Shuts down with no grace, if that was not done before.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  /// Where it listens, in the order of the options, with the ports that the system picked.
  const std::vector<std::string>& addresses() const { return addresses_; }
  /// The port of each address; 1 for a Unix socket (gRPC's convention).
  const std::vector<int>& ports() const { return ports_; }

  /// From now on new calls are answered UNAVAILABLE, with the hint to go elsewhere at once; health, ServerLive and
  /// ServerReady are still answered. Calls that were accepted before go on.
  void StopAccepting();

  /// Stops accepting, ends idle streams, waits for calls to end and for clients to stop coming (50 ms without a call,
  /// at most half a second), closes the ports, cancels what is left after `grace`, and waits for that, too. There is no
  /// limit to the last wait: a device that hangs blocks here, and the caller needs a watchdog. Later calls do nothing.
  /// Returns how many calls that had been let in were still there when the grace ended, and so were cut off. A probe
  /// that came in the last moment is not counted.
  int Shutdown(std::chrono::milliseconds grace);

  /// Calls alive, refused ones that are being answered included.
  int live_calls() const;

 private:
  struct Implementation;
  RpcServer();

  std::unique_ptr<Implementation> implementation_;
  std::vector<std::string> addresses_;
  std::vector<int> ports_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_RPC_SERVER_H_

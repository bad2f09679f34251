// What each connection has of a queue.
#ifndef KERNELWIRE_SERVER_RPC_PEER_COUNTS_H_
#define KERNELWIRE_SERVER_RPC_PEER_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "server/rpc/intrusive_list.h"

struct grpc_call;

namespace kernelwire {

class Call;

/// What one connection has of the places of a ReadTurns.
struct PeerTurn : ListLink<PeerTurn> {
  std::size_t held = 0;
  IntrusiveList<Call> waiting;  // oldest first
};

/// Not thread-safe: one for each queue, since a connection's calls arrive at one queue as long as that has calls armed.
class PeerCounts {
 public:
  /// What one connection has of a queue.
  struct Peer {
    int calls = 0;     // alive
    PeerTurn reading;  // of these, calls that read or wait for it
    PeerTurn probing;  // the same of probes
    std::size_t streams = 0;
    std::size_t watches = 0;
  };

  /// Counts the call to its connection (told by the peer's address with its port). Null for a Unix socket: gRPC names
  /// the listener in place of the client there, so that all connections would be taken for one. Otherwise valid until
  /// Remove.
  Peer* Add(grpc_call* call);
  /// Once for each Add; null is fine.
  void Remove(Peer* peer);

 private:
  // A connection's entry outlives its calls, so that one call at a time does not insert and erase. They are swept when
  // there are many.
  static constexpr std::size_t kSweepAbove = 4096;
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Peer>> peers_;  // by a hash of the address
  std::size_t idle_ = 0;  // entries that are, or have been, at zero since the last sweep
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_PEER_COUNTS_H_

// How many calls each connection has alive.
#ifndef KERNELWIRE_SERVER_RPC_PEER_COUNTS_H_
#define KERNELWIRE_SERVER_RPC_PEER_COUNTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

struct grpc_call;

namespace kernelwire {

/// Not thread-safe: one for each queue, since a connection's calls arrive at one queue as long as that has calls armed.
class PeerCounts {
 public:
  /// Identifies the call's connection (a hash of the peer's address with its port).
  static std::uint64_t PeerOf(grpc_call* call);

  /// Counts one more; returns how many there are now.
  int Add(std::uint64_t peer) { return ++counts_[peer]; }
  void Remove(std::uint64_t peer);

 private:
  // A connection's entry outlives its calls, so that one call at a time does not insert and erase. They are swept when
  // there are many.
  static constexpr std::size_t kSweepAbove = 4096;
  absl::flat_hash_map<std::uint64_t, int> counts_;
  std::size_t idle_ = 0;  // entries that are, or have been, at zero since the last sweep
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_PEER_COUNTS_H_

// How many streams there may be, and how many of them one connection may have.
#ifndef KERNELWIRE_SERVER_RPC_STREAM_PLACES_H_
#define KERNELWIRE_SERVER_RPC_STREAM_PLACES_H_

#include <atomic>
#include <cstddef>

#include "absl/status/status.h"
#include "server/rpc/peer_counts.h"

namespace kernelwire {

/// A number of places for streams of one kind, on all queues together. A connection has no more of them than
/// MayTakePlace says: three quarters when it is alone, so that others find some. Calls over Unix sockets, whose
/// connections are not known apart, are held to the number of places alone.
///
/// Thread-safe, except that a peer is its queue's.
class StreamPlaces {
 public:
  /// `held`: where a peer's places are counted. `name`: what there is a number of, and who set it, for errors.
  StreamPlaces(int places, std::size_t PeerCounts::Peer::*held, const char* name)
      : places_(static_cast<std::size_t>(places)), held_(held), name_(name) {}

  /// Null is a Unix socket's. Errors: RESOURCE_EXHAUSTED; then there is nothing to give back.
  absl::Status Take(PeerCounts::Peer* peer);
  void GiveBack(PeerCounts::Peer* peer);

 private:
  absl::Status Refuse(std::size_t held, std::size_t free) const;

  const std::size_t places_;
  std::size_t PeerCounts::Peer::*const held_;
  const char* const name_;
  std::atomic<std::size_t> taken_{0};
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_STREAM_PLACES_H_

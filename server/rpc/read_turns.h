// Which calls read their message, and whose turn is next.
#ifndef KERNELWIRE_SERVER_RPC_READ_TURNS_H_
#define KERNELWIRE_SERVER_RPC_READ_TURNS_H_

#include <cstddef>

#include "server/rpc/call.h"
#include "server/rpc/intrusive_list.h"
#include "server/rpc/peer_counts.h"

namespace kernelwire {

/// A number of places to read; a call without one waits, unread. A quarter of the places, one at least, is the share of
/// a connection, so that calls that send nothing keep those of other connections waiting until some of them time out,
/// not until all of them have had their turn. Calls over Unix sockets, whose connections are not known apart, have no
/// share to exceed.
///
/// Not thread-safe; owns nothing.
class ReadTurns {
 public:
  enum class Share {
    kWhileOthersWait,  // no place stays empty while a call waits
    kAlways,           // the places beyond a connection's share are for others, even when these have not come yet
  };

  /// `held`: where a peer's places are counted.
  ReadTurns(std::size_t places, std::size_t PeerCounts::Peer::*held, Share share);

  /// Gives the call a place, if it may have one; otherwise the call waits. Returns whether it has one.
  bool Enter(Call* call);
  bool IsReading(const Call* call) const;
  bool IsWaiting(const Call* call) const;
  /// The call's read has ended. Returns the call that has the place now; null: none.
  Call* Leave(Call* call);
  void StopWaiting(Call* call) { waiting_.Remove(call); }
  /// Of those that read, the one that began first; null: none.
  Call* oldest() const { return reading_.front(); }

 private:
  void Occupy(Call* call);
  std::size_t HeldByPeerOf(const Call& call) const;
  Call* Next() const;

  const std::size_t places_;
  const std::size_t share_;
  std::size_t PeerCounts::Peer::*const held_;
  const bool share_is_strict_;
  IntrusiveList<Call> reading_;  // oldest first
  IntrusiveList<Call> waiting_;  // the same
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_READ_TURNS_H_

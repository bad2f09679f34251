// Which calls read their message, and whose turn is next.
#ifndef KERNELWIRE_SERVER_RPC_READ_TURNS_H_
#define KERNELWIRE_SERVER_RPC_READ_TURNS_H_

#include <cstddef>

#include "server/rpc/call.h"
#include "server/rpc/intrusive_list.h"
#include "server/rpc/peer_counts.h"

namespace kernelwire {

/// A number of places to read; a call without one waits, unread. A connection has no more of them than MayTakePlace
/// says, so that calls that send nothing keep others waiting only until the first of them time out: from then on places
/// stay free for whoever comes. Of the connections that wait, the one with the fewest places comes first. Calls over
/// Unix sockets, whose connections are not known apart, count as of one.
///
/// Invariant after each change and the calls of Next that follow it: nobody waits who may have a place.
///
/// Not thread-safe; owns nothing.
class ReadTurns {
 public:
  /// `turn`: what a peer has here. `factor`: see MayTakePlace.
  ReadTurns(std::size_t places, PeerTurn PeerCounts::Peer::*turn, std::size_t factor)
      : places_(places), turn_(turn), factor_(factor) {}

  // After each of these, Next says who begins to read.
  /// The call waits.
  void Enter(Call* call);
  /// The call's read has ended.
  void Leave(Call* call);

  /// The next call that has a place from now on; null: nobody else may have one. To be called until then: a place given
  /// back may let more than one call in, since its connection holds less now, too.
  Call* Next();

  bool IsReading(const Call* call) const;
  bool IsWaiting(const Call* call);
  void StopWaiting(Call* call);
  /// Of those that read, the one that began first; null: none.
  Call* oldest() const { return reading_.front(); }

 private:
  PeerTurn& TurnOf(const Call& call);
  PeerTurn* WithFewestPlaces() const;

  const std::size_t places_;
  PeerTurn PeerCounts::Peer::*const turn_;
  const std::size_t factor_;
  PeerTurn of_unix_sockets_;
  IntrusiveList<Call> reading_;      // oldest first
  IntrusiveList<PeerTurn> waiting_;  // those with calls that wait; who got a place last comes last
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_READ_TURNS_H_

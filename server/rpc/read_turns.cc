#include "server/rpc/read_turns.h"

#include <algorithm>

namespace kernelwire {

ReadTurns::ReadTurns(std::size_t places, std::size_t PeerCounts::Peer::*held, Share share)
    : places_(places),
      share_(std::max<std::size_t>(1, places / 4)),
      held_(held),
      share_is_strict_(share == Share::kAlways) {}

bool ReadTurns::Enter(Call* call) {
  const bool within_share = !share_is_strict_ || HeldByPeerOf(*call) < share_;
  if (reading_.size() >= places_ || !within_share) {
    waiting_.PushBack(call);
    return false;
  }
  Occupy(call);
  return true;
}

bool ReadTurns::IsReading(const Call* call) const { return call->list() == &reading_; }

bool ReadTurns::IsWaiting(const Call* call) const { return call->list() == &waiting_; }

Call* ReadTurns::Leave(Call* call) {
  reading_.Remove(call);
  if (call->peer_ != nullptr) {
    --(call->peer_->*held_);
  }
  Call* const next = Next();
  if (next != nullptr) {
    waiting_.Remove(next);
    Occupy(next);
  }
  return next;
}

void ReadTurns::Occupy(Call* call) {
  reading_.PushBack(call);
  if (call->peer_ != nullptr) {
    ++(call->peer_->*held_);
  }
}

std::size_t ReadTurns::HeldByPeerOf(const Call& call) const { return call.peer_ == nullptr ? 0 : call.peer_->*held_; }

/// The first call whose peer is below its share; if there is none, the first of the peer that holds the fewest places.
/// Passes over the calls of peers at their share alone: few peers can be there at a time (four, or seven when there are
/// fewer than eight places), and RpcOptions::max_calls_per_peer bounds the calls of each.
Call* ReadTurns::Next() const {
  Call* best = nullptr;
  for (Call* call = waiting_.front(); call != nullptr; call = IntrusiveList<Call>::Next(call)) {
    if (HeldByPeerOf(*call) < share_) {
      return call;
    }
    if (!share_is_strict_ && (best == nullptr || HeldByPeerOf(*call) < HeldByPeerOf(*best))) {
      best = call;
    }
  }
  return best;
}

}  // namespace kernelwire

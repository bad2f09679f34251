#include "server/rpc/read_turns.h"

#include "server/rpc/may_take_place.h"

namespace kernelwire {

void ReadTurns::Enter(Call* call) {
  PeerTurn& turn = TurnOf(*call);
  if (turn.waiting.empty()) {
    waiting_.PushBack(&turn);
  }
  turn.waiting.PushBack(call);
}

void ReadTurns::Leave(Call* call) {
  reading_.Remove(call);
  --TurnOf(*call).held;
}

Call* ReadTurns::Next() {
  const std::size_t free = places_ - reading_.size();
  PeerTurn* const turn = free == 0 ? nullptr : WithFewestPlaces();
  if (turn == nullptr || !MayTakePlace(turn->held, free, factor_)) {
    return nullptr;  // nor may those that hold more
  }
  Call* const call = turn->waiting.front();
  StopWaiting(call);
  if (!turn->waiting.empty()) {
    waiting_.Remove(turn);
    waiting_.PushBack(turn);
  }
  reading_.PushBack(call);
  ++turn->held;
  return call;
}

bool ReadTurns::IsReading(const Call* call) const { return call->list() == &reading_; }

bool ReadTurns::IsWaiting(const Call* call) { return call->list() == &TurnOf(*call).waiting; }

void ReadTurns::StopWaiting(Call* call) {
  PeerTurn& turn = TurnOf(*call);
  turn.waiting.Remove(call);
  if (turn.waiting.empty()) {
    waiting_.Remove(&turn);
  }
}

PeerTurn& ReadTurns::TurnOf(const Call& call) { return call.peer_ == nullptr ? of_unix_sockets_ : call.peer_->*turn_; }

/// Quick however many wait: no more connections than there are places hold any, and one that holds none ends the
/// search.
PeerTurn* ReadTurns::WithFewestPlaces() const {
  PeerTurn* best = waiting_.front();
  for (PeerTurn* turn = best; turn != nullptr && best->held > 0; turn = IntrusiveList<PeerTurn>::Next(turn)) {
    if (turn->held < best->held) {
      best = turn;
    }
  }
  return best;
}

}  // namespace kernelwire

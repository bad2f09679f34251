#include "server/rpc/stream_places.h"

#include "absl/strings/str_cat.h"
#include "server/rpc/may_take_place.h"
#include "server/rpc/refusal.h"

namespace kernelwire {
namespace {

constexpr std::size_t kFactor = 3;  // see MayTakePlace

}  // namespace

absl::Status StreamPlaces::Take(PeerCounts::Peer* peer) {
  const std::size_t held = peer == nullptr ? 0 : peer->*held_;
  std::size_t taken = taken_.load(std::memory_order_relaxed);
  do {
    if (!MayTakePlace(held, places_ - taken, kFactor)) {
      return Refuse(held, places_ - taken);
    }
  } while (!taken_.compare_exchange_weak(taken, taken + 1, std::memory_order_relaxed));
  if (peer != nullptr) {
    ++(peer->*held_);
  }
  return absl::OkStatus();
}

void StreamPlaces::GiveBack(PeerCounts::Peer* peer) {
  taken_.fetch_sub(1, std::memory_order_relaxed);
  if (peer != nullptr) {
    --(peer->*held_);
  }
}

absl::Status StreamPlaces::Refuse(std::size_t held, std::size_t free) const {
  return free == 0 ? LimitReached("the server", places_, name_)
                   : LimitReached("this connection", held, absl::StrCat("its share of ", places_, " ", name_));
}

}  // namespace kernelwire

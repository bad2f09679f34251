#include "server/exec/shared_range.h"

#include <algorithm>
#include <limits>

namespace kernelwire {
namespace {

constexpr std::uint64_t kMostGrains = std::numeric_limits<std::uint32_t>::max();

std::uint64_t FirstOf(std::uint64_t left) { return left >> 32; }
std::uint64_t LastOf(std::uint64_t left) { return left & kMostGrains; }
std::uint64_t Pack(std::uint64_t first, std::uint64_t last) { return first << 32 | last; }
/// Shares are closed for good once they are empty, so none of these can be mistaken for another.
bool HasNone(std::uint64_t left) { return FirstOf(left) >= LastOf(left); }

}  // namespace

SharedRange::SharedRange(std::int64_t count, std::int64_t grain, int threads)
    : count_(count),
      grain_(std::max(grain, count / static_cast<std::int64_t>(kMostGrains) + 1)),
      threads_(static_cast<std::uint64_t>(threads)),
      shares_(std::min(threads, kMostShares)) {
  const std::int64_t grains = (count_ - 1) / grain_ + 1;
  const auto bound = [&](int share) { return static_cast<std::uint64_t>(grains * share / shares_); };
  for (int i = 0; i < shares_; ++i) {
    share_[i].left.store(Pack(bound(i), bound(i + 1)), std::memory_order_relaxed);
  }
}

std::optional<SharedRange::Piece> SharedRange::Take(int thread) { return TakeAtMost(thread, kMostGrains); }

std::optional<SharedRange::Piece> SharedRange::TakeShort(int thread) { return TakeAtMost(thread, 1); }

std::optional<SharedRange::Piece> SharedRange::TakeAtMost(int thread, std::uint64_t most) {
  const int own = thread % shares_;
  if (const auto piece = TakeFront(share_[own], most)) {
    return piece;
  }
  for (int distance = 1; distance < shares_; ++distance) {
    if (const auto piece = TakeBack(share_[(own + distance) % shares_], most)) {
      return piece;
    }
  }
  return std::nullopt;
}

/// Half of what is left: the others may want some of it.
std::optional<SharedRange::Piece> SharedRange::TakeFront(Share& share, std::uint64_t most) {
  std::uint64_t left = share.left.load(std::memory_order_relaxed);
  while (!HasNone(left)) {
    const std::uint64_t first = FirstOf(left);
    const std::uint64_t taken = std::clamp<std::uint64_t>((LastOf(left) - first) / 2, 1, most);
    if (share.left.compare_exchange_weak(left, Pack(first + taken, LastOf(left)), std::memory_order_relaxed)) {
      return PieceOf(first, first + taken);
    }
  }
  return std::nullopt;
}

/// Less than half: whoever is done with his own comes here.
std::optional<SharedRange::Piece> SharedRange::TakeBack(Share& share, std::uint64_t most) {
  std::uint64_t left = share.left.load(std::memory_order_relaxed);
  while (!HasNone(left)) {
    const std::uint64_t last = LastOf(left);
    const std::uint64_t taken = std::clamp<std::uint64_t>((last - FirstOf(left)) / (2 * threads_), 1, most);
    if (share.left.compare_exchange_weak(left, Pack(FirstOf(left), last - taken), std::memory_order_relaxed)) {
      return PieceOf(last - taken, last);
    }
  }
  return std::nullopt;
}

SharedRange::Piece SharedRange::PieceOf(std::uint64_t first, std::uint64_t last) const {
  return {static_cast<std::int64_t>(first) * grain_, std::min(static_cast<std::int64_t>(last) * grain_, count_)};
}

bool SharedRange::IsEmpty() const {
  return std::all_of(share_, share_ + shares_,
                     [](const Share& share) { return HasNone(share.left.load(std::memory_order_relaxed)); });
}

}  // namespace kernelwire

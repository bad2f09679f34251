// A range of indices that several threads work through together, each in a part of its own as long as there is some:
// threads that come back to the same memory find it in their own caches, and each reads memory in order.
#ifndef KERNELWIRE_SERVER_EXEC_SHARED_RANGE_H_
#define KERNELWIRE_SERVER_EXEC_SHARED_RANGE_H_

#include <atomic>
#include <cstdint>
#include <optional>

namespace kernelwire {

/// Thread-safe but for its construction. Every index is taken exactly once.
/// Source: E. P. Markatos and T. J. LeBlanc, "Using processor affinity in loop scheduling on shared-memory
/// multiprocessors", 1994; here the others take from the end that the owner comes to last.
class SharedRange {
 public:
  struct Piece {
    std::int64_t begin;
    std::int64_t end;
  };

  /// Indices [0, count), for about `threads` (>= 1) threads. Pieces are multiples of `grain` but for the last.
  /// Requires: count >= 1, grain >= 1.
  SharedRange(std::int64_t count, std::int64_t grain, int threads);
  SharedRange(const SharedRange&) = delete;
  SharedRange& operator=(const SharedRange&) = delete;

  /// Something to do for the thread that calls itself `thread` (>= 0), or nothing when all has been taken. Pieces are
  /// long while there is much left, for the sake of memory that is read in order, and short in the end, so that a
  /// thread which came late or was interrupted does not hold up the others.
  std::optional<Piece> Take(int thread);
  /// The same, of `grain` indices at most.
  std::optional<Piece> TakeShort(int thread);

  bool IsEmpty() const;

 private:
  /// Grains [first, last) that nobody has taken, as one number: first * 2^32 + last. On a cache line of its own.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> left{0};
  };
  static constexpr int kMostShares = 32;

  std::optional<Piece> TakeAtMost(int thread, std::uint64_t most);
  std::optional<Piece> TakeFront(Share& share, std::uint64_t most);
  std::optional<Piece> TakeBack(Share& share, std::uint64_t most);
  Piece PieceOf(std::uint64_t first, std::uint64_t last) const;

  std::int64_t count_;
  std::int64_t grain_;
  std::uint64_t threads_;
  int shares_;
  Share share_[kMostShares];
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXEC_SHARED_RANGE_H_

// Slabs: blocks of staging memory, each with its counterpart on the device, out of one bounded region.
//
// The region is taken once, at start. A pool cuts it in halves (the buddy system: Knuth, The Art of Computer
// Programming, 1, 2.5), so that a small batch holds a small block and one large request can have the whole region.
// Nothing is ever allocated or paged in from elsewhere: an exhausted pool is ordinary overload, and visible as such.
#ifndef KERNELWIRE_SERVER_MEMORY_SLAB_POOL_H_
#define KERNELWIRE_SERVER_MEMORY_SLAB_POOL_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace kernelwire {

/// Memory for a pool. `host` is aligned to 4096 bytes; `device` is the counterpart of the same size where kernels run
/// (equal to `host` for the host device). Frees itself.
class StagingRegion {
 public:
  virtual ~StagingRegion() = default;
  std::byte* host() const { return host_; }
  std::byte* device() const { return device_; }
  std::size_t bytes() const { return bytes_; }

 protected:
  std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Ordinary memory, page-aligned, with all its pages from the start, as pinned memory has them: what the server will
/// ever take shows at its start, and no request waits for a page. Null when the system has not as much, and for 0
/// bytes.
std::unique_ptr<StagingRegion> MakeHostRegion(std::size_t bytes);

class SlabPool;

/// A block that one batch holds. References: the batch, and every reply slice that points into it. Thread-safe.
class Slab {
 public:
  std::byte* host() const { return host_; }
  std::byte* device() const { return device_; }
  std::size_t bytes() const { return bytes_; }
  void AddReference() { references_.fetch_add(1, std::memory_order_relaxed); }
  /// Whether replies may point into the slab, and so hold it until their clients have read them, which may take for
  /// ever: not when slabs that are held so would be more than half of the pool. Holds until the slab goes back, of
  /// which the caller has a reference; references of replies are added as others are.
  bool MayWaitForReaders();
  /// The last release gives the block back to the pool and calls the pool's listener. Any thread, gRPC's included.
  void Release();

 private:
  friend class SlabPool;
  SlabPool* pool_ = nullptr;
  std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;
  std::size_t bytes_ = 0;
  std::atomic<int> references_{0};
  bool waits_for_readers_ = false;  // guarded by the pool's mutex
};

/// The smallest block of a device's pool.
inline constexpr std::size_t kSmallestSlabOfDevice = 16384;

/// Thread-safe. Must outlive every slab that it gave out: it may be destroyed once used_bytes() is 0 (AwaitUnused),
/// since the destructor waits for a Release that is still on its way out of the pool.
class SlabPool {
 public:
  /// Requires: `smallest` is a power of two >= 4096. What does not fill whole smallest blocks of the region is left
  /// unused.
  SlabPool(std::unique_ptr<StagingRegion> region, std::size_t smallest);
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  /// A block of at least `bytes` with one reference, or null when none is free just now (or ever: see `largest`).
  Slab* Take(std::size_t bytes);

  /// `count` such blocks, or none at all: who waits for several holds none meanwhile, so that two who do cannot wait
  /// for each other.
  std::vector<Slab*> TakeAll(std::size_t bytes, std::size_t count);

  /// What Take(bytes) gives. Requires: bytes <= largest().
  std::size_t BlockBytesFor(std::size_t bytes) const { return BlockBytes(OrderOf(bytes)); }
  /// The largest block that this pool can ever give.
  std::size_t largest() const { return largest_; }
  /// What all blocks together hold.
  std::size_t total_bytes() const { return std::size_t{block_count_} * smallest_; }
  /// Of whole blocks: what cannot be given to anybody else just now.
  std::size_t used_bytes() const { return used_.load(std::memory_order_acquire); }
  /// Waits, at most for `patience`, until used_bytes() is 0; whether it is. For the end, when nobody takes any more.
  bool AwaitUnused(std::chrono::nanoseconds patience) const;

  /// Called after a slab came back, from the releasing thread, without a lock held. It must not block and must not call
  /// gRPC or CUDA. Set once, before the first Take.
  void SetReleaseListener(std::function<void()> listener) { listener_ = std::move(listener); }

 private:
  friend class Slab;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  enum class BlockState : std::uint8_t { kInside, kFree, kTaken };  // kInside: of a block that begins before it

  /// One for every smallest block of the region; what it says holds for the block that begins there, if one does.
  struct Block {
    BlockState state = BlockState::kInside;
    std::uint8_t order = 0;  // the block is `smallest << order` bytes
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
  };

  bool MayWaitForReaders(Slab* slab);
  void GiveBack(Slab* slab);
  void CutRegion();
  // The five below: with mutex_ held.
  Slab* TakeSlab(std::size_t order);
  std::uint32_t TakeBlock(std::size_t order);
  std::size_t FreeBlock(std::uint32_t index);
  void Link(std::uint32_t index, std::size_t order);
  void Unlink(std::uint32_t index);

  std::size_t BlockBytes(std::size_t order) const { return smallest_ << order; }
  std::size_t OrderOf(std::size_t bytes) const;

  const std::unique_ptr<StagingRegion> region_;
  const std::size_t smallest_;
  const std::uint32_t block_count_;
  std::size_t largest_ = 0;
  std::function<void()> listener_;
  std::unique_ptr<Slab[]> slabs_;  // slabs_[i]: the taken block that begins at smallest block i
  std::atomic<std::size_t> used_{0};
  std::atomic<int> releasing_{0};  // threads inside GiveBack

  // Invariants: (1) every smallest block belongs to exactly one free or taken block; (2) two free buddies never stay
  // apart; (3) the lists hold every free block of their order and nothing else.
  std::mutex mutex_;
  std::size_t wait_for_readers_ = 0;  // bytes of slabs that may
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_lists_;  // by order: the first free block; a doubly linked list through blocks_
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_MEMORY_SLAB_POOL_H_

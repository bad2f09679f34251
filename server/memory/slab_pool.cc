#include "server/memory/slab_pool.h"

#include <algorithm>
#include <limits>
#include <thread>

namespace kernelwire {
namespace {

std::uint32_t CountBlocks(std::size_t region_bytes, std::size_t smallest) {
  // Block indices are 32 bits wide and the last value means "none": with 4 KiB blocks that is 16 TiB.
  constexpr std::size_t kMostBlocks = std::numeric_limits<std::uint32_t>::max() - 1;
  return static_cast<std::uint32_t>(std::min(region_bytes / smallest, kMostBlocks));
}

}  // namespace

bool Slab::MayWaitForReaders() { return pool_->MayWaitForReaders(this); }

void Slab::Release() {
  // Release on the way down, acquire at zero: every use of the memory comes before its next life.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    pool_->GiveBack(this);
  }
}

SlabPool::SlabPool(std::unique_ptr<StagingRegion> region, std::size_t smallest)
    : region_(std::move(region)),
      smallest_(smallest),
      block_count_(CountBlocks(region_->bytes(), smallest)),
      slabs_(std::make_unique<Slab[]>(block_count_)),
      blocks_(block_count_) {
  for (std::uint32_t i = 0; i < block_count_; ++i) {
    slabs_[i].pool_ = this;
    slabs_[i].host_ = region_->host() + i * smallest_;
    slabs_[i].device_ = region_->device() + i * smallest_;
  }
  CutRegion();
}

SlabPool::~SlabPool() {
  // The last Release may have made the pool whole, which its owner saw, and not have returned from the listener yet.
  while (releasing_.load(std::memory_order_acquire) != 0) {
    std::this_thread::yield();
  }
}

bool SlabPool::AwaitUnused(std::chrono::nanoseconds patience) const {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (used_bytes() != 0 && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // between looks: a release tells the listener alone
  }
  return used_bytes() == 0;
}

/// Largest blocks first: each then begins at a multiple of its own size, so that a buddy's index is one bit away.
void SlabPool::CutRegion() {
  std::size_t order = 0;
  while ((std::size_t{2} << order) <= block_count_) {
    ++order;
  }
  free_lists_.assign(order + 1, kNone);
  largest_ = block_count_ == 0 ? 0 : BlockBytes(order);
  for (std::uint32_t index = 0; index < block_count_;) {
    while ((std::size_t{1} << order) > block_count_ - index) {
      --order;
    }
    Link(index, order);
    index += std::uint32_t{1} << order;
  }
}

std::size_t SlabPool::OrderOf(std::size_t bytes) const {
  std::size_t order = 0;
  while (BlockBytes(order) < bytes) {
    ++order;
  }
  return order;
}

Slab* SlabPool::Take(std::size_t bytes) {
  if (bytes > largest_ || block_count_ == 0) {
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  return TakeSlab(OrderOf(bytes));
}

std::vector<Slab*> SlabPool::TakeAll(std::size_t bytes, std::size_t count) {
  std::vector<Slab*> slabs;
  if (bytes > largest_ || block_count_ == 0) {
    return slabs;
  }
  slabs.reserve(count);
  const std::lock_guard<std::mutex> lock(mutex_);
  while (slabs.size() < count) {
    Slab* const slab = TakeSlab(OrderOf(bytes));
    if (slab == nullptr) {
      // Nobody has seen them: nothing has come back, and the listener is not told.
      for (const Slab* taken : slabs) {
        used_.fetch_sub(FreeBlock(static_cast<std::uint32_t>(taken - slabs_.get())), std::memory_order_relaxed);
      }
      slabs.clear();
      break;
    }
    slabs.push_back(slab);
  }
  return slabs;
}

Slab* SlabPool::TakeSlab(std::size_t order) {
  const std::uint32_t index = TakeBlock(order);
  if (index == kNone) {
    return nullptr;
  }
  used_.fetch_add(BlockBytes(order), std::memory_order_relaxed);
  Slab& slab = slabs_[index];
  slab.bytes_ = BlockBytes(order);
  slab.references_.store(1, std::memory_order_relaxed);
  return &slab;
}

/// Halves the smallest free block that is large enough, until it is no larger than asked for.
std::uint32_t SlabPool::TakeBlock(std::size_t order) {
  std::size_t from = order;
  while (from < free_lists_.size() && free_lists_[from] == kNone) {
    ++from;
  }
  if (from == free_lists_.size()) {
    return kNone;
  }
  const std::uint32_t index = free_lists_[from];
  Unlink(index);
  while (from > order) {
    --from;
    Link(index + (std::uint32_t{1} << from), from);
  }
  blocks_[index].state = BlockState::kTaken;
  blocks_[index].order = static_cast<std::uint8_t>(order);
  return index;
}

bool SlabPool::MayWaitForReaders(Slab* slab) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!slab->waits_for_readers_ && wait_for_readers_ + slab->bytes_ <= total_bytes() / 2) {
    slab->waits_for_readers_ = true;
    wait_for_readers_ += slab->bytes_;
  }
  return slab->waits_for_readers_;
}

void SlabPool::GiveBack(Slab* slab) {
  releasing_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    wait_for_readers_ -= slab->waits_for_readers_ ? slab->bytes_ : 0;
    slab->waits_for_readers_ = false;
    // Release, with used_bytes' acquire: who sees the pool whole sees releasing_ raised too.
    used_.fetch_sub(FreeBlock(static_cast<std::uint32_t>(slab - slabs_.get())), std::memory_order_release);
  }
  if (listener_) {
    listener_();
  }
  releasing_.fetch_sub(1, std::memory_order_release);  // nothing of the pool is touched after this
}

/// Joins the block with its buddy as long as that one is free and whole. Returns the bytes that came back.
std::size_t SlabPool::FreeBlock(std::uint32_t index) {
  std::size_t order = blocks_[index].order;
  const std::size_t bytes = BlockBytes(order);
  blocks_[index].state = BlockState::kInside;
  while (true) {
    const std::uint32_t buddy = index ^ (std::uint32_t{1} << order);
    // Beyond the region's end lies no buddy; and one that has been cut is free only in parts.
    if (buddy >= block_count_ || blocks_[buddy].state != BlockState::kFree || blocks_[buddy].order != order) {
      break;
    }
    Unlink(buddy);
    index = std::min(index, buddy);
    ++order;
  }
  Link(index, order);
  return bytes;
}

void SlabPool::Link(std::uint32_t index, std::size_t order) {
  Block& block = blocks_[index];
  block.state = BlockState::kFree;
  block.order = static_cast<std::uint8_t>(order);
  // In order of address: what is in use stays at the region's beginning, and so does what has ever been touched.
  std::uint32_t before = kNone;
  std::uint32_t after = free_lists_[order];
  while (after != kNone && after < index) {
    before = after;
    after = blocks_[after].next;
  }
  block.previous = before;
  block.next = after;
  (before == kNone ? free_lists_[order] : blocks_[before].next) = index;
  if (after != kNone) {
    blocks_[after].previous = index;
  }
}

void SlabPool::Unlink(std::uint32_t index) {
  Block& block = blocks_[index];
  (block.previous == kNone ? free_lists_[block.order] : blocks_[block.previous].next) = block.next;
  if (block.next != kNone) {
    blocks_[block.next].previous = block.previous;
  }
  block.state = BlockState::kInside;
}

}  // namespace kernelwire

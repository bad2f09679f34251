// The end of a pool, which slabs that others still hold put off.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "server/memory/slab_pool.h"

namespace kernelwire {
namespace {

constexpr std::size_t kBlockBytes = 4096;
constexpr std::chrono::minutes kPatience(1);

std::unique_ptr<SlabPool> MakePoolOf(std::size_t bytes) {
  return std::make_unique<SlabPool>(MakeHostRegion(bytes), kBlockBytes);
}

TEST(SlabPoolEndTest, MayBeDestroyedAsSoonAsItIsWhole) {
  for (int round = 0; round < 500; ++round) {
    auto pool = MakePoolOf(kBlockBytes);
    auto told = std::make_unique<int>(0);
    pool->SetReleaseListener([&told] { ++*told; });
    Slab* slab = pool->Take(1);
    std::thread releaser([slab] { slab->Release(); });
    while (pool->used_bytes() != 0) {
      std::this_thread::yield();
    }
    pool.reset();  // waits for the listener, which may still be running
    EXPECT_EQ(*told, 1);
    told.reset();
    releaser.join();
  }
}

TEST(SlabPoolEndTest, ItsOwnerWaitsForTheLastReference) {
  for (int round = 0; round < 100; ++round) {
    auto pool = MakePoolOf(4 * kBlockBytes);
    Slab* first = pool->Take(1);
    Slab* second = pool->Take(1);
    second->AddReference();
    std::thread releaser([first, second] {
      first->Release();
      second->Release();
      second->host()[0] = std::byte{1};  // still held, still there
      second->Release();
    });
    EXPECT_TRUE(pool->AwaitUnused(kPatience));
    pool.reset();
    releaser.join();
  }
}

TEST(SlabPoolEndTest, WhatNeverComesBackIsNotWaitedForInVain) {
  const auto pool = MakePoolOf(4 * kBlockBytes);
  EXPECT_TRUE(pool->AwaitUnused(std::chrono::nanoseconds(0)));
  Slab* slab = pool->Take(1);
  EXPECT_FALSE(pool->AwaitUnused(std::chrono::milliseconds(5)));
  slab->Release();
  EXPECT_TRUE(pool->AwaitUnused(std::chrono::nanoseconds(0)));
}

}  // namespace
}  // namespace kernelwire

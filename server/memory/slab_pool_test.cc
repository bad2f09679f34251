// The pool against a model that only remembers who holds which bytes, and what several threads may do to it.
#include "server/memory/slab_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>

namespace kernelwire {
namespace {

constexpr std::size_t kBlock = 4096;

std::unique_ptr<SlabPool> MakePool(std::size_t bytes, std::size_t smallest = kBlock) {
  return std::make_unique<SlabPool>(MakeHostRegion(bytes), smallest);
}

/// Host memory whose counterpart lies elsewhere, as a GPU's does.
class TwoSidedRegion final : public StagingRegion {
 public:
  explicit TwoSidedRegion(std::size_t bytes) : near_(MakeHostRegion(bytes)), far_(MakeHostRegion(bytes)) {
    host_ = near_->host();
    device_ = far_->host();
    bytes_ = bytes;
  }

 private:
  std::unique_ptr<StagingRegion> near_, far_;
};

std::size_t PowerOfTwoAtLeast(std::size_t bytes) {
  std::size_t power = kBlock;
  while (power < bytes) {
    power *= 2;
  }
  return power;
}

TEST(HostRegionTest, IsAlignedWritableAndItsOwnCounterpart) {
  const std::unique_ptr<StagingRegion> region = MakeHostRegion(10000);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region->host()) % 4096, 0U);
  EXPECT_EQ(region->device(), region->host());
  EXPECT_EQ(region->bytes(), 10000U);
  std::memset(region->host(), 1, region->bytes());
}

TEST(HostRegionTest, NullWhenThereIsNoneToHave) {
  EXPECT_EQ(MakeHostRegion(0), nullptr);
  EXPECT_EQ(MakeHostRegion(std::size_t{1} << 62), nullptr);
}

TEST(SlabPoolTest, GivesTheSmallestPowerOfTwoThatIsEnough) {
  const auto pool = MakePool(16 * kBlock);
  for (const auto& [asked, given] : std::map<std::size_t, std::size_t>{
           {0, kBlock}, {1, kBlock}, {kBlock, kBlock}, {kBlock + 1, 2 * kBlock}, {5 * kBlock, 8 * kBlock}}) {
    Slab* slab = pool->Take(asked);
    ASSERT_NE(slab, nullptr) << asked;
    EXPECT_EQ(slab->bytes(), given) << asked;
    EXPECT_EQ(pool->used_bytes(), given);
    slab->Release();
    EXPECT_EQ(pool->used_bytes(), 0U);
  }
}

TEST(SlabPoolTest, HostAndDeviceSidesLieAtTheSameOffset) {
  auto region = std::make_unique<TwoSidedRegion>(8 * kBlock);
  const StagingRegion* sides = region.get();
  SlabPool pool(std::move(region), kBlock);
  Slab* first = pool.Take(kBlock);
  Slab* second = pool.Take(2 * kBlock);
  EXPECT_EQ(first->host() - sides->host(), first->device() - sides->device());
  EXPECT_EQ(second->host() - sides->host(), second->device() - sides->device());
  EXPECT_NE(first->host(), second->host());
  first->Release();
  second->Release();
}

TEST(SlabPoolTest, ExhaustionIsNullAndEndsWithARelease) {
  const auto pool = MakePool(4 * kBlock);
  Slab* half = pool->Take(2 * kBlock);
  Slab* other_half = pool->Take(2 * kBlock);
  ASSERT_NE(other_half, nullptr);
  EXPECT_EQ(pool->Take(1), nullptr);
  EXPECT_EQ(pool->used_bytes(), pool->total_bytes());
  half->Release();
  EXPECT_EQ(pool->Take(3 * kBlock), nullptr) << "the halves are not both free";
  other_half->Release();
  Slab* all = pool->Take(3 * kBlock);
  ASSERT_NE(all, nullptr) << "the halves did not become one again";
  EXPECT_EQ(all->bytes(), 4 * kBlock);
  all->Release();
}

TEST(SlabPoolTest, SeveralAtOnceOrNone) {
  const auto pool = MakePool(7 * kBlock);
  int told = 0;
  pool->SetReleaseListener([&told] { ++told; });
  EXPECT_EQ(pool->BlockBytesFor(kBlock + 1), 2 * kBlock);
  Slab* one = pool->Take(kBlock);
  EXPECT_TRUE(pool->TakeAll(2 * kBlock, 4).empty());
  EXPECT_TRUE(pool->TakeAll(8 * kBlock, 1).empty());
  EXPECT_EQ(pool->used_bytes(), kBlock);
  EXPECT_EQ(told, 0) << "nothing has come back";
  const std::vector<Slab*> three = pool->TakeAll(kBlock + 1, 3);
  ASSERT_EQ(three.size(), 3U);
  EXPECT_EQ(pool->used_bytes(), pool->total_bytes());
  for (Slab* slab : three) {
    EXPECT_EQ(slab->bytes(), 2 * kBlock);
    slab->Release();
  }
  one->Release();
  EXPECT_EQ(told, 4);
  Slab* largest = pool->Take(pool->largest());
  ASSERT_NE(largest, nullptr) << "the blocks did not become one again";
  largest->Release();
}

TEST(SlabPoolTest, LargerThanTheRegionIsNullForEver) {
  const auto pool = MakePool(4 * kBlock);
  EXPECT_EQ(pool->largest(), 4 * kBlock);
  EXPECT_EQ(pool->Take(4 * kBlock + 1), nullptr);
  EXPECT_EQ(pool->Take(~std::size_t{0}), nullptr);
}

TEST(SlabPoolTest, RegionsThatAreNoPowerOfTwo) {
  for (std::size_t blocks = 0; blocks <= 33; ++blocks) {
    const auto pool = MakePool(blocks * kBlock + 100);
    EXPECT_EQ(pool->total_bytes(), blocks * kBlock);
    std::size_t largest = 0;
    for (std::size_t power = 1; power <= blocks; power *= 2) {
      largest = power * kBlock;
    }
    EXPECT_EQ(pool->largest(), largest) << blocks;
    std::vector<Slab*> slabs;
    while (Slab* slab = pool->Take(kBlock)) {  // every block can be had by itself
      slabs.push_back(slab);
    }
    EXPECT_EQ(slabs.size(), blocks);
    for (Slab* slab : slabs) {
      slab->Release();
    }
    Slab* whole = pool->Take(largest);  // and they merge back, though not across the region's odd end
    ASSERT_EQ(whole == nullptr, blocks == 0);
    if (whole != nullptr) {
      whole->Release();
    }
  }
}

TEST(SlabPoolTest, OnlyTheLastReferenceGivesBack) {
  const auto pool = MakePool(kBlock);
  int calls = 0;
  pool->SetReleaseListener([&] {
    ++calls;
    EXPECT_EQ(pool->used_bytes(), 0U) << "the listener was told before the slab was back";
  });
  Slab* slab = pool->Take(1);
  slab->AddReference();
  slab->AddReference();
  slab->Release();
  slab->Release();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(pool->Take(1), nullptr);
  slab->Release();
  EXPECT_EQ(calls, 1);
}

TEST(SlabPoolTest, TheListenerMayTakeAgain) {
  const auto pool = MakePool(kBlock);
  Slab* again = nullptr;
  pool->SetReleaseListener([&] { again = again == nullptr ? pool->Take(1) : again; });
  pool->Take(1)->Release();
  ASSERT_NE(again, nullptr);
  again->Release();
}

/// Takes and releases at random and holds every answer against a map of who has which bytes.
void CompareWithModel(std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::size_t blocks = 1 + random() % 200;
  const std::size_t smallest = kBlock << (random() % 3);
  const auto pool = MakePool(blocks * smallest + random() % smallest, smallest);
  std::map<const std::byte*, Slab*> held;
  std::size_t used = 0;
  for (int step = 0; step < 400; ++step) {
    if (held.empty() || random() % 5 < 3) {
      const std::size_t bytes = 1 + random() % (smallest << (random() % 6));
      Slab* slab = pool->Take(bytes);
      if (slab == nullptr) {
        continue;
      }
      ASSERT_GE(slab->bytes(), bytes);
      ASSERT_EQ(slab->bytes(), std::max(smallest, PowerOfTwoAtLeast(bytes)));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(slab->host()) % 4096, 0U);
      const auto after = held.lower_bound(slab->host());
      ASSERT_TRUE(after == held.end() || slab->host() + slab->bytes() <= after->first) << "overlaps the next";
      ASSERT_TRUE(after == held.begin() || std::prev(after)->first + std::prev(after)->second->bytes() <= slab->host())
          << "overlaps the one before";
      held.emplace(slab->host(), slab);
      used += slab->bytes();
    } else {
      const auto victim = std::next(held.begin(), static_cast<std::ptrdiff_t>(random() % held.size()));
      used -= victim->second->bytes();
      victim->second->Release();
      held.erase(victim);
    }
    ASSERT_EQ(pool->used_bytes(), used);
  }
  for (const auto& [address, slab] : held) {
    slab->Release();
  }
  ASSERT_EQ(pool->used_bytes(), 0U);
  Slab* whole = pool->Take(pool->largest());
  ASSERT_NE(whole, nullptr) << "free blocks did not merge";
  whole->Release();
}

TEST(SlabPoolTest, AgreesWithAModel) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    CompareWithModel(seed);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(SlabPoolTest, ManyThreadsTakeWriteAndRelease) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 3000;
  auto pool = MakePool(64 * kBlock);
  std::atomic<int> told{0};
  std::atomic<int> taken{0};
  pool->SetReleaseListener([&] { told.fetch_add(1); });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<std::uint32_t>(t));
      for (int round = 0; round < kRounds; ++round) {
        Slab* slab = pool->Take(1 + random() % (16 * kBlock));
        if (slab == nullptr) {
          continue;
        }
        taken.fetch_add(1);
        std::memset(slab->host(), t, 64);
        slab->AddReference();
        slab->Release();
        EXPECT_EQ(static_cast<int>(slab->host()[63]), t) << "two holders of one block";
        slab->Release();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(told, taken);
  EXPECT_EQ(pool->used_bytes(), 0U);
  Slab* whole = pool->Take(pool->largest());
  ASSERT_NE(whole, nullptr);
  whole->Release();
}

// The other half goes on from hand to hand, however long readers take, among those who need no more than that.
TEST(SlabPoolTest, AtMostHalfOfThePoolWaitsForReaders) {
  auto pool = MakePool(8 * kBlock);
  Slab* const large = pool->Take(4 * kBlock);
  Slab* const small = pool->Take(kBlock);
  ASSERT_TRUE(large != nullptr && small != nullptr);
  EXPECT_TRUE(large->MayWaitForReaders());
  EXPECT_TRUE(large->MayWaitForReaders()) << "counted once";
  EXPECT_FALSE(small->MayWaitForReaders());
  large->Release();
  EXPECT_TRUE(small->MayWaitForReaders());
  small->Release();
  Slab* const again = pool->Take(4 * kBlock);
  EXPECT_TRUE(again->MayWaitForReaders()) << "of what has come back nothing is counted";
  again->Release();
  Slab* const whole = pool->Take(8 * kBlock);
  EXPECT_FALSE(whole->MayWaitForReaders());
  whole->Release();
}

TEST(SlabPoolTest, ReferencesOfOneSlabGoFromManyThreads) {
  constexpr int kThreads = 4;
  auto pool = MakePool(kBlock);
  std::atomic<int> told{0};
  pool->SetReleaseListener([&] { told.fetch_add(1); });
  for (int round = 1; round <= 500; ++round) {
    Slab* slab = pool->Take(kBlock);
    ASSERT_NE(slab, nullptr);
    for (int t = 1; t < kThreads; ++t) {
      slab->AddReference();
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([slab, t] {
        slab->host()[t] = std::byte{1};
        slab->Release();
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    ASSERT_EQ(told, round);
  }
}

}  // namespace
}  // namespace kernelwire

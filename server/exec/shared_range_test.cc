// That every index is taken once, by whomever, and that threads keep to their own part while it lasts.
#include "server/exec/shared_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace kernelwire {
namespace {

using Piece = SharedRange::Piece;

/// What `thread` gets when nobody else takes anything.
std::vector<Piece> TakeAll(SharedRange& range, int thread) {
  std::vector<Piece> pieces;
  while (const auto piece = range.Take(thread)) {
    pieces.push_back(*piece);
  }
  return pieces;
}

/// Holds pieces to the promise: [0, count) without gaps, cut at multiples of `grain`.
void ExpectWhole(std::vector<Piece> pieces, std::int64_t count, std::int64_t grain) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  std::int64_t next = 0;
  for (const Piece& piece : pieces) {
    ASSERT_EQ(piece.begin, next);
    ASSERT_GT(piece.end, piece.begin);
    ASSERT_EQ(piece.begin % grain, 0);
    next = piece.end;
  }
  EXPECT_EQ(next, count);
}

TEST(SharedRangeTest, OneThreadTakesEverything) {
  for (const int threads : {1, 2, 3, 16, 100}) {
    for (const std::int64_t count : {1, 2, 31, 32, 33, 1000, 65537}) {
      for (const std::int64_t grain : {1, 7, 2000}) {
        SharedRange range(count, grain, threads);
        EXPECT_FALSE(range.IsEmpty());
        ExpectWhole(TakeAll(range, threads - 1), count, grain);
        EXPECT_TRUE(range.IsEmpty());
        EXPECT_FALSE(range.Take(0).has_value());
        EXPECT_FALSE(range.TakeShort(0).has_value());
      }
    }
  }
}

TEST(SharedRangeTest, RangesOfAnyLength) {
  for (const std::int64_t count :
       {std::int64_t{1} << 32, (std::int64_t{1} << 40) + 1, std::numeric_limits<std::int64_t>::max() / 64}) {
    SharedRange range(count, 1, 3);
    ExpectWhole(TakeAll(range, 1), count, 1);
  }
}

TEST(SharedRangeTest, EachThreadBeginsWithItsOwnPart) {
  SharedRange range(1200, 1, 3);
  EXPECT_EQ(range.Take(0)->begin, 0);
  EXPECT_EQ(range.Take(1)->begin, 400);
  EXPECT_EQ(range.Take(2)->begin, 800);
  EXPECT_EQ(range.Take(1)->begin, 600);  // goes on where it was, half of what is left at a time
}

TEST(SharedRangeTest, OthersTakeFromTheEnd) {
  SharedRange range(800, 1, 2);
  for (std::int64_t last = 0; last < 400;) {
    const auto piece = range.Take(0);
    ASSERT_TRUE(piece.has_value());
    EXPECT_EQ(piece->begin, last);  // in order
    last = piece->end;
  }
  EXPECT_EQ(range.Take(0)->end, 800);    // thread 1 has not come yet
  EXPECT_EQ(range.Take(1)->begin, 400);  // now it has, and finds its own beginning
}

TEST(SharedRangeTest, ShortPiecesAreAGrain) {
  SharedRange range(1000, 30, 2);
  const auto piece = range.TakeShort(0);
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->end - piece->begin, 30);
}

TEST(SharedRangeTest, ManyThreadsAtOnce) {
  constexpr int kThreads = 4;
  std::mt19937 random(1);  // the same loops in every run
  for (int round = 0; round < 200; ++round) {
    const auto count = static_cast<std::int64_t>(1 + random() % 5000);
    const auto grain = static_cast<std::int64_t>(1 + random() % 50);
    SharedRange range(count, grain, kThreads - 1);  // more come than were counted on
    std::vector<std::vector<Piece>> taken(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { taken[static_cast<std::size_t>(i)] = TakeAll(range, i); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    std::vector<Piece> all;
    for (const std::vector<Piece>& pieces : taken) {
      all.insert(all.end(), pieces.begin(), pieces.end());
    }
    ExpectWhole(all, count, grain);
  }
}

}  // namespace
}  // namespace kernelwire

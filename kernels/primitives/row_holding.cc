#include "kernels/primitives/row_holding.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

namespace kernelwire {
namespace {

/// The warps that hold a row with `vectors` vectors a thread.
int WarpsOf(std::int64_t row_bytes, int vectors) {
  const std::int64_t of_warp = std::int64_t{32} * 16 * vectors;
  return static_cast<int>((row_bytes + of_warp - 1) / of_warp);
}

int RoundedUp(int count, int parts) { return (count + parts - 1) / parts; }

/// `blocks` blocks of equal shares of a row; the last ones may have nothing.
RowTuning ShareRow(std::int64_t row_bytes, int vectors, int blocks) {
  RowTuning tuning;
  tuning.method = RowTuning::Method::kBlocks;
  tuning.threads = RoundedUp(WarpsOf(row_bytes, vectors), blocks) * 32;
  tuning.vectors = vectors;
  tuning.cluster_blocks = blocks;
  return tuning;
}

/// By blocks with 8 vectors a thread, some of which a multiprocessor has at a time. A row that one can have has one.
/// Others have as many as leave hardly a warp without a share, of about four warps: fewer warps begin more often, more
/// wait for each other. Requires: a cluster can hold the row so.
RowTuning HoldInSmallBlocks(std::int64_t row_bytes) {
  constexpr int kMostWarps = 8;
  constexpr int kLeastWarps = 3;
  constexpr int kBestWarps = 4;
  const int warps = WarpsOf(row_bytes, 8);
  int best = RoundedUp(warps, kMostWarps);
  int least = std::numeric_limits<int>::max();
  for (int blocks = best; blocks > 1 && blocks <= kMostBlocksOfRow; ++blocks) {
    const int share = RoundedUp(warps, blocks);
    if (RoundedUp(warps, share) != blocks) {
      continue;
    }
    const int empty = share * blocks - warps;
    const int cost = (empty * 32 > warps ? empty * kMostWarps : 0) + std::abs(share - kBestWarps);
    if (share >= kLeastWarps && cost < least) {
      best = blocks;
      least = cost;
    }
  }
  return ShareRow(row_bytes, 8, best);
}

}  // namespace

RowTuning HoldRow(std::int64_t row_bytes, int most_threads, int vectors) {
  return ShareRow(row_bytes, vectors, RoundedUp(WarpsOf(row_bytes, vectors), most_threads / 32));
}

RowTuning LookAhead(std::int64_t row_bytes, int most_threads, bool powers) {
  const int least = RoundedUp(WarpsOf(row_bytes, 8), most_threads / 32);
  int blocks = powers ? 1 : least;
  while (blocks < least && blocks < kMostBlocksOfRow) {
    blocks *= 2;
  }
  RowTuning tuning = ShareRow(row_bytes, 8, blocks);
  tuning.looks_ahead = true;
  tuning.roomy = true;
  return tuning;
}

RowTuning HoldBy(const Holding& holding, std::int64_t row_bytes, const HoldingKernels& kernels) {
  switch (holding.way) {
    case HoldingWay::kFour: {
      const int threads = kernels.small_blocks ? std::min(holding.threads, kMostThreadsOfSmallBlock) : holding.threads;
      return WarpsOf(row_bytes, 4) * 32 <= threads * kMostBlocksOfRow ? HoldRow(row_bytes, threads, 4)
                                                                      : HoldInSmallBlocks(row_bytes);
    }
    case HoldingWay::kWarp: {
      if (!kernels.warps) {
        return HoldInSmallBlocks(row_bytes);
      }
      const auto fits = [&](int vectors) { return WarpsOf(row_bytes, vectors) == 1; };
      const int vectors = *std::find_if(std::begin(kVectorsOfWarp), std::end(kVectorsOfWarp), fits);
      return HoldRow(row_bytes, 32, vectors > 8 && fits(8) ? 8 : vectors);
    }
    case HoldingWay::kEight:
      return HoldInSmallBlocks(row_bytes);
    case HoldingWay::kRoomy: {
      RowTuning tuning = HoldRow(row_bytes, holding.threads, 8);
      tuning.roomy = true;
      return tuning;
    }
    case HoldingWay::kSixteen:
      return HoldRow(row_bytes, holding.threads, 16);
    case HoldingWay::kInShared: {
      constexpr int kMostWarps = kThreadsOfVectorsInShared / 32 * kMostBlocksOfRow;
      const bool fits = WarpsOf(row_bytes, 8) <= kMostWarps;
      if (kernels.most_in_shared == 0) {
        return fits ? HoldInSmallBlocks(row_bytes) : LookAhead(row_bytes, kMostThreadsOfRowBlock, true);
      }
      const int vectors = fits ? 8 : kernels.most_in_shared;
      RowTuning tuning = HoldRow(row_bytes, kThreadsOfVectorsInShared, vectors);
      tuning.in_shared = true;
      return tuning;
    }
    case HoldingWay::kAhead:
    case HoldingWay::kAheadAny:
      break;
  }
  return LookAhead(row_bytes, holding.threads, holding.way == HoldingWay::kAhead);
}

}  // namespace kernelwire

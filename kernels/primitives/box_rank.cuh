// The first half of suppression on the device: the boxes of each image by score and, where there are groups (classes),
// by group and rank. Every kernel goes over all images of all requests of a launch:
//
//   BucketRank    all that the others do, of images up to kBucketedSlots (box_bucket.cuh); or
//
//   SortByScore   tiles of keys (score downwards, box), sorted; the counters of the image cleared
//   MergeRuns     runs merged, kFanIn at a time; the last pass counts the candidates
//   SortByGroup   for chains of groups: tiles of keys (group, rank), sorted
//   MergeRuns     again, for chains of groups
//
// The last of them that an image needs loads its boxes in the final order. A small image, of one tile, needs but the
// first. Then an image is suppressed in rounds over its ranks (box_rounds.cuh) or in chains of tiles
// (box_suppress.cuh).
//
// Keys are unique, so there are no ties, and every result is a function of the inputs alone: no order of arrival
// reaches it. Positions within an image are 32-bit (the plans see to it), what depends on the number of images is
// 64-bit.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_RANK_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_RANK_CUH_

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/box_geometry.h"
#include "kernels/primitives/box_image.cuh"
#include "kernels/primitives/box_workspace.h"
#include "kernels/primitives/sort_tiles.cuh"

namespace kernelwire::box {

/// Sorts the block's keys, one a thread, and stores them as run `tile`.
__device__ inline void StoreRun(const Workspace& space, int buffer, std::int64_t tile, std::uint64_t key,
                                SortShared& shared) {
  const int valid = __syncthreads_count(key != kNoKey ? 1 : 0);
  if (valid > 0) {
    key = SortBlock(key, kSortTile, shared);
    if (tile * kSortTile + threadIdx.x < space.padded) {
      space.keys(buffer)[tile * kSortTile + threadIdx.x] = key;
    }
  }
  if (threadIdx.x == 0) {
    space.run_counts(0)[tile] = valid;
  }
}

/// Clears what the kernels behind this one count in.
__device__ inline void ClearCounters(const BoxImage& image) {
  Header* const header = image.space.header();
  header->ticket = 0;
  header->searched = 0;
  header->filtered = 0;
  header->decided = 0;
  header->kept = 0;
  header->fresh = 0;
  header->last = 0;
}

/// Puts the box of a rank where suppression reads it.
template <typename P>
__device__ inline void PlaceBox(const typename P::Params& params, const BoxImage& image, std::int64_t place,
                                std::uint32_t id) {
  image.space.boxes<typename P::Box>()[place] = P::BoxOf(params, image, id);
}

/// The same with its group, for rounds.
template <typename P>
__device__ inline void PlaceRanked(const typename P::Params& params, const BoxImage& image, std::int64_t rank,
                                   std::uint32_t id) {
  PlaceBox<P>(params, image, rank, id);
  if (P::Rules(params).has_groups) {
    image.space.groups()[rank] = static_cast<std::int32_t>(P::GroupOf(params, image, id));
  }
}

/// Clears what chains count in for kSortTile ranks.
__device__ inline void ClearTile(const Workspace& space, std::int64_t tile) {
  constexpr int kStateWords = kSortTile / kTile * kWords;
  const std::int64_t word = tile * kStateWords + threadIdx.x;
  if (threadIdx.x < kStateWords && word < space.state_words()) {
    space.states()[word] = 0;
  }
  if (threadIdx.x == 0) {
    space.kept_of_ranks()[tile] = 0;
  }
}

/// From this many blocks on, those of a small image rank by counting.
inline constexpr int kCountingBlocks = 8;

/// Ranks a small image: one block by sorting, several by counting.
template <typename P>
__device__ inline void RankSmall(const BoxArguments<typename P::Params>& arguments, const BoxImage& image, int slots,
                                 SortShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  const int blocks = arguments.blocks_per_image < kCountingBlocks ? 1 : static_cast<int>(arguments.blocks_per_image);
  const int block = static_cast<int>(blockIdx.x % arguments.blocks_per_image);
  int share = 32;
  while (share * blocks < slots) {
    share *= 2;
  }
  const int first = block * share;
  if (block > 0 && (blocks == 1 || first >= slots)) {
    return;
  }
  std::uint64_t key = thread < slots ? P::KeyOf(arguments.params, image, thread) : kNoKey;
  const int candidates = min(__syncthreads_count(key != kNoKey ? 1 : 0), P::Rules(arguments.params).top_k);
  int rank = thread;
  if (blocks == 1) {
    key = SortBlock(key, share, shared);
  } else {
    shared.exchange[0][thread] = key;
    __syncthreads();
    rank = CountedRank(first, share, slots, shared);
    key = thread < share && first + thread < slots ? shared.exchange[0][first + thread] : kNoKey;
  }
  if (key != kNoKey && rank < candidates) {
    image.space.keys(kSmallBuffer)[rank] = key;
    PlaceRanked<P>(arguments.params, image, rank, static_cast<std::uint32_t>(key));
  }
  if (block == 0) {
    if (slots > 0) {
      ClearTile(image.space, 0);
    }
    if (thread == 0) {
      image.space.header()->candidates = static_cast<std::uint32_t>(candidates);
    }
  }
}

template <typename P>
__global__ void __launch_bounds__(kSortTile)
    SortByScoreKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork(arguments);
  __shared__ SortShared shared;
  const BoxImage image = FindImage<P>(arguments);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t slots = SlotsInUse<P>(image);
  if (thread == 0 && blockIdx.x % arguments.blocks_per_image == 0) {
    ClearCounters(image);
  }
  if (slots <= P::kSmall) {
    RankSmall<P>(arguments, image, static_cast<int>(slots), shared);
    return;
  }
  ForEachTile(arguments, slots, kSortTile, [&](std::int64_t tile) {
    ClearTile(image.space, tile);
    const std::int64_t slot = tile * kSortTile + thread;
    StoreRun(image.space, ScoreBuffer(0), tile, slot < slots ? P::KeyOf(arguments.params, image, slot) : kNoKey,
             shared);
  });
}

template <typename P>
__global__ void __launch_bounds__(kSortTile)
    SortByGroupKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork(arguments);
  __shared__ SortShared shared;
  const BoxImage image = FindImage<P>(arguments);
  if (IsSmall<P>(image)) {
    return;
  }
  const int passes = MergePasses(image.slots);
  const std::uint64_t* const ranked = image.space.keys(ScoreBuffer(passes));
  const std::int64_t candidates = image.space.header()->candidates;
  ForEachTile(arguments, image.slots, kSortTile, [&](std::int64_t tile) {
    const std::int64_t rank = tile * kSortTile + threadIdx.x;
    std::uint64_t key = kNoKey;
    if (rank < candidates) {
      const auto id = static_cast<std::uint32_t>(ranked[rank]);
      key = std::uint64_t{P::GroupOf(arguments.params, image, id)} << 32 | static_cast<std::uint32_t>(rank);
    }
    StoreRun(image.space, GroupBuffer(passes, 0), tile, key, shared);
  });
}

/// Pass `pass` of the sort by score or, if `by_group`, by group.
template <typename P>
__global__ void __launch_bounds__(kTile)
    MergeRunsKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments, int pass, bool by_group) {
  AwaitEarlierWork(arguments);
  const BoxImage image = FindImage<P>(arguments);
  const Workspace& space = image.space;
  const int passes = MergePasses(image.slots);
  if (pass >= passes || IsSmall<P>(image)) {
    return;  // a smaller image than others of this launch
  }
  const SuppressionRules rules = P::Rules(arguments.params);
  const bool last = pass + 1 == passes;
  const bool groups_follow = MayChain<P>(rules) && rules.has_groups;
  const bool loads_boxes = last && by_group == groups_follow;
  const std::uint64_t* const from = space.keys(by_group ? GroupBuffer(passes, pass) : ScoreBuffer(pass));
  std::uint64_t* const to = space.keys(by_group ? GroupBuffer(passes, pass + 1) : ScoreBuffer(pass + 1));
  const std::uint64_t* const ranked = space.keys(ScoreBuffer(passes));
  const std::int32_t* const counts = space.run_counts(pass & 1);
  const std::int64_t length = RunLength(pass);
  const std::int64_t slots = SlotsInUse<P>(image);
  const std::int64_t runs = (slots + length - 1) / length;
  ForEachTile(arguments, slots, kTile, [&](std::int64_t tile) {
    const std::int64_t slot = tile * kTile + threadIdx.x;
    const std::int64_t group = slot / (length * kFanIn);
    if (slot == group * length * kFanIn) {
      std::int32_t sum = 0;
      for (std::int64_t run = group * kFanIn; run < min((group + 1) * kFanIn, runs); ++run) {
        sum += counts[run];
      }
      space.run_counts((pass + 1) & 1)[group] = sum;
      if (last && !by_group) {
        space.header()->candidates = static_cast<std::uint32_t>(min(sum, rules.top_k));
      }
    }
    std::uint64_t key = kNoKey;
    const std::int64_t place = slot < slots ? PlaceInGroup(from, counts, runs, pass, slot, &key) : -1;
    if (place < 0) {
      return;
    }
    to[group * length * kFanIn + place] = key;
    if (loads_boxes) {
      if (by_group) {
        PlaceBox<P>(arguments.params, image, place,
                    static_cast<std::uint32_t>(ranked[static_cast<std::uint32_t>(key)]));
      } else {
        PlaceRanked<P>(arguments.params, image, place, static_cast<std::uint32_t>(key));
      }
    }
  });
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_RANK_CUH_

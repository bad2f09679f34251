// The first half of suppression on the device: the boxes of each image by score and, where there are groups (classes),
// by group and rank. Every kernel goes over all images of all requests of a launch:
//
//   SortByScore   tiles of keys (score downwards, box), sorted; the counters of the image cleared
//   MergeRuns     runs merged, kFanIn at a time; the last pass counts the candidates
//   SortByGroup   with groups: tiles of keys (group, rank), sorted
//   MergeRuns     again, with groups; the last pass loads the boxes in the final order
//
// Keys are unique, so there are no ties, and every result is a function of the inputs alone: no order of arrival
// reaches it. Positions within an image are 32-bit (the plans see to it), what depends on the number of images is
// 64-bit.
//
// An operator is a class P with static functions, each a `__device__` one:
//
//   Params, Box                       what a launch has in common; a box as suppression reads it
//   kCollects                         whether Header::found is known before the sort (else the sort counts)
//   kAlone                            slots up to which one block does an image alone
//   Find(segment, row) -> BoxImage    the place of an image, by its row of the launch
//   KeyOf(params, image, slot)        DescendingKey(score) << 32 | box, kNoKey for a slot that takes no part
//   GroupOf(params, image, box)       what may suppress each other has equal groups
//   ClassOf(params, image, box)       read only where a limit by class goes with groups of several classes
//   BoxOf(params, image, box)         ready for suppression
//   Write(params, image, column, key), Pad(params, image, column), WriteCount(params, image, kept)
//
// and on host and device Rules(params) -> SuppressionRules.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_RANK_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_RANK_CUH_

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/box_geometry.h"
#include "kernels/primitives/box_workspace.h"
#include "kernels/primitives/segment_table.cuh"
#include "kernels/primitives/sort_tiles.cuh"

namespace kernelwire::box {

/// What holds for a whole launch.
struct SuppressionRules {
  float iou_threshold;
  std::int32_t top_k;
  std::int32_t per_group;  // boxes kept of a group
  std::int32_t per_class;  // boxes kept of a class, within groups of several; kNoLimit: none
  bool has_groups;         // otherwise all boxes of an image are one group
};
inline constexpr std::int32_t kNoLimit = 0x7fffffff;

/// One image of a launch.
struct BoxImage {
  const Segment* segment;
  std::int64_t index;    // within the request
  std::int64_t slots;    // boxes that may be candidates
  std::int64_t columns;  // of the outputs
  Workspace space;
  std::int32_t* kept_of_class;  // cleared counters; null without a limit by class
};

/// The argument of every kernel. The blocks [i * blocks_per_image, ...) share image i of the launch.
template <typename Params>
struct BoxArguments {
  SegmentTable table;
  std::int64_t blocks_per_image;
  Params params;
};

template <typename P>
__device__ inline BoxImage FindImage(const BoxArguments<typename P::Params>& arguments) {
  const std::int64_t row = blockIdx.x / arguments.blocks_per_image;
  const SegmentTable& table = arguments.table;
  const Segment& segment = table.count == 1 ? table.only : table.many[FindSegment(table.many, table.count, row)];
  return P::Find(arguments.params, segment, row);
}

/// Whether one block does the image alone (box_small.cuh), in which case the other kernels leave it out.
template <typename P>
__device__ inline bool IsSmall(const BoxImage& image) {
  return image.slots <= P::kAlone || (P::kCollects && image.space.header()->found <= P::kAlone);
}

/// The buffer that holds the sort by score after `pass` passes, and that by group; the ranking stays where it ended.
__device__ inline int ScoreBuffer(int pass) { return pass & 1; }
__device__ inline int GroupBuffer(int passes, int pass) { return (pass & 1) != 0 ? 2 : ScoreBuffer(passes) ^ 1; }

/// Visits the image's tiles of `length` slots that fall to this block: body(tile).
template <typename Params, typename Body>
__device__ inline void ForEachTile(const BoxArguments<Params>& arguments, std::int64_t slots, int length,
                                   const Body& body) {
  for (std::int64_t tile = blockIdx.x % arguments.blocks_per_image; tile * length < slots;
       tile += arguments.blocks_per_image) {
    body(tile);
  }
}

/// Sorts the block's keys, one a thread, and stores them as run `tile`.
__device__ inline void StoreRun(const Workspace& space, int buffer, std::int64_t tile, std::uint64_t key,
                                SortShared& shared) {
  const int valid = __syncthreads_count(key != kNoKey ? 1 : 0);
  if (valid > 0) {
    space.keys(buffer)[tile * kSortTile + threadIdx.x] = SortBlock(key, kSortTile, shared);
  }
  if (threadIdx.x == 0) {
    space.run_counts(0)[tile] = valid;
  }
}

template <typename P>
__global__ void __launch_bounds__(kSortTile)
    SortByScoreKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork();
  __shared__ SortShared shared;
  const BoxImage image = FindImage<P>(arguments);
  if (IsSmall<P>(image)) {
    return;
  }
  const int thread = static_cast<int>(threadIdx.x);
  ForEachTile(arguments, image.slots, kSortTile, [&](std::int64_t tile) {
    constexpr int kStateWords = kSortTile / kTile * kWords;
    if (thread < kStateWords) {
      image.space.states()[tile * kStateWords + thread] = 0;
    }
    if (thread == 0) {
      image.space.kept_of_ranks()[tile] = 0;
      if (tile == 0) {
        image.space.header()->ticket = 0;
      }
    }
    const std::int64_t slot = tile * kSortTile + thread;
    StoreRun(image.space, ScoreBuffer(0), tile, slot < image.slots ? P::KeyOf(arguments.params, image, slot) : kNoKey,
             shared);
  });
}

template <typename P>
__global__ void __launch_bounds__(kSortTile)
    SortByGroupKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork();
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
  AwaitEarlierWork();
  const BoxImage image = FindImage<P>(arguments);
  const Workspace& space = image.space;
  const int passes = MergePasses(image.slots);
  if (pass >= passes || IsSmall<P>(image)) {
    return;  // a smaller image than others of this launch
  }
  const SuppressionRules rules = P::Rules(arguments.params);
  const bool last = pass + 1 == passes;
  const bool loads_boxes = last && by_group == rules.has_groups;
  const std::uint64_t* const from = space.keys(by_group ? GroupBuffer(passes, pass) : ScoreBuffer(pass));
  std::uint64_t* const to = space.keys(by_group ? GroupBuffer(passes, pass + 1) : ScoreBuffer(pass + 1));
  const std::uint64_t* const ranked = space.keys(ScoreBuffer(passes));
  const std::int32_t* const counts = space.run_counts(pass & 1);
  const std::int64_t length = RunLength(pass);
  const std::int64_t runs = (image.slots + length - 1) / length;
  ForEachTile(arguments, image.slots, kTile, [&](std::int64_t tile) {
    const std::int64_t slot = tile * kTile + threadIdx.x;
    const std::int64_t group = slot / (length * kFanIn);
    if (slot == group * length * kFanIn) {
      std::int32_t sum = 0;
      for (std::int64_t run = group * kFanIn; run < min((group + 1) * kFanIn, runs); ++run) {
        sum += counts[run];
      }
      space.run_counts((pass + 1) & 1)[group] = sum;
      if (last && !by_group) {
        space.header()->found = static_cast<std::uint32_t>(sum);
        space.header()->candidates = static_cast<std::uint32_t>(min(sum, rules.top_k));
      }
    }
    std::uint64_t key = kNoKey;
    const std::int64_t place = slot < image.slots ? PlaceInGroup(from, counts, runs, pass, slot, &key) : -1;
    if (place < 0) {
      return;
    }
    to[group * length * kFanIn + place] = key;
    if (loads_boxes) {
      const auto id = static_cast<std::uint32_t>(by_group ? ranked[static_cast<std::uint32_t>(key)] : key);
      space.boxes<typename P::Box>()[place] = P::BoxOf(arguments.params, image, id);
    }
  });
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_RANK_CUH_

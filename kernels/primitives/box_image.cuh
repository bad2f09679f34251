// The images of a launch as the kernels of ranking and suppression see them, and what they ask of an operator.
//
// An operator is a class P with static functions, each a `__device__` one:
//
//   Params, Box                       what a launch has in common; a box as suppression reads it
//   kCollects                         whether Header::found is known before the sort (else the sort counts)
//   kSmall                            slots up to which an image is small: kSortTile or, where it does not count, 0
//   kChainsGroups                     whether groups of images that are not small are brought together and suppressed
//                                     in chains: for results that hold all that stays. Where they are cut after a few
//                                     boxes, rounds are done as soon as these are found
//   Find(segment, row) -> BoxImage    the place of an image, by its row of the launch
//   KeyOf(params, image, slot)        DescendingKey(score) << 32 | box, kNoKey for a slot that takes no part
//   GroupOf(params, image, box)       what may suppress each other has equal groups
//   ClassOf(params, image, box)       read only where a limit by class goes with groups of several classes
//   BoxOf(params, image, box)         ready for suppression
//   Write(params, image, column, key), Pad(params, image, column), WriteCount(params, image, kept)
//
// and on host and device Rules(params) -> SuppressionRules.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_IMAGE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_IMAGE_CUH_

#include <cstdint>

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
  Segment segment;       // a copy, of which registers hold what is used: never behind an address
  std::int64_t index;    // within the request
  std::int64_t slots;    // boxes that may be candidates
  std::int64_t real;     // boxes that there are; where candidates are collected, not used
  std::int64_t columns;  // of the outputs
  Workspace space;
  std::int32_t* kept_of_class;  // cleared counters by class or, with groups, by group; null without a limit of these
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
  const Segment segment = table.PickOf(row, [](const Segment& found) { return found; });
  return P::Find(arguments.params, segment, row);
}

/// Slots that may hold keys: a beginning of all.
template <typename P>
__device__ inline std::int64_t SlotsInUse(const BoxImage& image) {
  return P::kCollects ? std::int64_t{image.space.header()->found} : image.slots;
}

/// Whether one sorted tile holds all candidates, so that nothing is merged.
template <typename P>
__device__ inline bool IsSmall(const BoxImage& image) {
  return SlotsInUse<P>(image) <= P::kSmall;
}

/// Whether there are images that are suppressed in chains; the host asks, too.
template <typename P>
__host__ __device__ inline bool MayChain(const SuppressionRules& rules) {
  return rules.per_class != kNoLimit || (P::kChainsGroups && rules.has_groups);
}

/// Whether the image is: one box decides about the next where classes are counted across groups, and otherwise groups
/// of a large image are chains of their own.
template <typename P>
__device__ inline bool IsChained(const SuppressionRules& rules, const BoxImage& image) {
  return MayChain<P>(rules) && (rules.per_class != kNoLimit || !IsSmall<P>(image));
}

/// The buffer that holds the sort by score after `pass` passes, and that by group; the ranking stays where it ended.
__device__ inline int ScoreBuffer(int pass) { return pass & 1; }
__device__ inline int GroupBuffer(int passes, int pass) { return (pass & 1) != 0 ? 2 : ScoreBuffer(passes) ^ 1; }

/// The buffer of a small image's ranking. Not the first: other blocks may still read the keys there.
inline constexpr int kSmallBuffer = 1;

/// The keys in the order of scores.
template <typename P>
__device__ inline const std::uint64_t* RankedKeys(const BoxImage& image) {
  return image.space.keys(IsSmall<P>(image) ? kSmallBuffer : ScoreBuffer(MergePasses(image.slots)));
}

/// Visits the image's tiles of `length` slots that fall to this block: body(tile).
template <typename Params, typename Body>
__device__ inline void ForEachTile(const BoxArguments<Params>& arguments, std::int64_t slots, int length,
                                   const Body& body) {
  for (std::int64_t tile = blockIdx.x % arguments.blocks_per_image; tile * length < slots;
       tile += arguments.blocks_per_image) {
    body(tile);
  }
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_IMAGE_CUH_

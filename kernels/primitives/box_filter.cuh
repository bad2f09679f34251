// Dropping boxes that newly kept ones suppress: the part of a round that all blocks of an image share.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_FILTER_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_FILTER_CUH_

#include <cstdint>

#include "kernels/primitives/box_geometry.h"
#include "kernels/primitives/box_window.cuh"
#include "kernels/primitives/box_workspace.h"

namespace kernelwire::box {

/// The most words whose boxes a block looks at together: few enough that two threads share a box.
inline constexpr int kStripeWords = kRoundWarps / 2;

template <typename Box>
struct FilterShared {
  GroupedBoxes<Box, kWindow> fresh;      // what the round has kept
  std::int32_t open[kStripeWords * 32];  // positions that are undecided
  unsigned words[kStripeWords];
};

/// The boxes of an image behind a window that is decided.
template <typename Box>
class Filter {
 public:
  /// `first_round`: every candidate behind position `last` is undecided; otherwise those are of which a bit says so.
  __device__ Filter(const Workspace& space, std::int64_t candidates, bool grouped, bool first_round, float threshold,
                    FilterShared<Box>& shared)
      : space_(space),
        candidates_(candidates),
        last_(space.header()->last),
        fresh_(space.header()->fresh),
        grouped_(grouped),
        first_round_(first_round),
        threshold_(threshold),
        shared_(shared) {}

  /// Tests what falls to number `piece` of `pieces`. Called by all threads of the block.
  __device__ void Run(std::int64_t piece, std::int64_t pieces) {
    for (int i = static_cast<int>(threadIdx.x); i < fresh_; i += kRoundThreads) {
      shared_.fresh.Set(i, space_.fresh_boxes<Box>()[i], grouped_ ? space_.fresh_groups()[i] : 0);
    }
    const std::int64_t words = (candidates_ + 31) / 32;
    const std::int64_t from = last_ / 32;
    const std::int64_t share = max((words - from + pieces - 1) / pieces, std::int64_t{1});
    const std::int64_t stripes = (share + kStripeWords - 1) / kStripeWords;
    const int length = static_cast<int>((share + stripes - 1) / stripes);
    for (std::int64_t first = from + piece * length; first < words; first += pieces * length) {
      RunStripe(first, static_cast<int>(min(std::int64_t{length}, words - first)));
    }
  }

 private:
  /// The undecided boxes of a word.
  __device__ unsigned Undecided(std::int64_t word) const {
    const std::int64_t first = 32 * word;
    unsigned bits = first_round_ ? BitsBelow(candidates_ - first) : space_.undecided()[word];
    bits &= ~BitsBelow(last_ + 1 - first);
    return bits;
  }
  __device__ static unsigned BitsBelow(std::int64_t end) {
    return end <= 0 ? 0u : end >= 32 ? kAllLanes : (1u << end) - 1;
  }

  /// Tests the boxes of up to kStripeWords words. The few that are undecided share all threads of the block.
  __device__ void RunStripe(std::int64_t first, int words) {
    const int thread = static_cast<int>(threadIdx.x);
    const int count = Gather(first, words);
    const int slots = (count + 31) / 32 * 32;
    if (count > 0 && thread % slots < count && thread / slots < kRoundThreads / slots) {
      const std::int32_t position = shared_.open[thread % slots];
      if (IsSuppressed(position, thread / slots, kRoundThreads / slots)) {
        atomicAnd(&shared_.words[position / 32 - first], ~(1u << (position % 32)));
      }
    }
    __syncthreads();
    if (thread < words) {
      space_.undecided()[first + thread] = shared_.words[thread];
    }
    __syncthreads();  // the shared memory may be used again
  }

  /// Lists the undecided positions and returns how many there are.
  __device__ int Gather(std::int64_t first, int words) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned bits = warp < words ? Undecided(first + warp) : 0;
    if (lane == 0 && warp < words) {
      shared_.words[warp] = bits;
    }
    __syncthreads();
    int ahead = 0;
    int count = 0;
    for (int other = 0; other < words; ++other) {
      const int of_other = __popc(shared_.words[other]);
      ahead += other < warp ? of_other : 0;
      count += of_other;
    }
    if ((bits >> lane & 1u) != 0) {
      shared_.open[ahead + __popc(bits & ((1u << lane) - 1))] = static_cast<std::int32_t>(32 * (first + warp)) + lane;
    }
    __syncthreads();
    return count;
  }

  /// Whether one of the newly kept boxes suppresses the one at `position`, of those in part `part` of `parts`.
  __device__ bool IsSuppressed(std::int32_t position, int part, int parts) const {
    constexpr int kTests = 8;
    const Box box = space_.boxes<Box>()[position];
    const float area = Area(box);
    const float bar = MayOverlapBar(area, threshold_);
    const std::int32_t group = grouped_ ? space_.groups()[position] : 0;
    const int length = (fresh_ + parts - 1) / parts;
    const int end = IsActive(box) ? min((part + 1) * length, fresh_) : 0;
    for (int i = part * length; i < end;) {
      const int tests = i + kTests <= end ? kTests : 1;
      unsigned may = tests == kTests ? shared_.fresh.template MayHit<kTests>(i, box, area, threshold_, bar)
                                     : shared_.fresh.template MayHit<1>(i, box, area, threshold_, bar);
      for (; may != 0; may &= may - 1) {
        if (shared_.fresh.Hits(i + __ffs(static_cast<int>(may)) - 1, box, area, group, threshold_)) {
          return true;
        }
      }
      i += tests;
    }
    return false;
  }

  const Workspace& space_;
  const std::int64_t candidates_;
  const std::int64_t last_;
  const int fresh_;
  const bool grouped_;
  const bool first_round_;
  const float threshold_;
  FilterShared<Box>& shared_;
};

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_FILTER_CUH_

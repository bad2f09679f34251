// Soft-NMS on the device: the boxes are ranked and brought together by class as for suppression; DecayKernel gives each
// class to a block, which chooses the best box, lowers the scores of the others, and so on; what was chosen is ranked
// again, by the scores at the time of choice, and put out by WriteRankedKernel.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_SOFT_CUH_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_SOFT_CUH_

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/ops/nms/nms_kernel.cuh"
#include "kernels/primitives/box_rank.cuh"
#include "kernels/primitives/box_tile.cuh"

namespace kernelwire::nms {

/// The two keys a box behind the workspace of ranking: of the boxes as they were chosen, and as they are now.
__device__ inline std::uint64_t* ChosenKeys(const box::BoxImage& image) {
  return reinterpret_cast<std::uint64_t*>(image.space.base + image.space.End());
}
__device__ inline std::uint64_t* CurrentKeys(const box::BoxImage& image) {
  return ChosenKeys(image) + image.space.padded;
}

/// The first ranking, of any number of boxes.
template <typename BoxType>
struct SoftPolicy : Policy<BoxType> {
  static constexpr std::int64_t kSmall = 0;
};

/// The second, of what was chosen, all classes together.
template <typename BoxType>
struct ChosenPolicy : SoftPolicy<BoxType> {
  __host__ __device__ static box::SuppressionRules Rules(const Params& params) {
    box::SuppressionRules rules = Policy<BoxType>::Rules(params);
    rules.has_groups = false;
    return rules;
  }
  __device__ static std::uint64_t KeyOf(const Params& /*params*/, const box::BoxImage& image, std::int64_t slot) {
    return slot < image.space.header()->found ? ChosenKeys(image)[slot] : box::kNoKey;
  }
};

inline constexpr int kDecayThreads = 512;

template <typename Box>
struct DecayShared {
  std::uint64_t best[kDecayThreads / 32];
  Box chosen;
  unsigned starts[kDecayThreads / 32];
};

/// The least key of the block, for all threads. Called by all.
template <typename Box>
__device__ inline std::uint64_t LeastKey(std::uint64_t key, DecayShared<Box>& shared) {
  for (int step = 16; step > 0; step /= 2) {
    const std::uint64_t other = __shfl_xor_sync(box::kAllLanes, key, step);
    key = other < key ? other : key;
  }
  if (threadIdx.x % 32 == 0) {
    shared.best[threadIdx.x / 32] = key;
  }
  __syncthreads();
  for (const std::uint64_t other : shared.best) {
    key = other < key ? other : key;
  }
  return key;
}

/// Decays the positions [first, end), one class, until none is above the threshold or `limit` are chosen. Each thread
/// keeps to its own positions. Called by all threads of the block.
template <typename Box>
__device__ inline void DecayGroup(const Params& params, const box::BoxImage& image, std::int64_t first,
                                  std::int64_t end, int limit, DecayShared<Box>& shared) {
  const Box* const boxes = image.space.boxes<Box>();
  std::uint64_t* const chosen = ChosenKeys(image);
  std::uint64_t* const current = CurrentKeys(image);
  Box best_box{};
  bool decays = false;  // from the second round on there is a chosen box
  for (int count = 0; count < limit; ++count) {
    std::uint64_t least = box::kNoKey;
    std::int64_t place = -1;
    for (std::int64_t i = first + threadIdx.x; i < end; i += kDecayThreads) {
      std::uint64_t key = current[i];
      if (key == box::kNoKey) {
        continue;
      }
      if (decays) {
        const Box mine = boxes[i];
        const float iou = Iou(best_box, Area(best_box), mine, Area(mine));
        if (iou > 0.0f) {
          const float score = Decayed(params, box::ScoreOfKey(static_cast<std::uint32_t>(key >> 32)), iou);
          key = std::uint64_t{box::DescendingKey(score)} << 32 | static_cast<std::uint32_t>(key);
          current[i] = key;
        }
      }
      if (key < least) {
        least = key;
        place = i;
      }
    }
    const std::uint64_t best = LeastKey(least, shared);
    const float score = box::ScoreOfKey(static_cast<std::uint32_t>(best >> 32));
    if (best == box::kNoKey || (params.has_score_threshold && !(score > params.score_threshold))) {
      break;  // alike in all threads
    }
    if (place >= 0 && least == best) {
      chosen[place] = best;
      current[place] = box::kNoKey;
      shared.chosen = boxes[place];
    }
    __syncthreads();
    best_box = shared.chosen;
    decays = true;
  }
  __syncthreads();  // `shared` may be used for another class
}

template <typename P>
__global__ void __launch_bounds__(kDecayThreads)
    DecayKernel(const __grid_constant__ box::BoxArguments<Params> arguments) {
  AwaitEarlierWork(arguments);
  __shared__ DecayShared<typename P::Box> shared;
  const box::BoxImage image = box::FindImage<P>(arguments);
  const box::SuppressionRules rules = P::Rules(arguments.params);
  if (image.slots == 0) {
    return;
  }
  const int passes = box::MergePasses(image.slots);
  const std::int64_t candidates = image.space.header()->candidates;
  if (blockIdx.x % arguments.blocks_per_image == 0 && threadIdx.x == 0) {
    image.space.header()->found = image.space.header()->candidates;  // of which the second ranking counts its own
  }
  const std::uint64_t* const ranked = image.space.keys(box::ScoreBuffer(passes));
  const std::uint64_t* const grouped = image.space.keys(box::GroupBuffer(passes, passes));
  const auto group_at = [&](std::int64_t position) { return rules.has_groups ? grouped[position] >> 32 : 0; };
  box::ForEachTile(arguments, candidates, kDecayThreads, [&](std::int64_t tile) {
    const std::int64_t position = tile * kDecayThreads + threadIdx.x;
    const bool starts = position < candidates && (position == 0 || group_at(position) != group_at(position - 1));
    const unsigned bits = __ballot_sync(box::kAllLanes, starts);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
      shared.starts[threadIdx.x / 32] = bits;
    }
    __syncthreads();
    for (int word = 0; word < kDecayThreads / 32; ++word) {
      for (unsigned left = shared.starts[word]; left != 0; left &= left - 1) {
        const std::int64_t first = tile * kDecayThreads + 32 * word + __ffs(static_cast<int>(left)) - 1;
        const std::int64_t end =
            rules.has_groups ? box::LowerBound(grouped, static_cast<int>(candidates), grouped[first] | 0xffffffffu)
                             : candidates;
        for (std::int64_t i = first + threadIdx.x; i < end; i += kDecayThreads) {
          const auto rank = rules.has_groups ? static_cast<std::uint32_t>(grouped[i]) : static_cast<std::uint32_t>(i);
          CurrentKeys(image)[i] = ranked[rank];
          ChosenKeys(image)[i] = box::kNoKey;
        }
        DecayGroup(arguments.params, image, first, end, rules.per_group, shared);
      }
    }
  });
}

/// Puts out what was ranked, all of it as far as the columns reach.
template <typename P>
__global__ void __launch_bounds__(box::kSortTile)
    WriteRankedKernel(const __grid_constant__ box::BoxArguments<Params> arguments) {
  AwaitEarlierWork(arguments);
  const box::BoxImage image = box::FindImage<P>(arguments);
  const std::int64_t found = image.slots == 0 ? 0 : std::int64_t{image.space.header()->candidates};
  const std::int64_t total = min(found, image.columns);
  const std::uint64_t* const ranked = image.space.keys(box::ScoreBuffer(box::MergePasses(image.slots)));
  box::ForEachTile(arguments, max(image.columns, std::int64_t{1}), box::kSortTile, [&](std::int64_t tile) {
    const std::int64_t column = tile * box::kSortTile + threadIdx.x;
    if (column < total) {
      P::Write(arguments.params, image, column, ranked[column]);
    } else if (column < image.columns) {
      P::Pad(arguments.params, image, column);
    }
    if (column == 0) {
      P::WriteCount(arguments.params, image, static_cast<std::int32_t>(total));
    }
  });
}

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_SOFT_CUH_

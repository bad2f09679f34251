// The first half of nms on the device: the boxes of each image by score and, with classes, by class and score.
//
// Tiles are sorted in shared memory and then merged in pairs, twice the run length a launch, in all images of all
// requests at once: no temporary storage that depends on the batch, and an image of n boxes needs log2(n / 2048)
// merges.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_RANK_CUH_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_RANK_CUH_

#include <cstdint>
#include <cub/block/block_merge_sort.cuh>

#include "kernels/ops/nms/nms_image.cuh"

namespace kernelwire::nms {

/// Orders scores downwards when keys go up; -0 and 0 are equal. Never kNoKey's upper half, which is a NaN's.
__device__ inline std::uint32_t DescendingKey(float score) {
  const std::uint32_t bits = __float_as_uint(score == 0.0f ? 0.0f : score);
  return (bits & 0x80000000u) != 0 ? bits : ~(bits | 0x80000000u);
}

struct Ascending {
  __device__ bool operator()(std::uint64_t a, std::uint64_t b) const { return a < b; }
};
using TileSort = cub::BlockMergeSort<std::uint64_t, kThreads, kKeysPerThread>;

/// Sorts the block's keys (thread by thread, or in any other order: they are unique) and stores those before `end`.
__device__ inline void SortAndStore(std::uint64_t (&keys)[kKeysPerThread], TileSort::TempStorage& storage, int first,
                                    int end, std::uint64_t* out) {
  TileSort(storage).Sort(keys, Ascending());
#pragma unroll
  for (int i = 0; i < kKeysPerThread; ++i) {
    const int position = first + static_cast<int>(threadIdx.x) * kKeysPerThread + i;
    if (position < end) {
      out[position] = keys[i];
    }
  }
  __syncthreads();  // `storage` may be used again
}

__global__ void __launch_bounds__(kThreads) RankTilesKernel(const KernelArguments arguments) {
  __shared__ TileSort::TempStorage storage;
  const Image image = FindImage(arguments);
  const Params& params = arguments.params;
  const auto* const counts = static_cast<const std::int32_t*>(image.segment->inputs[kCounts]);
  const int real = counts == nullptr ? image.boxes : min(max(counts[image.index], 0), image.boxes);
  for (int tile = blockIdx.x % arguments.blocks_per_image; tile < image.sort_tiles();
       tile += arguments.blocks_per_image) {
    const int first = tile * kSortTile;
    const int state = first / kTile + static_cast<int>(threadIdx.x);
    if (threadIdx.x < kSortTile / kTile && state < image.tiles()) {
      image.states[state] = 0;
    }
    if (first == 0 && threadIdx.x == 0) {
      *image.ticket = 0;
    }
    std::uint64_t keys[kKeysPerThread];
#pragma unroll
    for (int i = 0; i < kKeysPerThread; ++i) {
      const int box = first + i * kThreads + static_cast<int>(threadIdx.x);
      keys[i] = kNoKey;
      if (box < real) {
        const float score = LoadFloat(params.scores, image.segment->inputs[kScores], image.first_box + box);
        if (params.has_score_threshold ? score > params.score_threshold : score == score) {
          keys[i] = static_cast<std::uint64_t>(DescendingKey(score)) << 32 | static_cast<std::uint32_t>(box);
        }
      }
    }
    SortAndStore(keys, storage, first, image.boxes, image.buffer(0));
  }
}

/// How many of the first `diagonal` keys of the merged sequence come from `a`.
__device__ inline int MergePath(const std::uint64_t* a, int a_count, const std::uint64_t* b, int b_count,
                                int diagonal) {
  int low = max(0, diagonal - b_count);
  int high = min(diagonal, a_count);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Merges pairs of sorted runs of kSortTile << pass keys from one buffer into the other, a tile of the result at a time
/// (merge path: Odeh et al., 2012). The class keys start in the buffer where the ranking did not end, so both sorts end
/// in a known one.
__global__ void __launch_bounds__(kThreads)
    MergeRunsKernel(const KernelArguments arguments, int pass, bool behind_ranking) {
  __shared__ std::uint64_t keys[kSortTile];
  const Image image = FindImage(arguments);
  const int passes = MergePasses(image.boxes);
  if (pass >= passes) {
    return;  // a smaller image than others of this launch
  }
  const int from = (pass + (behind_ranking ? 0 : passes + 1)) & 1;
  const std::uint64_t* const source = image.buffer(from);
  const std::int64_t run = std::int64_t{kSortTile} << pass;
  for (int tile = blockIdx.x % arguments.blocks_per_image; tile < image.sort_tiles();
       tile += arguments.blocks_per_image) {
    const std::int64_t first = std::int64_t{tile} * kSortTile;
    const std::int64_t pair = first / (2 * run) * (2 * run);
    const int a_count = static_cast<int>(min(run, image.boxes - pair));
    const int b_count = static_cast<int>(min(run, image.boxes - pair - a_count));
    const std::uint64_t* const a = source + pair;
    const std::uint64_t* const b = a + a_count;
    const int begin = static_cast<int>(first - pair);
    const int end = min(begin + kSortTile, a_count + b_count);
    const int a_begin = MergePath(a, a_count, b, b_count, begin);
    const int a_here = MergePath(a, a_count, b, b_count, end) - a_begin;
    const int here = end - begin;
    for (int i = static_cast<int>(threadIdx.x); i < here; i += kThreads) {
      keys[i] = i < a_here ? a[a_begin + i] : b[begin - a_begin + i - a_here];
    }
    __syncthreads();
    const int mine = min(static_cast<int>(threadIdx.x) * kKeysPerThread, here);
    int next_a = MergePath(keys, a_here, keys + a_here, here - a_here, mine);
    int next_b = a_here + mine - next_a;
    for (int i = mine; i < min(mine + kKeysPerThread, here); ++i) {
      const bool take_a = next_b >= here || (next_a < a_here && keys[next_a] <= keys[next_b]);
      image.buffer(from ^ 1)[first + i] = keys[take_a ? next_a++ : next_b++];
    }
    __syncthreads();
  }
}

/// Reads the image sorted by score out of one buffer; with classes, puts sorted tiles of (class, rank) into the other.
__global__ void __launch_bounds__(kThreads) OrderTilesKernel(const KernelArguments arguments) {
  __shared__ TileSort::TempStorage storage;
  const Image image = FindImage(arguments);
  const Params& params = arguments.params;
  const int from = MergePasses(image.boxes) & 1;
  const std::uint64_t* const ranked = image.buffer(from);
  const int most = min(image.boxes, params.top_k);
  for (int tile = blockIdx.x % arguments.blocks_per_image; tile < image.sort_tiles();
       tile += arguments.blocks_per_image) {
    std::uint64_t keys[kKeysPerThread];
#pragma unroll
    for (int i = 0; i < kKeysPerThread; ++i) {
      const int rank = tile * kSortTile + i * kThreads + static_cast<int>(threadIdx.x);
      const std::uint64_t key = rank < most ? ranked[rank] : kNoKey;
      keys[i] = kNoKey;
      if (key != kNoKey) {
        const std::uint32_t box = static_cast<std::uint32_t>(key);
        image.order[rank] = box;
        if (params.classes != DataType::kInvalid) {
          // The sign bit is flipped only so that kNoKey's upper half stays behind all classes but 2^31 - 1, whose ranks
          // stay below kNoKey's lower half.
          const std::uint32_t value =
              LoadClass(params.classes, image.segment->inputs[kClasses], image.first_box + box) ^ 0x80000000u;
          keys[i] = static_cast<std::uint64_t>(value) << 32 | static_cast<std::uint32_t>(rank);
        }
        if (rank + 1 == most || ranked[rank + 1] == kNoKey) {
          *image.candidates = rank + 1;
        }
      } else if (rank == 0) {
        *image.candidates = 0;
      }
    }
    if (params.classes != DataType::kInvalid) {
      SortAndStore(keys, storage, tile * kSortTile, image.boxes, image.buffer(from ^ 1));
    }
  }
}

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_RANK_CUH_

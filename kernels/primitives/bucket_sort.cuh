// Sorting of a few thousand keys in the shared memory of a block, as far as buckets, so that the rank of a key follows
// from those of its bucket alone. By score, buckets are equal parts of the range of the keys' words. By group, they are
// equal parts of the range of all words, over which groups are scattered first, whatever numbers they have: groups have
// to lie together, in any order.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BUCKET_SORT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BUCKET_SORT_CUH_

#include <cstdint>

#include "kernels/primitives/box_tile.cuh"
#include "kernels/primitives/sort_tiles.cuh"

namespace kernelwire::box {

inline constexpr int kBucketThreads = 1024;
inline constexpr int kBucketBits = 12;
inline constexpr int kBuckets = 1 << kBucketBits;

/// The order of scores: the bucket of a slot and whether one comes before another. Rounding keeps the order of words.
struct ScoreOrder {
  const std::uint64_t* keys;
  std::uint32_t least;
  float scale;

  __device__ ScoreOrder(const std::uint64_t* all_keys, std::uint32_t least_word, std::uint32_t most_word)
      : keys(all_keys),
        least(least_word),
        scale(static_cast<float>(kBuckets - 1) / fmaxf(static_cast<float>(most_word - least_word), 1.0f)) {}
  __device__ int BucketOf(int slot) const {
    const auto word = static_cast<std::uint32_t>(keys[slot] >> 32);
    return min(static_cast<int>(static_cast<float>(word - least) * scale), kBuckets - 1);
  }
  __device__ bool IsBefore(int slot, int other) const { return keys[slot] < keys[other]; }
};

/// The order of scattered groups and, within a group, of scores.
struct GroupOrder {
  const std::uint64_t* keys;
  const std::uint32_t* groups;

  /// A bijection that spreads neighbours over all words (Fibonacci hashing).
  __device__ static std::uint32_t Scatter(std::uint32_t group) { return group * 0x9e3779b1u; }
  __device__ int BucketOf(int slot) const { return static_cast<int>(groups[slot] >> (32 - kBucketBits)); }
  __device__ bool IsBefore(int slot, int other) const {
    return groups[slot] == groups[other] ? keys[slot] < keys[other] : groups[slot] < groups[other];
  }
};

/// From how many are in each bucket to where it begins.
__device__ inline void CountsToBegins(int (&counts)[kBuckets], int (&of_warps)[kBucketThreads / 32]) {
  constexpr int kOfThread = kBuckets / kBucketThreads;
  const int thread = static_cast<int>(threadIdx.x);
  int sums[kOfThread];
  int sum = 0;
#pragma unroll
  for (int k = 0; k < kOfThread; ++k) {
    sums[k] = sum;
    sum += counts[kOfThread * thread + k];
  }
  int ahead = sum;
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kAllLanes, ahead, step);
    ahead += thread % 32 >= step ? other : 0;
  }
  if (thread % 32 == 31) {
    of_warps[thread / 32] = ahead;
  }
  __syncthreads();
  const int warp = thread % 32;
  ahead += WarpSum(warp < thread / 32 ? of_warps[warp] : 0) - sum;
#pragma unroll
  for (int k = 0; k < kOfThread; ++k) {
    counts[kOfThread * thread + k] = ahead + sums[k];
  }
  __syncthreads();
}

/// Sorts the slots [0, slots) whose keys are not kNoKey by buckets; within one they lie in any order. Called by all
/// kBucketThreads threads of the block.
template <typename Order>
__device__ inline void SortIntoBuckets(const Order& order, int slots, int (&ends)[kBuckets], std::uint16_t* sorted,
                                       int (&of_warps)[kBucketThreads / 32]) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int bucket = thread; bucket < kBuckets; bucket += kBucketThreads) {
    ends[bucket] = 0;
  }
  __syncthreads();
  for (int slot = thread; slot < slots; slot += kBucketThreads) {
    if (order.keys[slot] != kNoKey) {
      atomicAdd(&ends[order.BucketOf(slot)], 1);
    }
  }
  __syncthreads();
  CountsToBegins(ends, of_warps);
  for (int slot = thread; slot < slots; slot += kBucketThreads) {
    if (order.keys[slot] != kNoKey) {  // every begin moves to its bucket's end
      sorted[atomicAdd(&ends[order.BucketOf(slot)], 1)] = static_cast<std::uint16_t>(slot);
    }
  }
  __syncthreads();
}

/// How many come before a slot, of which part `part` of `parts` counts those of its bucket.
template <typename Order>
__device__ inline int CountBefore(const Order& order, const int (&ends)[kBuckets], const std::uint16_t* sorted,
                                  int slot, int part, int parts) {
  const int bucket = order.BucketOf(slot);
  const int begin = bucket == 0 ? 0 : ends[bucket - 1];
  int before = part == 0 ? begin : 0;
  for (int i = begin + part; i < ends[bucket]; i += parts) {
    before += order.IsBefore(sorted[i], slot) ? 1 : 0;
  }
  return before;
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BUCKET_SORT_CUH_

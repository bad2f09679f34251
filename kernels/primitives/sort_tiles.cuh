// Sorting of unique 64-bit keys on the device, in two kinds of steps: blocks sort tiles of kSortTile keys in shared
// memory, and passes merge up to kFanIn sorted runs into one. In a merge every key finds its place by itself: its
// position in its own run, plus the keys before it in each of the others, by binary search. No key waits for another,
// no temporary storage depends on the batch, and 16 384 keys need one pass, 262 144 two. Where several blocks have one
// tile to sort, they count for each key those before it: more comparisons than in sorting, but at once and without
// barriers.
//
// Source: bitonic sort (Batcher, 1968); merging by ranks as in Cole's "Parallel merge sort", 1988.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_SORT_TILES_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_SORT_TILES_CUH_

#include <cstdint>

#include "kernels/primitives/box_workspace.h"

namespace kernelwire::box {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr std::uint64_t kNoKey = ~std::uint64_t{0};  // sorts behind all others

/// Two arrays to exchange keys through; used in turns, so that a step needs one barrier.
struct SortShared {
  std::uint64_t exchange[2][kSortTile];
};

/// Sorts the keys of the block's first `count` threads upwards, thread by thread; `count` is a power of two from 32 to
/// kSortTile. Keys of later threads stay where they are. Called by all kSortTile threads of the block.
__device__ inline std::uint64_t SortBlock(std::uint64_t key, int count, SortShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  int turn = 0;
  for (int size = 2; size <= count; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      std::uint64_t other = 0;
      if (stride < 32) {
        other = __shfl_xor_sync(kAllLanes, key, stride);
      } else {
        shared.exchange[turn][thread] = key;
        __syncthreads();
        other = shared.exchange[turn][thread ^ stride];
        turn ^= 1;
      }
      const bool take_least = ((thread & stride) == 0) == ((thread & size) == 0);
      const bool other_is_less = other < key;
      if (thread < count && take_least == other_is_less) {
        key = other;
      }
    }
  }
  __syncthreads();  // `shared` may be used again
  return key;
}

/// Ranks keys by counting, for a sorted order that several blocks find together without waiting for each other: in
/// shared.exchange lie `count` keys, of which this block ranks `share`, a power of two from 32 to kSortTile, from
/// `first` on. Thread t < share returns how many are less than key `first` + t. Called by all kSortTile threads of the
/// block.
__device__ inline int CountedRank(int first, int share, int count, SortShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  const std::uint64_t* const keys = shared.exchange[0];
  int* const ranks = reinterpret_cast<int*>(shared.exchange[1]);
  if (thread < share) {
    ranks[thread] = 0;
  }
  __syncthreads();
  const int mine = thread % share;
  const int parts = kSortTile / share;
  const int length = (count + parts - 1) / parts;
  const int begin = thread / share * length;
  if (first + mine < count) {
    const std::uint64_t key = keys[first + mine];
    int less = 0;
#pragma unroll 8
    for (int i = begin; i < min(begin + length, count); ++i) {
      less += keys[i] < key ? 1 : 0;
    }
    atomicAdd(&ranks[mine], less);
  }
  __syncthreads();
  const int rank = thread < share ? ranks[thread] : 0;
  __syncthreads();  // `shared` may be used again
  return rank;
}

/// The keys of `run` that are less than `key`. `run` is sorted.
__device__ inline int LowerBound(const std::uint64_t* run, int count, std::uint64_t key) {
  int low = 0;
  for (int left = count; left > 0;) {
    const int half = left / 2;
    const bool less = run[low + half] < key;
    low = less ? low + half + 1 : low;
    left = less ? left - half - 1 : half;
  }
  return low;
}

/// Passes that make one run of `slots` keys, sorted in tiles; at least one. Also called by the host.
__host__ __device__ inline int MergePasses(std::int64_t slots) {
  int passes = 1;
  for (std::int64_t run = std::int64_t{kSortTile} * kFanIn; run < slots; run *= kFanIn) {
    ++passes;
  }
  return passes;
}

/// Keys between the beginnings of two runs before pass `pass`.
__host__ __device__ inline std::int64_t RunLength(int pass) {
  std::int64_t length = kSortTile;
  for (int i = 0; i < pass; ++i) {
    length *= kFanIn;
  }
  return length;
}

/// Adds up, over the runs [first, end), at most kFanIn of them, the keys less than `key`. Runs begin `length`, a power
/// of two, apart. All searches take the same steps and no branches, so that their loads are under way together.
__device__ inline std::int64_t CountLess(const std::uint64_t* keys, const std::int32_t* counts, std::int64_t first,
                                         std::int64_t end, int length, std::uint64_t key) {
  const std::uint64_t* const base = keys + first * length;
  const int runs = static_cast<int>(end - first);
  int low[kFanIn];
  int count[kFanIn];
#pragma unroll
  for (int i = 0; i < kFanIn; ++i) {
    low[i] = 0;
    count[i] = i < runs ? counts[first + i] : 0;
  }
  for (int step = length; step > 0; step /= 2) {
    std::uint64_t other[kFanIn];
#pragma unroll
    for (int i = 0; i < kFanIn; ++i) {
      const int last = max(min(low[i] + step, count[i]) - 1, 0);  // some key of a run, even where none is asked for
      other[i] = base[static_cast<std::int64_t>(min(i, runs - 1)) * length + last];
    }
#pragma unroll
    for (int i = 0; i < kFanIn; ++i) {
      low[i] += low[i] + step <= count[i] && other[i] < key ? step : 0;
    }
  }
  std::int64_t sum = 0;
#pragma unroll
  for (int i = 0; i < kFanIn; ++i) {
    sum += low[i];
  }
  return sum;
}

/// The place of the key at `slot` in the group of runs that pass `pass` merges into one, from the group's beginning; -1
/// if the slot holds no key. `counts` are the runs' numbers of keys, `runs` how many runs there are.
__device__ inline std::int64_t PlaceInGroup(const std::uint64_t* keys, const std::int32_t* counts, std::int64_t runs,
                                            int pass, std::int64_t slot, std::uint64_t* key) {
  const std::int64_t length = RunLength(pass);
  const std::int64_t run = slot / length;
  if (slot - run * length >= counts[run]) {
    return -1;
  }
  *key = keys[slot];
  const std::int64_t first = run / kFanIn * kFanIn;
  const std::int64_t end = min(first + kFanIn, runs);
  return CountLess(keys, counts, first, end, static_cast<int>(length), *key);
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_SORT_TILES_CUH_

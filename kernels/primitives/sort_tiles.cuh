// Sorting of unique 64-bit keys on the device, in two kinds of steps: blocks sort tiles of kSortTile keys in shared
// memory, and passes merge up to kFanIn sorted runs into one. In a merge every key finds its place by itself: its
// position in its own run, plus the keys before it in each of the others, by binary search. No key waits for another,
// no temporary storage depends on the batch, and 131 072 keys need one pass.
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

/// The place of the key at `slot` in the group of runs that pass `pass` merges into one, from the group's beginning; -1
/// if the slot holds no key. `counts` are the runs' numbers of keys, `runs` how many runs there are.
__device__ inline std::int64_t PlaceInGroup(const std::uint64_t* keys, const std::int32_t* counts, std::int64_t runs,
                                            int pass, std::int64_t slot, std::uint64_t* key) {
  const std::int64_t length = RunLength(pass);
  const std::int64_t run = slot / length;
  const std::int64_t position = slot - run * length;
  if (position >= counts[run]) {
    return -1;
  }
  *key = keys[slot];
  const std::int64_t first = run / kFanIn * kFanIn;
  const std::int64_t end = min(first + kFanIn, runs);
  std::int64_t place = position;
#pragma unroll 4
  for (std::int64_t other = first; other < end; ++other) {
    if (other != run) {
      place += LowerBound(keys + other * length, counts[other], *key);
    }
  }
  return place;
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_SORT_TILES_CUH_

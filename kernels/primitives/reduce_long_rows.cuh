// Results over long rows, which are cut into parts: a block does some of a result's parts, and meets those that do the
// others in the shared memory of a cluster, or in the memory that launches share (Launch::tickets).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LONG_ROWS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LONG_ROWS_CUH_

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_parts.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/reduce_tuning.h"

namespace kernelwire {

/// What the threads of a warp hold together of a part: the total of its vectors, a tile at a time.
template <typename R, typename Rows>
__device__ __forceinline__ typename R::Total AddPart(const R& reduction, const ReduceArguments& arguments,
                                                     const Rows& rows, std::int64_t begin, int count) {
  constexpr int kTile = kLongRowBlock * kVectorsInFlight;
  typename R::Total total = R::Identity();
#pragma unroll 1
  for (; count > 0; count -= kTile, begin += kTile) {
    AddVectors<kVectorsInFlight>(reduction, arguments, rows, begin, count, static_cast<int>(threadIdx.x), kLongRowBlock,
                                 total);
  }
  return CombineLanes(reduction, total, 32);
}

/// The same of a row of one part. The last tile is as small as the row allows, since what fills it up costs as much as
/// the rest, unless there are tiles of one size only. Warps have pieces tile by tile, so its size is that of
/// ReduceTuning::vectors for as many threads.
template <typename R, typename Rows>
__device__ __forceinline__ typename R::Total AddRow(const R& reduction, const ReduceArguments& arguments,
                                                    const Rows& rows, int threads) {
  const int lane = static_cast<int>(threadIdx.x);
  const int tile = threads * kVectorsInFlight;
  auto count = static_cast<int>(arguments.vectors);
  int begin = 0;
  typename R::Total total = R::Identity();
#pragma unroll 1
  for (; count > (Rows::kOneTile ? 0 : 6 * threads); count -= tile, begin += tile) {
    AddVectors<kVectorsInFlight>(reduction, arguments, rows, begin, count, lane, threads, total);
  }
  if constexpr (!Rows::kOneTile) {
    if (count > 4 * threads) {
      AddVectors<6>(reduction, arguments, rows, begin, count, lane, threads, total);
    } else if (count > 0) {
      AddVectors<4>(reduction, arguments, rows, begin, count, lane, threads, total);
    }
  }
  return CombineLanes(reduction, total, 32);
}

/// Parts whose totals a block finishes together.
inline constexpr int kPartsAtOnce = 16;

/// The totals of `count` parts of a result, at most kPartsAtOnce: first, first + step, ... Thread i has that of the
/// i-th. Warps do not wait for each other between parts. Requires: a barrier of the block before it is called again.
template <typename R, typename Rows>
__device__ __forceinline__ typename R::Total ReduceSomeParts(const R& reduction, const ReduceArguments& arguments,
                                                             const Rows& rows, int first, int step, int count) {
  using Total = typename R::Total;
  constexpr int kWarps = kLongRowBlock / 32;
  __shared__ Total of_warps[kPartsAtOnce][kWarps];
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = std::int64_t{first + i * step} * arguments.parts.length;
    const auto vectors = static_cast<int>(min(arguments.parts.length, arguments.vectors - begin));
    const Total total = AddPart(reduction, arguments, rows, begin, vectors);
    if (threadIdx.x % 32 == 0) {
      of_warps[i][threadIdx.x / 32] = total;
    }
  }
  __syncthreads();
  return static_cast<int>(threadIdx.x) < count ? CombineList(reduction, of_warps[threadIdx.x], kWarps) : R::Identity();
}

/// Adds the totals of `count` parts, one a thread of the first warp, that come behind `before` others of the block:
/// slot i of the block's `own`, a power of two, takes parts i, i + own, ... in turn.
template <typename R>
__device__ __forceinline__ void AddToSlots(const R& reduction, const typename R::Total& total, int before, int count,
                                           typename R::Total* slots, int own) {
  __shared__ typename R::Total totals[kPartsAtOnce];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < count) {
    totals[thread] = total;
  }
  __syncwarp();
  typename R::Total& slot = slots[(before + thread) & (own - 1)];
  for (int i = thread; i < count && thread < own; i += own) {
    slot = reduction.Combine(slot, totals[i]);
  }
  __syncwarp();
}

/// The total of the parts rank, rank + blocks, ... of a result, in the threads of the first warp. `blocks` is a power
/// of two, and there are no more than slots: so a slot is one block's alone, and a block merges its own before it meets
/// others. Requires: a barrier of the block before it is called again.
template <typename R, typename Rows>
__device__ __forceinline__ typename R::Total TotalOfParts(const R& reduction, const ReduceArguments& arguments,
                                                          const Rows& rows, int rank, int blocks) {
  static_assert(kLongRowBlock == ReduceParts::kMaxSlots);
  __shared__ typename R::Total slots[kLongRowBlock];
  const int thread = static_cast<int>(threadIdx.x);
  const int own = arguments.parts.slots / blocks;
  if (thread < own) {
    slots[thread] = R::Identity();
  }
  // As many as all of memory has fit an int. Divided by a power of two:
  const int parts = (static_cast<int>(arguments.parts.count) - rank + blocks - 1) >> (31 - __clz(blocks));
#pragma unroll 1
  for (int before = 0; before < parts; before += kPartsAtOnce) {
    if (before > 0) {
      __syncthreads();
    }
    const int count = min(parts - before, kPartsAtOnce);
    const typename R::Total total = ReduceSomeParts(reduction, arguments, rows, rank + before * blocks, blocks, count);
    if (thread < 32) {
      AddToSlots(reduction, total, before, count, slots, own);
    }
  }
  return MergeSlotsOfBlock(reduction, slots, own);
}

/// The blocks of a cluster that shares a result. None for a single block.
class RowCluster {
 public:
  /// Every thread of every block constructs one at the kernel's start.
  __device__ __forceinline__ explicit RowCluster(int blocks) : blocks_(blocks) {
#if __CUDA_ARCH__ >= 900
    if (blocks > 1) {
      asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    }
#endif
  }

  /// Merges what the first threads of the blocks have: the outcome is the first block's. May be called once.
  template <typename R>
  __device__ __forceinline__ typename R::Total Merge(const R& reduction, typename R::Total total, int rank) const {
#if __CUDA_ARCH__ >= 900
    if (blocks_ > 1) {
      __shared__ typename R::Total of_blocks[kMostBlocks];
      asm volatile("barrier.cluster.wait.aligned;" ::: "memory");  // the first block has begun
      if (threadIdx.x == 0) {
        cooperative_groups::this_cluster().map_shared_rank(of_blocks, 0)[rank] = total;
      }
      asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
      asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
      total = MergeSlotsOfBlock(reduction, of_blocks, blocks_);
    }
#else
    static_cast<void>(reduction);
    static_cast<void>(rank);
#endif
    return total;
  }

 private:
  static constexpr int kMostBlocks = 8;

  int blocks_;
};

/// PartSharing::kBlock and kCluster. Block b does the parts b % blocks, b % blocks + blocks, ... of result b / blocks.
/// A block that shares no result goes on with those a grid further; a cluster has one.
template <typename R, RowReads kReads>
__global__ void __launch_bounds__(kLongRowBlock, ThreadsOfRows<R, kReads>() / kLongRowBlock)
    ReduceLongRowsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, const int blocks) {
  AwaitEarlierWork(arguments);
  using Rows = ResultRows<typename R::Element, R::kInputs, kReads, true>;
  const RowCluster cluster(blocks);
  const int rank = static_cast<int>(blockIdx.x) & (blocks - 1);
  for (std::int64_t index = static_cast<int>(blockIdx.x) / blocks; index < arguments.results; index += gridDim.x) {
    const ResultPlace place = Rows::PlaceOf(arguments, index);
    typename R::Total total = TotalOfParts(reduction, arguments, Rows(arguments, place), rank, blocks);
    total = cluster.Merge(reduction, total, rank);
    if (rank == 0 && threadIdx.x == 0) {
      reduction.Store(arguments, place, total);
    }
    __syncthreads();
  }
}

/// Blocks of kLongRowBlock threads that a multiprocessor shall have the registers for where each has a row of one part:
/// one more than else of wide elements that lie anywhere, which are waited for once a row.
template <typename R, RowReads kReads>
constexpr int BlocksOfRowBlocks() {
  constexpr int kMore = kReads == RowReads::kAny && sizeof(typename R::Element) >= 4 ? 1 : 0;
  return ThreadsOfRows<R, kReads>() / kLongRowBlock + kMore;
}

/// Rows of one part: a block of whole warps, kLongRowBlock threads at most, has one, and goes on with those a grid
/// further. The order is that of as many threads in ReduceShortRowsKernel.
template <typename R, RowReads kReads>
__global__ void __launch_bounds__(kLongRowBlock, BlocksOfRowBlocks<R, kReads>())
    ReduceRowBlocksKernel(const __grid_constant__ ReduceArguments arguments, const R reduction) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  using Rows = ResultRows<typename R::Element, R::kInputs, kReads, true>;
  __shared__ Total of_warps[kLongRowBlock / 32];
  const int threads = static_cast<int>(blockDim.x);
  for (std::int64_t index = static_cast<int>(blockIdx.x); index < arguments.results; index += gridDim.x) {
    const ResultPlace place = Rows::PlaceOf(arguments, index);
    Rows::AskAhead(arguments, index, 1);
    Total total = AddRow(reduction, arguments, Rows(arguments, place), threads);
    if (threads > 32) {
      if (threadIdx.x % 32 == 0) {
        of_warps[threadIdx.x / 32] = total;
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        total = CombineList(reduction, of_warps, threads / 32);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      reduction.Store(arguments, place, total);
    }
  }
}

/// PartSharing::kGrid. The same, but the first block of a result waits for what the others leave in memory. They come
/// after it in the grid, before the blocks of other results: so they run, or will, whoever else waits. A kernel of its
/// own: together they would take more registers than either.
template <typename R, RowReads kReads>
__global__ void __launch_bounds__(kLongRowBlock, ThreadsOfRows<R, kReads>() / kLongRowBlock)
    ReduceSharedRowsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, const int blocks) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  using Rows = ResultRows<typename R::Element, R::kInputs, kReads, true>;
  const int thread = static_cast<int>(threadIdx.x);
  const int rank = static_cast<int>(blockIdx.x) & (blocks - 1);
  const std::int64_t index = static_cast<int>(blockIdx.x) / blocks;
  const ResultPlace place = Rows::PlaceOf(arguments, index);
  const Total own = TotalOfParts(reduction, arguments, Rows(arguments, place), rank, blocks);
  uint4* const arrivals = arguments.arrivals + (index * blocks) * Arrival<Total>::kUnits;
  if (rank != 0) {
    if (thread == 0) {
      Arrival<Total>::Leave(own, arrivals + rank * Arrival<Total>::kUnits);
    }
    return;
  }
  __shared__ Total of_blocks[kLongRowBlock];
  if (thread < blocks) {
    of_blocks[thread] = thread == 0 ? own : Arrival<Total>::Await(arrivals + thread * Arrival<Total>::kUnits);
  }
  const Total total = MergeSlotsOfBlock(reduction, of_blocks, blocks);
  if (thread == 0) {
    reduction.Store(arguments, place, total);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LONG_ROWS_CUH_

// Results over long rows, which are cut into parts: a block does some of a result's parts, and meets those that do the
// others in the shared memory of a cluster, or in the workspace.
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

/// The same of a row of one part. The last tile is as small as the row allows: what fills it up costs as much as what
/// is there.
template <typename R, typename Rows>
__device__ __forceinline__ typename R::Total AddRow(const R& reduction, const ReduceArguments& arguments,
                                                    const Rows& rows, int threads) {
  const int lane = static_cast<int>(threadIdx.x);
  const int tile = threads * kVectorsInFlight;
  auto count = static_cast<int>(arguments.vectors);
  int begin = 0;
  typename R::Total total = R::Identity();
#pragma unroll 1
  for (; count > 6 * threads; count -= tile, begin += tile) {
    AddVectors<kVectorsInFlight>(reduction, arguments, rows, begin, count, lane, threads, total);
  }
  if (count > 4 * threads) {
    AddVectors<6>(reduction, arguments, rows, begin, count, lane, threads, total);
  } else if (count > 0) {
    AddVectors<4>(reduction, arguments, rows, begin, count, lane, threads, total);
  }
  return CombineLanes(reduction, total, 32);
}

/// Parts whose totals a block finishes together.
inline constexpr int kPartsAtOnce = 16;

/// The totals of `count` parts of a result, at most kPartsAtOnce: first, first + step, ... Thread i has that of the
/// i-th. Warps do not wait for each other between parts. Requires: a barrier of the block before it is called again.
template <typename R, typename Rows>
__device__ __forceinline__ typename R::Total ReduceSomeParts(const R& reduction, const ReduceArguments& arguments,
                                                             const Rows& rows, std::int64_t first, int step,
                                                             int count) {
  using Total = typename R::Total;
  constexpr int kWarps = kLongRowBlock / 32;
  __shared__ Total of_warps[kPartsAtOnce][kWarps];
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = (first + std::int64_t{i} * step) * arguments.parts.length;
    const auto vectors = static_cast<int>(min(arguments.parts.length, arguments.vectors - begin));
    const Total total = AddPart(reduction, arguments, rows, begin, vectors);
    if (threadIdx.x % 32 == 0) {
      of_warps[i][threadIdx.x / 32] = total;
    }
  }
  __syncthreads();
  return static_cast<int>(threadIdx.x) < count ? CombineList(reduction, of_warps[threadIdx.x], kWarps) : R::Identity();
}

/// Calls take(part, total) for each of the parts first, first + step, ... of a result, in one thread of the block; in
/// the first one if there is only one. There is a barrier before the first call, and between any two for parts that lie
/// kPartsAtOnce * step or more apart. Requires: a barrier of the block before it is called again.
template <typename R, typename Rows, typename Take>
__device__ __forceinline__ void ReduceEachPart(const R& reduction, const ReduceArguments& arguments, const Rows& rows,
                                               std::int64_t first, int step, const Take& take) {
  const std::int64_t parts = arguments.parts.count;
  for (std::int64_t part = first; part < parts; part += std::int64_t{kPartsAtOnce} * step) {
    if (part != first) {
      __syncthreads();
    }
    const auto count = static_cast<int>(min((parts - part + step - 1) / step, std::int64_t{kPartsAtOnce}));
    const typename R::Total total = ReduceSomeParts(reduction, arguments, rows, part, step, count);
    if (static_cast<int>(threadIdx.x) < count) {
      take(part + static_cast<int>(threadIdx.x) * std::int64_t{step}, total);
    }
  }
}

/// Merges the slots of a block, one a thread, and stores the result.
template <typename R>
__device__ __forceinline__ void StoreMerged(const R& reduction, const ReduceArguments& arguments,
                                            const ResultPlace& place, typename R::Total* slots) {
  static_assert(kLongRowBlock == ReduceParts::kMaxSlots);
  MergeSlots(reduction, slots, arguments.parts.slots, static_cast<int>(threadIdx.x), 1);
  if (threadIdx.x == 0) {
    reduction.Store(arguments, place, slots[0]);
  }
}

/// The blocks of a cluster that shares a result: they fill slots of the first one. None for a single block.
class ClusterSlots {
 public:
  /// Every thread of every block constructs one at the kernel's start.
  __device__ __forceinline__ explicit ClusterSlots(int blocks) : blocks_(blocks) {
#if __CUDA_ARCH__ >= 900
    if (blocks > 1) {
      asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    }
#endif
  }

  /// Leaves with the first block the slots rank, rank + blocks, ... of block `rank`, which are its alone.
  template <typename Total>
  __device__ __forceinline__ void HandToFirst(Total* slots, int count, int rank) const {
#if __CUDA_ARCH__ >= 900
    if (blocks_ > 1) {
      __syncthreads();
      asm volatile("barrier.cluster.wait.aligned;" ::: "memory");  // the first block has begun
      const int slot = static_cast<int>(threadIdx.x);
      if (rank != 0 && slot < count && slot % blocks_ == rank) {
        cooperative_groups::this_cluster().map_shared_rank(slots, 0)[slot] = slots[slot];
      }
      asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
      asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    }
#else
    static_cast<void>(slots);
    static_cast<void>(count);
    static_cast<void>(rank);
#endif
  }

 private:
  int blocks_;
};

/// PartSharing::kBlock and kCluster. Block b does the parts b % blocks, b % blocks + blocks, ... of result b / blocks.
/// As many blocks as a cluster has divide the number of slots, so that a slot is one block's alone. A block that shares
/// no result goes on with those a grid further; a cluster has one.
template <typename R, RowReads kReads>
__global__ void __launch_bounds__(kLongRowBlock, ThreadsOfRows<R, kReads>() / kLongRowBlock)
    ReduceLongRowsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, const int blocks) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  using Rows = ResultRows<typename R::Element, R::kInputs, kReads>;
  __shared__ Total slots[kLongRowBlock];
  const ClusterSlots cluster(blocks);
  const ReduceParts& parts = arguments.parts;
  const int rank = static_cast<int>(blockIdx.x) & (blocks - 1);
  for (std::int64_t index = static_cast<int>(blockIdx.x) / blocks; index < arguments.results; index += gridDim.x) {
    const ResultPlace place = Rows::PlaceOf(arguments, index);
    const Rows rows(arguments, place);
    if (static_cast<int>(threadIdx.x & (blocks - 1)) == rank) {
      slots[threadIdx.x] = R::Identity();
    }
    ReduceEachPart(reduction, arguments, rows, rank, blocks, [&](std::int64_t part, const Total& total) {
      Total& slot = slots[part % parts.slots];
      slot = reduction.Combine(slot, total);
    });
    cluster.HandToFirst(slots, parts.slots, rank);
    if (rank == 0) {
      StoreMerged(reduction, arguments, place, slots);
    }
    __syncthreads();
  }
}

/// Rows of one part: a block of whole warps, kLongRowBlock threads at most, has one, and goes on with those a grid
/// further. The order is that of as many threads in ReduceShortRowsKernel.
template <typename R, RowReads kReads>
__global__ void __launch_bounds__(kLongRowBlock, ThreadsOfRows<R, kReads>() / kLongRowBlock)
    ReduceRowBlocksKernel(const __grid_constant__ ReduceArguments arguments, const R reduction) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  using Rows = ResultRows<typename R::Element, R::kInputs, kReads>;
  __shared__ Total of_warps[kLongRowBlock / 32];
  const int threads = static_cast<int>(blockDim.x);
  for (std::int64_t index = static_cast<int>(blockIdx.x); index < arguments.results; index += gridDim.x) {
    const ResultPlace place = Rows::PlaceOf(arguments, index);
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

/// PartSharing::kGrid. Block b does the parts b % blocks, b % blocks + blocks, ... of result b / blocks; all of that
/// result's blocks share its ticket. A kernel of its own: together they would take more registers than either.
template <typename R, RowReads kReads>
__global__ void __launch_bounds__(kLongRowBlock, ThreadsOfRows<R, kReads>() / kLongRowBlock)
    ReduceSharedRowsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, const int blocks) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  __shared__ Total slots[kLongRowBlock];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t index = static_cast<int>(blockIdx.x) / blocks;
  using Rows = ResultRows<typename R::Element, R::kInputs, kReads>;
  const ResultPlace place = Rows::PlaceOf(arguments, index);
  const Rows rows(arguments, place);
  ReduceEachPart(reduction, arguments, rows, static_cast<int>(blockIdx.x) % blocks, blocks,
                 [&](std::int64_t part, const Total& total) { PartTotal<Total>(place, part) = total; });
  if (arguments.parts.count > blocks) {
    __syncthreads();  // several threads have written
  }
  if (ComesLast(arguments.tickets + index, blocks)) {
    // A thread without a slot finds no part either: slots are fewer than threads only while there is one for each part.
    slots[thread] = CollectSlot(reduction, arguments.parts, place, thread);
    StoreMerged(reduction, arguments, place, slots);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LONG_ROWS_CUH_

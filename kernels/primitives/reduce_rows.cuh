// Reductions over runs of neighbours. A reduction is a class that says what an element does:
//
//   using Element, Total;                     // Total: plain data of at most kPartBytes, in whole 4-byte words
//   static constexpr int kInputs;             // 1, or 2 whose elements meet in pairs
//   static Element Fill();                    // an element that changes no total; if there is none: Operand::present
//   static Total Identity();                  // a total that changes no other
//   Total Combine(Total, Total);              // the same bits for (a, b) and (b, a)
//   void AddTile(tile, first, step, total);   // adds Operands; element j of operand u is number first + u * step + j
//   void Store(arguments, place, total);      // the finished result
//
// Where Combine is costly because totals are relative to something (a maximum), lanes that meet first agree on that. A
// reduction that says how has, besides,
//
//   using Reference, Share;                   // plain data in whole 4-byte words; Reference void: it has not
//   static Reference ReferenceOf(Total);
//   static Reference Larger(Reference, Reference);  // of both; this and AddShares as Combine, the same for (b, a)
//   Share ShareOf(Total, Reference);          // what a total amounts to, relative to the reference of all that meet
//   Share AddShares(Share, Share);
//   static Total TotalOf(Share, Reference);
//
// Vector k of a part belongs to thread k % threads, and a thread adds its vectors in order, a tile at a time. So the
// order of every sum follows from type and width alone.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_ROWS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_ROWS_CUH_

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_parts.cuh"
#include "kernels/primitives/row_reduce.cuh"

namespace kernelwire {

/// Vectors that a thread has in flight: 128 bytes of each input.
inline constexpr int kVectorsInFlight = 8;

inline constexpr int kShortRowBlock = 128;
inline constexpr int kLongRowBlock = 256;

/// Threads of a result that a block of kShortRowBlock has in flight at once: as few as have, since what a thread lacks
/// of its kVectorsInFlight costs as much as what it has. Two at least where they would not share 32 bytes of memory.
inline constexpr std::int64_t kVectorsOfShortRow = std::int64_t{kShortRowBlock} * kVectorsInFlight;
inline int ThreadsOfShortRow(std::int64_t vectors) {
  int threads = vectors <= 4 ? 1 : 2;
  while (vectors > std::int64_t{threads} * kVectorsInFlight) {
    threads *= 2;
  }
  return threads;
}

/// Threads of a block of short rows: a warp, or a row, where whole blocks would be fewer than the multiprocessors.
inline int BlockOfShortRows(std::int64_t results, int threads) {
  constexpr std::int64_t kFewBlocks = 128;
  const bool few = results * threads < kFewBlocks * kShortRowBlock;
  return !few ? kShortRowBlock : threads < 32 ? 32 : threads;
}

/// Adds the vectors lane, lane + threads, ... of [begin, end) to `total`.
template <typename R, typename Rows>
__device__ __forceinline__ void AddVectors(const R& reduction, const ReduceArguments& arguments, const Rows& rows,
                                           std::int64_t begin, std::int64_t end, int lane, int threads,
                                           typename R::Total& total) {
  using T = typename R::Element;
  constexpr int kLength = Rows::kLength;
  const T fill = reduction.Fill();
  for (std::int64_t first = begin + lane; first < end; first += std::int64_t{threads} * kVectorsInFlight) {
    Operand<T, kLength, R::kInputs> tile[kVectorsInFlight];
    if (Rows::kWhole && first + std::int64_t{threads} * (kVectorsInFlight - 1) < end) {
#pragma unroll
      for (int u = 0; u < kVectorsInFlight; ++u) {
        tile[u] = rows.Load(arguments, first + u * threads, fill);
      }
    } else {
#pragma unroll
      for (int u = 0; u < kVectorsInFlight; ++u) {
        const std::int64_t index = first + u * threads;
        tile[u] = index < end ? rows.Load(arguments, index, fill) : Operand<T, kLength, R::kInputs>::Filled(fill);
      }
    }
    reduction.AddTile(tile, first * kLength, std::int64_t{threads} * kLength, total);
  }
}

template <typename R, typename = void>
inline constexpr bool kHasReference = false;
template <typename R>
inline constexpr bool kHasReference<R, std::enable_if_t<!std::is_void_v<typename R::Reference>>> = true;

/// The totals of each aligned group of `lanes` lanes, a power of two, merged: in each of them.
template <typename R>
__device__ __forceinline__ typename R::Total CombineLanes(const R& reduction, typename R::Total total, int lanes) {
  if constexpr (kHasReference<R>) {
    auto reference = R::ReferenceOf(total);
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      reference = R::Larger(reference, ShuffleXor(0xFFFFFFFFU, reference, offset));
    }
    auto share = reduction.ShareOf(total, reference);
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      share = reduction.AddShares(share, ShuffleXor(0xFFFFFFFFU, share, offset));
    }
    return R::TotalOf(share, reference);
  } else {
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      total = reduction.Combine(total, ShuffleXor(0xFFFFFFFFU, total, offset));
    }
    return total;
  }
}

/// The `count` totals at `list`, one after another.
template <typename R>
__device__ __forceinline__ typename R::Total CombineList(const R& reduction, const typename R::Total* list, int count) {
  if constexpr (kHasReference<R>) {
    auto reference = R::ReferenceOf(list[0]);
#pragma unroll
    for (int i = 1; i < count; ++i) {
      reference = R::Larger(reference, R::ReferenceOf(list[i]));
    }
    auto share = reduction.ShareOf(list[0], reference);
#pragma unroll
    for (int i = 1; i < count; ++i) {
      share = reduction.AddShares(share, reduction.ShareOf(list[i], reference));
    }
    return R::TotalOf(share, reference);
  } else {
    typename R::Total total = list[0];
#pragma unroll
    for (int i = 1; i < count; ++i) {
      total = reduction.Combine(total, list[i]);
    }
    return total;
  }
}

/// The total of the `threads` threads, a power of two, that share a row of a block, in the first of them at least. May
/// be called again at once.
template <typename R>
__device__ __forceinline__ typename R::Total CombineRow(const R& reduction, typename R::Total total, int threads) {
  using Total = typename R::Total;
  __shared__ Total of_warps[kShortRowBlock / 32];
  total = CombineLanes(reduction, total, min(threads, 32));
  if (threads > 32) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
      of_warps[warp] = total;
    }
    __syncthreads();
    if (static_cast<int>(threadIdx.x) % threads == 0) {
      total = CombineList(reduction, of_warps + warp, threads / 32);
    }
    __syncthreads();
  }
  return total;
}

/// Results of at most kVectorsOfShortRow vectors: `threads` threads each, so that a block does several.
template <typename R, bool kPlain>
__global__ void __launch_bounds__(kShortRowBlock)
    ReduceShortRowsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, int threads) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  const int lane = static_cast<int>(threadIdx.x) % threads;
  const int rows_of_block = static_cast<int>(blockDim.x) / threads;
  const int row = static_cast<int>(threadIdx.x) / threads;
  const std::int64_t step = std::int64_t{gridDim.x} * rows_of_block;
  for (std::int64_t base = std::int64_t{blockIdx.x} * rows_of_block; base < arguments.results; base += step) {
    const std::int64_t index = base + row;
    const bool live = index < arguments.results;
    const ResultPlace place = ResultPlace::Of(arguments, live ? index : base);
    Total total = R::Identity();
    if (live) {
      const ResultRows<typename R::Element, R::kInputs, kPlain> rows(arguments, place);
      AddVectors(reduction, arguments, rows, 0, arguments.vectors, lane, threads, total);
    }
    total = CombineRow(reduction, total, threads);
    if (live && lane == 0) {
      reduction.Store(arguments, place, total);
    }
  }
}

/// The total of a block's threads, in thread 0 at least. May be called again at once.
template <typename R>
__device__ typename R::Total CombineBlock(const R& reduction, typename R::Total total) {
  using Total = typename R::Total;
  constexpr int kWarps = kLongRowBlock / 32;
  __shared__ Total of_warps[kWarps];
  total = CombineLanes(reduction, total, 32);
  if (threadIdx.x % 32 == 0) {
    of_warps[threadIdx.x / 32] = total;
  }
  __syncthreads();
  total = CombineList(reduction, of_warps, kWarps);
  __syncthreads();
  return total;
}

/// Who does the parts of a result. The outcome is the same, to the bit: only the ways of the parts' totals differ.
enum class PartSharing : std::int32_t {
  kBlock,    // one block, part by part: many results fill the device
  kCluster,  // a cluster of as many blocks as there are parts, which meet in shared memory
  kGrid,     // a block each; the totals go to the workspace, and the last block of a result merges them
};

/// The total of part `part` of a result, in thread 0 at least.
template <typename R, typename Rows>
__device__ __forceinline__ typename R::Total ReducePart(const R& reduction, const ReduceArguments& arguments,
                                                        const Rows& rows, std::int64_t part) {
  const std::int64_t begin = part * arguments.parts.length;
  const std::int64_t end = min(begin + arguments.parts.length, arguments.vectors);
  typename R::Total total = R::Identity();
  AddVectors(reduction, arguments, rows, begin, end, static_cast<int>(threadIdx.x), kLongRowBlock, total);
  return CombineBlock(reduction, total);
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

/// Leaves the total of this block's part, which the thread of that number holds, with the first block of the cluster.
template <typename Total>
__device__ __forceinline__ void HandToFirstBlock(Total* slots, const Total& total) {
#if __CUDA_ARCH__ >= 900
  namespace cg = cooperative_groups;
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();  // the slots have been cleared
  if (threadIdx.x == cluster.block_rank()) {
    cluster.map_shared_rank(slots, 0)[cluster.block_rank()] = total;
  }
  cluster.sync();
#endif
}

/// Longer results: PartSharing::kBlock and kCluster. Block b does the parts b % blocks, b % blocks + blocks, ... of
/// result b / blocks.
template <typename R, bool kPlain>
__global__ void __launch_bounds__(kLongRowBlock)
    ReduceLongRowsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction,
                         const PartSharing sharing, const int blocks) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  __shared__ Total slots[kLongRowBlock];
  const int thread = static_cast<int>(threadIdx.x);
  const ReduceParts& parts = arguments.parts;
  const std::int64_t first_part = static_cast<int>(blockIdx.x) % blocks;
  const std::int64_t step = static_cast<int>(gridDim.x) / blocks;
  for (std::int64_t index = static_cast<int>(blockIdx.x) / blocks; index < arguments.results; index += step) {
    const ResultPlace place = ResultPlace::Of(arguments, index);
    const ResultRows<typename R::Element, R::kInputs, kPlain> rows(arguments, place);
    Total slot = R::Identity();
    for (std::int64_t part = first_part; part < parts.count; part += blocks) {
      const Total total = ReducePart(reduction, arguments, rows, part);
      if (part % parts.slots == thread) {
        slot = reduction.Combine(slot, total);
      }
    }
    slots[thread] = sharing == PartSharing::kBlock ? slot : R::Identity();
    if (sharing == PartSharing::kCluster) {
      HandToFirstBlock(slots, slot);
      if (first_part != 0) {
        continue;
      }
    }
    StoreMerged(reduction, arguments, place, slots);
    __syncthreads();
  }
}

/// PartSharing::kGrid. Block b does the parts b % blocks, b % blocks + blocks, ... of result b / blocks; all of that
/// result's blocks share its ticket. A kernel of its own: together they would take more registers than either.
template <typename R, bool kPlain>
__global__ void __launch_bounds__(kLongRowBlock)
    ReduceSharedRowsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, const int blocks) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  __shared__ Total slots[kLongRowBlock];
  const int thread = static_cast<int>(threadIdx.x);
  const ReduceParts& parts = arguments.parts;
  const std::int64_t index = static_cast<int>(blockIdx.x) / blocks;
  const ResultPlace place = ResultPlace::Of(arguments, index);
  const ResultRows<typename R::Element, R::kInputs, kPlain> rows(arguments, place);
  for (std::int64_t part = static_cast<int>(blockIdx.x) % blocks; part < parts.count; part += blocks) {
    const Total total = ReducePart(reduction, arguments, rows, part);
    if (thread == 0) {
      PartTotal<Total>(place, part) = total;
    }
  }
  if (ComesLast(arguments.tickets + index, blocks)) {
    // A thread without a slot finds no part either: slots are fewer than threads only while there is one for each part.
    slots[thread] = CollectSlot(reduction, parts, place, thread);
    StoreMerged(reduction, arguments, place, slots);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_ROWS_CUH_

// The second launch of columns that have several parts: it merges what the first has left in the workspace.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_MERGE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_MERGE_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_parts.cuh"

namespace kernelwire {

/// A grid over `groups` pieces of work, for kernels that go on with those a grid further until none is left.
inline LaunchShape ShapeOfGrid(std::int64_t groups, int threads) {
  LaunchShape shape;
  shape.blocks = std::min(groups, kMostBlocksOfGrid);
  shape.threads = static_cast<unsigned>(threads);
  return shape;
}

/// Threads that share the slots of a result: few, so that neighbouring threads read 128 bytes of neighbouring results,
/// and each has several parts in flight; more where their slots would take too many registers.
template <typename Total>
inline constexpr int kSlotsOfThread = 64 / static_cast<int>(sizeof(Total));
template <typename Total>
int ThreadsOfSlots(int slots) {
  return std::max(std::min(slots, 16), slots / kSlotsOfThread<Total>);
}

/// What the slots first, first + threads, ... of a result merge to. Those of one thread meet before those of several,
/// as `half` says: the farthest first.
template <typename R>
__device__ __forceinline__ typename R::Total MergeOwnSlots(const R& reduction, const ReduceParts& parts,
                                                           const ResultPlace& place, std::int64_t count, int first,
                                                           int threads) {
  using Total = typename R::Total;
  constexpr int kMost = kSlotsOfThread<Total>;
  const int own = parts.slots / threads;
  Total slots[kMost];
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    slots[i] = R::Identity();
  }
#pragma unroll 1
  for (std::int64_t part = first; part < count; part += parts.slots) {
    Total totals[kMost];
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const bool there = i < own && part + i * threads < count;
      totals[i] = there ? ReadWritten(&PartTotal<Total>(place, part + i * threads)) : R::Identity();
    }
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i < own && part + i * threads < count) {
        slots[i] = reduction.Combine(slots[i], totals[i]);
      }
    }
  }
#pragma unroll
  for (int half = kMost / 2; half > 0; half /= 2) {
#pragma unroll
    for (int i = 0; i < half; ++i) {
      if (half < own) {
        slots[i] = reduction.Combine(slots[i], slots[i + half]);
      }
    }
  }
  return slots[0];
}

/// `threads` threads a result, neighbouring results side by side.
template <typename R>
__global__ void __launch_bounds__(ReduceParts::kMaxSlots)
    MergePartsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, const int threads) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  __shared__ Total slots[ReduceParts::kMaxSlots];
  const ReduceParts& parts = arguments.parts;
  const int results_of_block = ReduceParts::kMaxSlots / threads;
  const int slot = static_cast<int>(threadIdx.x) / results_of_block;
  const int result = static_cast<int>(threadIdx.x) - slot * results_of_block;
  const std::int64_t step = std::int64_t{gridDim.x} * results_of_block;
  for (std::int64_t base = std::int64_t{blockIdx.x} * results_of_block; base < arguments.results; base += step) {
    const bool live = base + result < arguments.results;
    const ResultPlace place = ResultPlace::Of(arguments, live ? base + result : base);
    slots[threadIdx.x] = MergeOwnSlots(reduction, parts, place, live ? parts.count : 0, slot, threads);
    MergeSlots(reduction, slots + result, threads, slot, results_of_block);
    if (live && slot == 0) {
      reduction.Store(arguments, place, slots[result]);
    }
    __syncthreads();
  }
}

template <typename R>
cudaError_t MergeParts(const ReduceArguments& arguments, const R& reduction, cudaStream_t stream) {
  const int threads = ThreadsOfSlots<typename R::Total>(arguments.parts.slots);
  const std::int64_t results_of_block = ReduceParts::kMaxSlots / threads;
  const std::int64_t blocks = (arguments.results + results_of_block - 1) / results_of_block;
  return LaunchKernel(&MergePartsKernel<R>, ShapeOfGrid(blocks, ReduceParts::kMaxSlots), stream, arguments, reduction,
                      threads);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_MERGE_CUH_

// What becomes of the totals of a result's parts: where they wait for each other, and how they are merged. The order is
// that of ReduceParts, whoever merges them.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARTS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARTS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// Where the total of a part waits for its like: [part][result] of the request's workspace.
template <typename Total>
__device__ __forceinline__ Total& PartTotal(const ResultPlace& place, std::int64_t part) {
  return static_cast<Total*>(place.workspace)[part * place.results + place.index];
}

/// What slot `slot` of a result holds before slots are merged: its parts in turn. Reads several before it combines one.
template <typename R>
__device__ __forceinline__ typename R::Total CollectSlot(const R& reduction, const ReduceParts& parts,
                                                         const ResultPlace& place, int slot) {
  using Total = typename R::Total;
  constexpr int kAtOnce = 4;
  Total slot_total = R::Identity();
#pragma unroll 1
  for (std::int64_t first = slot; first < parts.count; first += kAtOnce * parts.slots) {
    Total totals[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const std::int64_t part = first + i * parts.slots;
      totals[i] = part < parts.count ? ReadWritten(&PartTotal<Total>(place, part)) : R::Identity();
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i * parts.slots < parts.count) {
        slot_total = reduction.Combine(slot_total, totals[i]);
      }
    }
  }
  return slot_total;
}

/// Whether this block is the last of `blocks` that come here with the same ticket. If it is, it sees what the first
/// threads of the others wrote before, and others up to a barrier; and the ticket is zero again. Requires: all threads
/// of the block call it.
__device__ __forceinline__ bool ComesLast(std::uint32_t* ticket, int blocks) {
  const auto most = static_cast<unsigned>(blocks - 1);
  unsigned before = 0;
  if (threadIdx.x == 0) {
    // Counts, and goes back to zero after `most`. Earlier writes come before it and later reads after it.
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(ticket), "r"(most) : "memory");
  }
  return __syncthreads_or(static_cast<int>(threadIdx.x == 0 && before == most)) != 0;
}

/// Merges slots pairwise, as ReduceParts says; the outcome is in slots[0] for thread 0. `lane` counts the threads of
/// these slots, which lie `stride` apart. Requires: all threads of the block call it with equal `count`.
template <typename R>
__device__ void MergeSlots(const R& reduction, typename R::Total* slots, int count, int lane, int stride) {
  for (int half = count / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
      slots[lane * stride] = reduction.Combine(slots[lane * stride], slots[(lane + half) * stride]);
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARTS_CUH_

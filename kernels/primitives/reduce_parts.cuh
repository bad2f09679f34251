// What becomes of the totals of a result's parts: where they wait for each other, and how they are merged. The order is
// that of ReduceParts, whoever merges them.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARTS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARTS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/reduce_load.cuh"

namespace kernelwire {

/// Where the total of a part waits for its like: [part][result] of the request's workspace.
template <typename Total>
__device__ __forceinline__ Total& PartTotal(const ResultPlace& place, std::int64_t part) {
  return static_cast<Total*>(place.workspace)[part * place.results + place.index];
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

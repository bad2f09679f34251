// A stretch of memory that begins on a granule's boundary, in shared memory: a block copies it there and back in whole
// granules, whatever rows it is made of.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_TILE_COPY_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_TILE_COPY_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/granule.cuh"

namespace kernelwire {

/// Asks for `bytes` from `from` on, whole elements, kGranules at most. kThreads threads call it, each as one `thread`
/// of them; AwaitCopies and a barrier must lie between this and any use.
template <int kThreads, int kGranules, typename T>
__device__ __forceinline__ void FetchTile(unsigned thread, Granule* tile, const T* from, int bytes) {
  const auto* const base = reinterpret_cast<const unsigned char*>(from) + thread * 16;
  const SharedAddress to = SharedAddressOf(tile) + thread * 16;
  const int left = bytes / 16 - static_cast<int>(thread);
#pragma unroll
  for (int i = 0; i < (kGranules + kThreads - 1) / kThreads; ++i) {
    if (left > i * kThreads) {
      CopyAsync(to + i * kThreads * 16, base + i * kThreads * 16);
    }
  }
  const int rest = bytes / 16 * kElementsOfGranule<T> + static_cast<int>(thread);
  if (rest * static_cast<int>(sizeof(T)) < bytes) {
    reinterpret_cast<T*>(tile)[rest] = from[rest];
  }
}

/// Writes as much of the tile to `to`.
template <int kThreads, int kGranules, typename T>
__device__ __forceinline__ void StoreTile(unsigned thread, const Granule* tile, T* to, int bytes) {
  auto* const base = reinterpret_cast<unsigned char*>(to) + thread * 16;
  const Granule* const from = tile + thread;
  const int left = bytes / 16 - static_cast<int>(thread);
#pragma unroll
  for (int i = 0; i < (kGranules + kThreads - 1) / kThreads; ++i) {
    if (left > i * kThreads) {
      StoreGranule(base + i * kThreads * 16, from[i * kThreads]);
    }
  }
  const int rest = bytes / 16 * kElementsOfGranule<T> + static_cast<int>(thread);
  if (rest * static_cast<int>(sizeof(T)) < bytes) {
    to[rest] = reinterpret_cast<const T*>(tile)[rest];
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_TILE_COPY_CUH_

// A stretch of memory that begins on a granule's boundary, in shared memory: a block copies it there and back in whole
// granules, whatever rows it is made of.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_TILE_COPY_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_TILE_COPY_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/tile_bytes.h"

namespace kernelwire {

/// Asks for `bytes` from `from` on, whole elements, kTileBytes at most. All kThreads threads of the block call it;
/// AwaitCopies and a barrier must lie between this and any use.
template <int kThreads, typename T>
__device__ __forceinline__ void FetchTile(Granule* tile, const T* from, int bytes) {
  const auto* const base = reinterpret_cast<const unsigned char*>(from) + threadIdx.x * 16;
  const SharedAddress to = SharedAddressOf(tile) + threadIdx.x * 16;
  const int left = bytes / 16 - static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < kTileBytes / 16 / kThreads; ++i) {
    if (left > i * kThreads) {
      CopyAsync(to + i * kThreads * 16, base + i * kThreads * 16);
    }
  }
  const int rest = bytes / 16 * kElementsOfGranule<T> + static_cast<int>(threadIdx.x);
  if (rest * static_cast<int>(sizeof(T)) < bytes) {
    reinterpret_cast<T*>(tile)[rest] = from[rest];
  }
}

/// Writes as much of the tile to `to`.
template <int kThreads, typename T>
__device__ __forceinline__ void StoreTile(const Granule* tile, T* to, int bytes) {
  auto* const base = reinterpret_cast<unsigned char*>(to) + threadIdx.x * 16;
  const Granule* const from = tile + threadIdx.x;
  const int left = bytes / 16 - static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < kTileBytes / 16 / kThreads; ++i) {
    if (left > i * kThreads) {
      StoreGranule(base + i * kThreads * 16, from[i * kThreads]);
    }
  }
  const int rest = bytes / 16 * kElementsOfGranule<T> + static_cast<int>(threadIdx.x);
  if (rest * static_cast<int>(sizeof(T)) < bytes) {
    to[rest] = reinterpret_cast<const T*>(tile)[rest];
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_TILE_COPY_CUH_

// How much a tile of shared memory holds (tile_copy.cuh), for kernels and for those that launch them.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_TILE_BYTES_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_TILE_BYTES_H_

namespace kernelwire {

/// Enough to be worth the start of a block, where threads have short rows one after another; all that lanes hold of
/// rows of halves of vectors (row_tile.cuh). Twice as much was up to a sixth slower in tensors of 16 MiB.
inline constexpr int kTileBytes = 4096;

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_TILE_BYTES_H_

// Which thread holds which element of a row, and the choice of that by the row's width.
//
// A row is cut into vectors of kLength elements; vector k belongs to thread k % kThreads. This follows from type and
// width alone, never from addresses or from how many rows there are, so that a row always gives the same bits.
// Tensors start on 256-byte boundaries, but a row in one starts wherever its number and width put it. A width that is
// a whole number of 16-byte vectors keeps every row aligned to them; other widths are read element by element, which
// still is contiguous across a warp.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// A stretch of a row, held in the registers of the kThreads threads that work on the row.
template <typename T, int kThreadsOfRow, int kVectorsOfThread, int kLengthOfVector>
struct RowTile {
  using Element = T;
  static constexpr int kThreads = kThreadsOfRow;
  static constexpr int kVectors = kVectorsOfThread;
  static constexpr int kLength = kLengthOfVector;
  static constexpr std::int64_t kElements = std::int64_t{kThreads} * kVectors * kLength;
  /// Short rows share a block of four warps; a row of more than a warp has a block of its own.
  static constexpr int kBlockThreads = kThreads <= 32 ? 128 : kThreads;
  static constexpr int kRowsOfBlock = kBlockThreads / kThreads;

  Vector<T, kLength> vectors[kVectors];

  /// Where this thread's vector `v` begins, in elements from the tile's first.
  static __device__ __forceinline__ std::int64_t IndexOf(int v) {
    return (std::int64_t{v} * kThreads + static_cast<int>(threadIdx.x) % kThreads) * kLength;
  }

  /// Reads what the tile covers of `count` elements at `from`, and sets the rest to `fill`. All loads are issued before
  /// any is needed. Requires: kLength divides `count`; `from` aligned to a vector.
  __device__ __forceinline__ void Load(const T* from, std::int64_t count, T fill) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t index = IndexOf(v);
      if (index < count) {
        vectors[v] = *reinterpret_cast<const Vector<T, kLength>*>(from + index);
      } else {
#pragma unroll
        for (int j = 0; j < kLength; ++j) {
          vectors[v].values[j] = fill;
        }
      }
    }
  }
};

/// The tile of rows that no tile holds whole: they are walked over, a tile at a time.
template <typename T, int kLength>
using LongRowTile = RowTile<T, 512, 32 / kLength, kLength>;

/// The tile for a row of `width` elements, held whole: calls f(TypeTag<RowTile<...>>{}). f for rows longer than the
/// largest tile: long_row(TypeTag<LongRowTile<...>>{}).
template <typename T, int kLength, typename F, typename G>
cudaError_t WithTileOfLength(std::int64_t width, F&& f, G&& long_row) {
  if (width <= 64) {
    return f(TypeTag<RowTile<T, 8, 8 / kLength, kLength>>{});
  }
  if (width <= 256) {
    return f(TypeTag<RowTile<T, 8, 32 / kLength, kLength>>{});
  }
  if (width <= 1024) {
    return f(TypeTag<RowTile<T, 32, 32 / kLength, kLength>>{});
  }
  if (width <= 4096) {
    return f(TypeTag<RowTile<T, 128, 32 / kLength, kLength>>{});
  }
  if (width <= 8192) {
    return f(TypeTag<RowTile<T, 256, 32 / kLength, kLength>>{});
  }
  if (width <= 16384) {
    return f(TypeTag<RowTile<T, 512, 32 / kLength, kLength>>{});
  }
  return long_row(TypeTag<LongRowTile<T, kLength>>{});
}

template <typename T, typename F, typename G>
cudaError_t WithTile(std::int64_t width, F&& f, G&& long_row) {
  return width % kWidestVector<T> == 0 ? WithTileOfLength<T, kWidestVector<T>>(width, f, long_row)
                                       : WithTileOfLength<T, 1>(width, f, long_row);
}

/// A grid over `groups` of rows, for kernels that go on with group + gridDim.x until none is left.
inline LaunchShape ShapeForGroups(std::int64_t groups, int threads) {
  LaunchShape shape;
  shape.blocks = std::min<std::int64_t>(groups, 2147483647);
  shape.threads = static_cast<unsigned>(threads);
  return shape;
}

template <typename Tile>
LaunchShape ShapeForRows(std::int64_t rows) {
  return ShapeForGroups((rows + Tile::kRowsOfBlock - 1) / Tile::kRowsOfBlock, Tile::kBlockThreads);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_

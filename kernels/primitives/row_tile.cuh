// Short rows that lie one after another, as lanes share them: a block copies its rows to shared memory and back as what
// they are, one stretch of memory, in whole granules, and a row in it may begin in the middle of one.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// What one thread holds of a row that lies in a RowTile, at the same places as in RowVectors. Rows begin on boundaries
/// of 8 bytes, and are a whole number of them (RowAccess::kTiled).
template <typename T, int kVectorsOfThread>
struct TiledVectors : RowVectors<T, kVectorsOfThread, false> {
  using Vectors = RowVectors<T, kVectorsOfThread, false>;
  using Vectors::kLength;
  static constexpr int kLengthOfHalf = kLength / 2;

  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& /*group*/, const RowSource<T>& /*row*/, Granule* /*place*/) {}

  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    const auto* const from = HalvesAt(group, row.data);
    const int left = row.count - Vectors::IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectorsOfThread; ++v) {
      Granule& vector = this->vectors[v];
      vector = Filled<Granule>(Fill::template Value<T>());
      if (left > v * Vectors::template kStep<Group>) {
        const uint2 half = from[v * kHalvesOfStep<Group>];
        vector.words[0] = half.x;
        vector.words[1] = half.y;
      }
      if (left > v * Vectors::template kStep<Group> + kLengthOfHalf) {
        const uint2 half = from[v * kHalvesOfStep<Group> + 1];
        vector.words[2] = half.x;
        vector.words[3] = half.y;
      }
    }
  }

  /// See RowVectors; `to` is a row of the tile.
  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* /*place*/,
                                               const Result& result) {
    auto* const base = HalvesAt(group, to);
    const int left = count - Vectors::IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectorsOfThread; ++v) {
      const Granule vector = result(v, Vectors::IndexOf(group, v));
      if (left > v * Vectors::template kStep<Group>) {
        base[v * kHalvesOfStep<Group>] = make_uint2(vector.words[0], vector.words[1]);
      }
      if (left > v * Vectors::template kStep<Group> + kLengthOfHalf) {
        base[v * kHalvesOfStep<Group> + 1] = make_uint2(vector.words[2], vector.words[3]);
      }
    }
  }

 private:
  template <typename Group>
  static constexpr int kHalvesOfStep = Vectors::template kStep<Group> / kLengthOfHalf;

  template <typename Group>
  static __device__ __forceinline__ const uint2* HalvesAt(const Group& group, const T* row) {
    __builtin_assume(__isShared(row));
    return reinterpret_cast<const uint2*>(row + Vectors::IndexOf(group, 0));
  }
  template <typename Group>
  static __device__ __forceinline__ uint2* HalvesAt(const Group& group, T* row) {
    __builtin_assume(__isShared(row));
    return reinterpret_cast<uint2*>(row + Vectors::IndexOf(group, 0));
  }
};

/// The rows of a block in shared memory: a place for those of each of kInputs inputs, where their results take their
/// place before they go out.
template <typename T, typename Shape, int kInputs>
class RowTile {
 public:
  static constexpr int kThreads = Shape::BlockThreads(RowAccess::kTiled);
  static constexpr int kRows = kThreads / Shape::Group::kLanes;
  static constexpr int kGranules = kThreads * Shape::kVectors;
  static constexpr bool kOnce = true;  // a block has no rows after these

  __device__ __forceinline__ RowTile() {
    extern __shared__ Granule granules_of_block[];
    granules_ = granules_of_block;
  }

  __device__ __forceinline__ Granule* In(int input) const { return granules_ + input * kGranules; }
  __device__ __forceinline__ Granule* Out() const { return nullptr; }
  __device__ __forceinline__ T* RowOf(int input, int row, int width) const {
    return reinterpret_cast<T*>(In(input)) + row * width;
  }

  /// Asks for `bytes` from `from` on, a multiple of 8.
  __device__ __forceinline__ void Fetch(int input, const T* from, int bytes) const {
    const auto* const base = reinterpret_cast<const unsigned char*>(from) + threadIdx.x * 16;
    const SharedAddress to = SharedAddressOf(In(input)) + threadIdx.x * 16;
    const int left = bytes / 16 - static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < Shape::kVectors; ++i) {
      if (left > i * kThreads) {
        CopyAsync(to + i * kThreads * 16, base + i * kThreads * 16);
      }
    }
    if (bytes % 16 != 0 && threadIdx.x == 0) {
      auto* const half = reinterpret_cast<uint2*>(In(input) + bytes / 16);
      *half = *reinterpret_cast<const uint2*>(reinterpret_cast<const unsigned char*>(from) + bytes / 16 * 16);
    }
  }

  /// Writes `bytes` to `to`.
  __device__ __forceinline__ void Store(int output, T* to, int bytes) const {
    auto* const base = reinterpret_cast<unsigned char*>(to) + threadIdx.x * 16;
    const Granule* const from = In(output) + threadIdx.x;
    const int left = bytes / 16 - static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < Shape::kVectors; ++i) {
      if (left > i * kThreads) {
        StoreGranule(base + i * kThreads * 16, from[i * kThreads]);
      }
    }
    if (bytes % 16 != 0 && threadIdx.x == 0) {
      const auto* const half = reinterpret_cast<const uint2*>(In(output) + bytes / 16);
      *reinterpret_cast<uint2*>(reinterpret_cast<unsigned char*>(to) + bytes / 16 * 16) = *half;
    }
  }

  static std::size_t BytesOfBlock(unsigned /*threads*/) { return std::size_t{kInputs} * kGranules * sizeof(Granule); }

 private:
  Granule* granules_;
};

/// As ForEachRow for rows elsewhere (row_launch.cuh): the block's rows come and go together. `Row` has
/// ForEachInput(f), which calls f(place, RowSource&) for each, and ForEachOutput(f), the same with pointers.
template <bool kLooksAhead, RowAccess kAccess, typename Group, typename RowAt, typename T, typename Shape, int kInputs,
          typename Loads, typename Body>
__device__ __forceinline__ void ForEachRow(Group& group, int /*cluster_blocks*/, std::int64_t rows, const RowAt& row_at,
                                           const RowTile<T, Shape, kInputs>& tile, Loads loads, const Body& body) {
  using Tile = RowTile<T, Shape, kInputs>;
  const std::int64_t first = std::int64_t{blockIdx.x} * Tile::kRows;
  const int count = static_cast<int>(min(rows - first, static_cast<std::int64_t>(Tile::kRows)));
  auto begin = row_at(first);
  int width = 0;
  begin.ForEachInput([&](int place, RowSource<T>& source) {
    width = source.count;
    tile.Fetch(place, source.data, count * width * static_cast<int>(sizeof(T)));
  });
  AwaitCopies();
  __syncthreads();
  constexpr int kRowsOfWarp = 32 / Group::kLanes;
  const int mine = static_cast<int>(threadIdx.x) / Group::kLanes;
  if (mine < count) {
    group.Begin(mine / kRowsOfWarp * kRowsOfWarp + kRowsOfWarp <= count);
    auto row = row_at(first + mine);
    row.ForEachInput([&](int place, RowSource<T>& source) { source.data = tile.RowOf(place, mine, width); });
    row.ForEachOutput([&](int place, T*& to) { to = to == nullptr ? to : tile.RowOf(place, mine, width); });
    loads.Finish(group, row);
    body(row, loads, [&] { return row; });
  }
  __syncthreads();
  begin.ForEachOutput([&](int place, T*& to) {
    if (to != nullptr) {
      tile.Store(place, to, count * width * static_cast<int>(sizeof(T)));
    }
  });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_

// Short rows that lie one after another, as threads have them or lanes share them: a block copies its rows to shared
// memory and back as what they are, one stretch of memory, in whole granules. A row may begin in the middle of one.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/fetch_ahead.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/tile_bytes.h"
#include "kernels/primitives/tile_copy.cuh"

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
  static constexpr int kGranules = kTileBytes / 16;

  __device__ __forceinline__ RowTile() {
    extern __shared__ Granule granules_of_block[];
    granules_ = granules_of_block;
  }

  __device__ __forceinline__ Granule* In(int input) const { return granules_ + input * kGranules; }
  __device__ __forceinline__ Granule* Out() const { return nullptr; }
  __device__ __forceinline__ T* RowOf(int input, int row, int width) const {
    return reinterpret_cast<T*>(In(input)) + row * width;
  }

  __device__ __forceinline__ void Fetch(int input, const T* from, int bytes) const {
    FetchTile<kThreads>(In(input), from, bytes);
  }
  __device__ __forceinline__ void Store(int output, T* to, int bytes) const {
    StoreTile<kThreads>(In(output), to, bytes);
  }

  static std::size_t BytesOfBlock(unsigned /*threads*/) { return std::size_t{kInputs} * kGranules * sizeof(Granule); }

 private:
  Granule* granules_;
};

/// As ForEachRow for rows elsewhere (row_launch.cuh): the block's rows come and go together, those of all its turns,
/// which threads take that have rows to themselves.
/// `Row` has ForEachInput(f), which calls f(place, RowSource&) for each, and ForEachOutput(f), the same with pointers.
template <bool kLooksAhead, RowAccess kAccess, typename Group, typename RowAt, typename T, typename Shape, int kInputs,
          typename Loads, typename Body>
__device__ __forceinline__ void ForEachRow(Group& group, const RowTuning& tuning, std::int64_t rows,
                                           const RowAt& row_at, const RowTile<T, Shape, kInputs>& tile, Loads loads,
                                           const Body& body) {
  using Tile = RowTile<T, Shape, kInputs>;
  constexpr bool kTakesTurns = Group::kLanes == 1;  // a loop would cost lanes that share rows up to a tenth
  const int of_block = kTakesTurns ? Tile::kRows * tuning.turns : Tile::kRows;
  const std::int64_t first = std::int64_t{blockIdx.x} * of_block;
  const int count = static_cast<int>(min(rows - first, static_cast<std::int64_t>(of_block)));
  auto begin = row_at(first);
  int width = 0;
  begin.ForEachInput([&](int place, RowSource<T>& source) {
    width = source.count;
    tile.Fetch(place, source.data, count * width * static_cast<int>(sizeof(T)));
  });
  if (const std::int64_t then = first + tuning.rows_ahead;
      threadIdx.x == 0 && tuning.rows_ahead > 0 && then + of_block <= rows) {
    row_at(then).ForEachInput([&](int, const RowSource<T>& source) {
      FetchAhead(source.data, std::int64_t{of_block} * width * static_cast<int>(sizeof(T)), 0, 1);
    });
  }
  AwaitCopies();
  __syncthreads();
  constexpr int kRowsOfWarp = 32 / Group::kLanes;
  const auto work_on_row = [&](int mine) {
    group.Begin(mine / kRowsOfWarp * kRowsOfWarp + kRowsOfWarp <= count);
    auto row = row_at(first + mine);
    row.ForEachInput([&](int place, RowSource<T>& source) { source.data = tile.RowOf(place, mine, width); });
    row.ForEachOutput([&](int place, T*& to) { to = to == nullptr ? to : tile.RowOf(place, mine, width); });
    Loads its = loads;
    its.Finish(group, row);
    body(row, its, [&] { return row; });
  };
  int mine = static_cast<int>(threadIdx.x) / Group::kLanes;
  if constexpr (kTakesTurns) {
#pragma unroll 1
    for (; mine < count; mine += Tile::kRows) {
      work_on_row(mine);
    }
  } else if (mine < count) {
    work_on_row(mine);
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

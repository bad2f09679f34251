// Short rows that lie one after another, as threads have them or lanes share them: a block copies its rows to shared
// memory and back as what they are, one stretch of memory, in whole granules. A row may begin in the middle of one.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/fetch_ahead.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tickets.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/tile_bytes.h"
#include "kernels/primitives/tile_copy.cuh"

namespace kernelwire {

/// What one thread holds of a row that lies in a RowTile, at the same places as in RowVectors. Rows begin on boundaries
/// of a vector, or of half a vector unless kWhole, and are a whole number of these.
template <typename T, int kVectorsOfThread, bool kWhole>
struct TiledVectors : RowVectors<T, kVectorsOfThread, false> {
  using Vectors = RowVectors<T, kVectorsOfThread, false>;
  using Piece = std::conditional_t<kWhole, uint4, uint2>;
  static constexpr int kPieces = sizeof(Granule) / sizeof(Piece);  // of a vector
  static constexpr int kGrain = Vectors::kLength / kPieces;

  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& /*group*/, const RowSource<T>& /*row*/, Granule* /*place*/) {}

  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    __builtin_assume(__isShared(row.data));
    const auto* const from = reinterpret_cast<const Piece*>(row.data + Vectors::IndexOf(group, 0));
    const int left = row.count - Vectors::IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectorsOfThread; ++v) {
      const Granule fill = Filled<Granule>(Fill::template Value<T>());
      Piece pieces[kPieces];
      memcpy(pieces, &fill, sizeof(fill));
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        if (IsThere<Group>(v, i, left)) {
          pieces[i] = from[v * kPiecesOfStep<Group> + i];
        }
      }
      memcpy(&this->vectors[v], pieces, sizeof(pieces));
    }
  }

  /// See RowVectors; `to` is a row of the tile.
  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* /*place*/,
                                               const Result& result) {
    __builtin_assume(__isShared(to));
    auto* const base = reinterpret_cast<Piece*>(to + Vectors::IndexOf(group, 0));
    const int left = count - Vectors::IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectorsOfThread; ++v) {
      const Granule vector = result(v, Vectors::IndexOf(group, v));
      Piece pieces[kPieces];
      memcpy(pieces, &vector, sizeof(vector));
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        if (IsThere<Group>(v, i, left)) {
          base[v * kPiecesOfStep<Group> + i] = pieces[i];
        }
      }
    }
  }

 private:
  template <typename Group>
  static constexpr int kPiecesOfStep = Vectors::template kStep<Group> / kGrain;

  /// Whether a row that goes on for `left` elements from the thread's first on has piece `i` of its vector `v`.
  template <typename Group>
  static __device__ __forceinline__ bool IsThere(int v, int i, int left) {
    return v < Vectors::template kFirstThatEnds<Group> || left > v * Vectors::template kStep<Group> + i * kGrain;
  }
};

/// The rows of a block in shared memory: a place for those of each of kInputs inputs, where their results take their
/// place before they go out.
///
/// They lie as in memory, but for rows in words: those are in chunks of kRowsOfChunk, of which each group of a warp has
/// its own. A chunk begins as many banks of shared memory behind the one before as a group reads from at a time. (Rows
/// one after another begin where they fall: some widths have all of a warp's groups wait for the same banks.)
template <typename T, typename Shape, int kInputs>
class RowTile {
 public:
  static constexpr int kLanes = Shape::Group::kLanes;
  static constexpr int kThreads = Shape::BlockThreads(RowAccess::kTiled);
  static constexpr bool kInChunks = Shape::kOfWords && kLanes > 1;
  /// Rows that a group has at most, one after another. Threads that have rows to themselves have RowTuning::turns.
  static constexpr int kTurns = kInChunks ? kTurnsOfTiledWords : 1;
  static constexpr int kRowsOfTurn = kThreads / kLanes;
  static constexpr int kRows = kRowsOfTurn * kTurns;

  __device__ __forceinline__ RowTile() {
    extern __shared__ Granule granules_of_block[];
    granules_ = granules_of_block;
  }

  __device__ __forceinline__ Granule* In(int input) const { return granules_ + input * kGranules; }
  __device__ __forceinline__ Granule* Out() const { return nullptr; }
  __device__ __forceinline__ T* RowOf(int input, int row, int width) const {
    if constexpr (kInChunks) {
      return reinterpret_cast<T*>(ChunkOf(input, row / kRowsOfChunk, width)) + row % kRowsOfChunk * width;
    } else {
      return reinterpret_cast<T*>(In(input)) + row * width;
    }
  }

  /// Which of the block's rows this thread's group has in its first turn. From turn to turn it is kRowsBetweenTurns
  /// further.
  static __device__ __forceinline__ int FirstRow() {
    const int thread = static_cast<int>(threadIdx.x);
    return kInChunks ? thread % 32 / kLanes * kRowsOfChunk + thread / 32 : thread / kLanes;
  }
  static constexpr int kRowsBetweenTurns = kInChunks ? kThreads / 32 : kRowsOfTurn;
  /// Whether all groups of the warp have a row of `count`, where this one has `row`.
  static __device__ __forceinline__ bool AreTogether(int row, int count) {
    constexpr int kRowsOfWarp = 32 / kLanes;
    return (kInChunks ? row % kRowsOfChunk + (kChunks - 1) * kRowsOfChunk + 1
                      : row / kRowsOfWarp * kRowsOfWarp + kRowsOfWarp) <= count;
  }

  /// `count` rows of `width` elements.
  __device__ __forceinline__ void Fetch(int input, const T* from, int count, int width) const {
    if constexpr (kInChunks) {
      FetchTile<kThreadsOfChunk, kGranulesOfChunk>(threadIdx.x % kThreadsOfChunk, ChunkOf(input, OwnChunk(), width),
                                                   from + FirstOfOwnChunk() * width, BytesOfOwnChunk(count, width));
    } else {
      FetchTile<kThreads, kGranules>(threadIdx.x, In(input), from, count * width * static_cast<int>(sizeof(T)));
    }
  }
  __device__ __forceinline__ void Store(int output, T* to, int count, int width) const {
    if constexpr (kInChunks) {
      StoreTile<kThreadsOfChunk, kGranulesOfChunk>(threadIdx.x % kThreadsOfChunk, ChunkOf(output, OwnChunk(), width),
                                                   to + FirstOfOwnChunk() * width, BytesOfOwnChunk(count, width));
    } else {
      StoreTile<kThreads, kGranules>(threadIdx.x, In(output), to, count * width * static_cast<int>(sizeof(T)));
    }
  }

  static std::size_t BytesOfBlock(unsigned /*threads*/) { return std::size_t{kInputs} * kGranules * sizeof(Granule); }

 private:
  static constexpr int kChunks = kInChunks ? 32 / kLanes : 1;
  static constexpr int kRowsOfChunk = kRows / kChunks;  // where there are several
  static constexpr int kThreadsOfChunk = kThreads / kChunks;
  static constexpr int kGranulesOfChunk = kInChunks ? kRowsOfChunk * kLanes * Shape::kBytes / 16 : kTileBytes / 16;
  static constexpr int kGranulesOfBanks = 8;  // all banks of shared memory have so many
  static constexpr int kGranules = kChunks * (kGranulesOfChunk + (kInChunks ? kGranulesOfBanks - 1 : 0));
  // In memory, too, chunks begin on a boundary of 16 bytes, whatever the width.
  static_assert(!kInChunks || (kChunks > 1 && kRowsOfChunk * sizeof(T) % 16 == 0));

  /// The chunk that this thread copies, which of the block's rows is its first, and how much of it there is.
  static __device__ __forceinline__ int OwnChunk() { return static_cast<int>(threadIdx.x) / kThreadsOfChunk; }
  static __device__ __forceinline__ int FirstOfOwnChunk() { return OwnChunk() * kRowsOfChunk; }
  static __device__ __forceinline__ int BytesOfOwnChunk(int count, int width) {
    return min(count - FirstOfOwnChunk(), kRowsOfChunk) * width * static_cast<int>(sizeof(T));
  }

  __device__ __forceinline__ Granule* ChunkOf(int place, int chunk, int width) const {
    constexpr int kGranulesOfGroup = kLanes * 4 / 16;
    const int used = kRowsOfChunk * static_cast<int>(sizeof(T)) * width / 16;
    return In(place) + chunk * (used + ((kGranulesOfGroup - used) & (kGranulesOfBanks - 1)));
  }

  Granule* granules_;
};

/// As ForEachRow for rows elsewhere (row_loop.cuh): the block's rows come and go together, those of all turns.
/// `Row` has ForEachInput(f), which calls f(place, RowSource&) for each, and ForEachOutput(f), the same with pointers.
template <bool kLooksAhead, RowAccess kAccess, typename Group, typename RowAt, typename T, typename Shape, int kInputs,
          typename Loads, typename Body>
__device__ __forceinline__ void ForEachRow(Group& group, const NoTickets& /*none*/, const RowTuning& tuning,
                                           std::int64_t rows, const RowAt& row_at,
                                           const RowTile<T, Shape, kInputs>& tile, Loads loads, const Body& body) {
  using Tile = RowTile<T, Shape, kInputs>;
  constexpr bool kOfThreads = Group::kLanes == 1;
  const int of_block = kOfThreads ? Tile::kRows * tuning.turns : Tile::kRows;
  const std::int64_t first = std::int64_t{blockIdx.x} * of_block;
  const int count = static_cast<int>(min(rows - first, static_cast<std::int64_t>(of_block)));
  auto begin = row_at(first);
  int width = 0;
  begin.ForEachInput([&](int place, RowSource<T>& source) {
    width = source.count;
    tile.Fetch(place, source.data, count, width);
  });
  if (const std::int64_t then = first + tuning.rows_ahead;
      threadIdx.x == 0 && tuning.rows_ahead > 0 && then + of_block <= rows) {
    row_at(then).ForEachInput([&](int, const RowSource<T>& source) {
      FetchAhead(source.data, std::int64_t{of_block} * width * static_cast<int>(sizeof(T)), 0, 1);
    });
  }
  AwaitCopies();
  __syncthreads();
  const auto work_on_row = [&](int mine) {
    group.Begin(Tile::AreTogether(mine, count));
    auto row = row_at(first + mine);
    row.ForEachInput([&](int place, RowSource<T>& source) { source.data = tile.RowOf(place, mine, width); });
    row.ForEachOutput([&](int place, T*& to) { to = to == nullptr ? to : tile.RowOf(place, mine, width); });
    Loads its = loads;
    its.Finish(group, row);
    body(row, its, [&] { return row; });
  };
  int mine = Tile::FirstRow();
  if constexpr (kOfThreads) {
#pragma unroll 1
    for (; mine < count; mine += Tile::kRowsBetweenTurns) {
      work_on_row(mine);
    }
  } else {
#pragma unroll 1
    for (int turn = 0; turn < Tile::kTurns && mine < count; ++turn) {
      work_on_row(mine);
      mine += Tile::kRowsBetweenTurns;
    }
  }
  __syncthreads();
  begin.ForEachOutput([&](int place, T*& to) {
    if (to != nullptr) {
      tile.Store(place, to, count, width);
    }
  });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_CUH_

// Reading the rows of a result, a tile at a time: 16 bytes an instruction where rows are whole vectors, pieces side by
// side where they are not, and what it takes where they begin anywhere. Which elements a thread gets follows from the
// row's length; how they are read, from where the rows lie.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_READS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_READS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "kernels/primitives/fetch_ahead.cuh"
#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_packed.cuh"
#include "kernels/primitives/reduce_params.h"
#include "kernels/primitives/reduce_pieces.cuh"
#include "kernels/primitives/reduce_steps.h"

namespace kernelwire {

/// How the rows of a launch can be read.
enum class RowReads : std::uint8_t {
  kVectors,        // one run a result, whole vectors, aligned to them
  kPieces,         // one run a result, whole pieces, aligned to them
  kShiftedPieces,  // one run a result, pieces, from anywhere
  kAny,
};

/// The rows of one result. kWarps: whole warps have it.
template <typename T, int kInputs, RowReads kReads, bool kWarps>
class ResultRows {
 public:
  static constexpr int kLength = kWidestVector<T>;
  using Elements = Operand<T, kLength, kInputs>;
  /// Whether there is code for tiles of one size only: that for rows that lie anywhere is long.
  static constexpr bool kOneTile = kReads == RowReads::kAny;

  __device__ __forceinline__ ResultRows(const ReduceArguments& arguments, const ResultPlace& place) {
    const std::int64_t offset =
        place.piece * arguments.layout.piece + (kPlain ? 0 : arguments.layout.kept.Offset(place.result));
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      rows_[i] = static_cast<const T*>(place.inputs[i]) + offset;
    }
  }

  /// Result `number` of the launch. Of plain rows a piece has no other: what is kept before them makes the pieces.
  static __device__ __forceinline__ ResultPlace PlaceOf(const ReduceArguments& arguments, std::int64_t number) {
    return kPlain ? ResultPlace::OfOnly(arguments, number) : ResultPlace::Of(arguments, number);
  }

  /// Asks for the rows of `count` results that a block to come begins with, ReduceArguments::rows_ahead behind
  /// `number`, where rows have the way to be read that this pays for, and all are of one request. One thread of a block
  /// does.
  static __device__ __forceinline__ void AskAhead(const ReduceArguments& arguments, std::int64_t number, int count) {
    if constexpr (kReads == RowReads::kShiftedPieces) {
      const std::int64_t then = number + arguments.rows_ahead;
      if (threadIdx.x != 0 || arguments.rows_ahead == 0 || then + count > arguments.results) {
        return;
      }
      const ResultPlace place = PlaceOf(arguments, then);
      if (place.index + count <= place.results) {
        const ResultRows rows(arguments, place);
#pragma unroll
        for (int i = 0; i < kInputs; ++i) {
          FetchAhead(rows.rows_[i], count * arguments.layout.piece * static_cast<std::int64_t>(sizeof(T)), 0, 1);
        }
      }
    }
  }

  /// Of the `count` vectors of the result from `begin` on the first kCount of thread `lane` of `threads`: vectors in
  /// turn, or as many pieces as fill them (TilePieces). In place of what is not there, what changes nothing. Requires:
  /// `count` is what is left of the row, or at least kCount * threads; that is below 2^27; all of a warp calls it.
  template <int kCount>
  __device__ __forceinline__ void Load(const ReduceArguments& arguments, std::int64_t begin, int lane, int threads,
                                       int count, T fill, Elements (&tile)[kCount]) const {
    if constexpr (kReads == RowReads::kVectors) {
      LoadPlain(begin, lane, threads, count, fill, tile);
    } else if constexpr (kByPieces) {
      LoadPieces(arguments.layout.run, begin, lane, threads, count, fill, tile);
    } else if (arguments.aligned) {
      LoadWholeRuns(arguments, begin, lane, threads, count, fill, tile);
    } else {
      LoadRuns(arguments, begin, lane, threads, count, fill, tile);
    }
  }

  /// Which elements those are.
  template <int kCount>
  static __device__ __forceinline__ ElementNumbers NumbersOf(std::int64_t begin, int lane, int threads) {
    if constexpr (kByPieces) {
      const TilePieces<T, kCount, kWarps> pieces(lane, threads);
      const int step = pieces.lanes * kInPiece;
      return {begin * kLength + pieces.first * kInPiece, kLength / kInPiece * step, step};
    } else {
      return {(begin + lane) * kLength, threads * kLength, kInPiece};
    }
  }

 private:
  static constexpr bool kPlain = kReads != RowReads::kAny;
  static constexpr bool kByPieces = kReads == RowReads::kPieces || kReads == RowReads::kShiftedPieces;
  static constexpr int kInPiece = static_cast<int>(BytesOfPiece(sizeof(T)) / sizeof(T));

  template <int kCount>
  __device__ __forceinline__ void LoadPlain(std::int64_t begin, int lane, int threads, int count, T fill,
                                            Elements (&tile)[kCount]) const {
    const std::int64_t first = (begin + lane) * kLength;
    if (IsWhole(kCount * threads, count)) {
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        tile[u] = LoadAligned(first + u * threads * kLength);
      }
    } else {
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        tile[u] = lane + u * threads < count ? LoadAligned(first + u * threads * kLength) : Elements::Filled(fill);
      }
    }
  }

  __device__ __forceinline__ Elements LoadAligned(std::int64_t element) const {
    Elements operand;
    operand.present = Elements::kAll;
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      operand.inputs[i] = Packed<T, kLength>::Load(rows_[i] + element);
    }
    return operand;
  }

  /// Runs of whole vectors, wherever they lie.
  template <int kCount>
  __device__ __forceinline__ void LoadWholeRuns(const ReduceArguments& arguments, std::int64_t begin, int lane,
                                                int threads, int count, T fill, Elements (&tile)[kCount]) const {
    std::int64_t offsets[kCount];
    unsigned last;
    FindOffsets(arguments.layout.reduced, arguments.steps, begin + lane, offsets, &last);
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      tile[u] = lane + u * threads < count ? LoadAligned(offsets[u]) : Elements::Filled(fill);
    }
  }

  /// Runs that begin and end anywhere. All that a tile needs is asked for before it is looked at.
  template <int kCount>
  __device__ __forceinline__ void LoadRuns(const ReduceArguments& arguments, std::int64_t begin, int lane, int threads,
                                           int count, T fill, Elements (&tile)[kCount]) const {
    const auto rest = static_cast<int>((arguments.layout.run - 1) % kLength) + 1;  // in the last vector of a run
    std::int64_t offsets[kCount];
    unsigned last;
    FindOffsets(arguments.layout.reduced, arguments.steps, begin + lane, offsets, &last);
    const auto present = [&](int u) {
      return lane + u * threads >= count ? 0 : (last >> u & 1U) != 0 ? rest : kLength;
    };
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      UnalignedVectors<T, kCount> vectors;
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        vectors.Ask(u, rows_[i] + offsets[u], present(u));
      }
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        tile[u].inputs[i] = vectors.Get(u);
        tile[u].present = (1U << present(u)) - 1U;
        if (present(u) < kLength) {
          tile[u].inputs[i].FillFrom(present(u), fill);
        }
      }
    }
  }

  /// By pieces: those of the thread's in turn make an operand. All that a tile needs is asked for before it is looked
  /// at.
  template <int kCount>
  __device__ __forceinline__ void LoadPieces(std::int64_t run, std::int64_t begin, int thread, int threads, int count,
                                             T fill, Elements (&tile)[kCount]) const {
    using Pieces = TilePieces<T, kCount, kWarps>;
    const Pieces pieces(thread, threads);
    const auto elements = static_cast<int>(min(run - begin * kLength, std::int64_t{count} * kLength));
    const int left = elements - pieces.first * Pieces::kInPiece;
#pragma unroll
    for (int k = 0; k < Pieces::kNumber; ++k) {
      Elements& operand = tile[k / Pieces::kOfVector];
      if (k % Pieces::kOfVector == 0) {
        operand.present = 0;
      }
#pragma unroll
      for (int j = 0; j < Pieces::kInPiece; ++j) {
        const unsigned bit = 1U << (k % Pieces::kOfVector * Pieces::kInPiece + j);
        operand.present |= k * pieces.lanes * Pieces::kInPiece + j < left ? bit : 0U;
      }
    }
    if constexpr (kReads == RowReads::kShiftedPieces) {
      LoadShiftedPieces(run, begin, pieces, fill, tile);
    } else {
      LoadAlignedPieces(begin, pieces, elements / Pieces::kInPiece, fill, tile);
    }
  }

  template <int kCount>
  __device__ __forceinline__ void LoadShiftedPieces(std::int64_t run, std::int64_t begin,
                                                    const TilePieces<T, kCount, kWarps>& pieces, T fill,
                                                    Elements (&tile)[kCount]) const {
    using Pieces = TilePieces<T, kCount, kWarps>;
    ShiftedPieces<T, kCount, kWarps> of_first(rows_[0], run, begin, pieces, fill);
    ShiftedPieces<T, kCount, kWarps> of_last(rows_[kInputs - 1], run, begin, pieces, fill);
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      const unsigned* const words = (i == 0 ? of_first : of_last).Align();
#pragma unroll
      for (int k = 0; k < Pieces::kNumber; ++k) {
        tile[k / Pieces::kOfVector].inputs[i].words[k % Pieces::kOfVector] = words[k];
      }
    }
  }

  /// Pieces at or behind `limit` are not there.
  template <int kCount>
  __device__ __forceinline__ void LoadAlignedPieces(std::int64_t begin, const TilePieces<T, kCount, kWarps>& pieces,
                                                    int limit, T fill, Elements (&tile)[kCount]) const {
    using Pieces = TilePieces<T, kCount, kWarps>;
    using Piece = Packed<T, Pieces::kInPiece>;
    Piece loaded[kInputs][Pieces::kNumber];
    const std::int64_t first = begin * kLength + pieces.first * Pieces::kInPiece;
    const int left = limit - pieces.first;
    const auto load = [&](int k) {
#pragma unroll
      for (int i = 0; i < kInputs; ++i) {
        loaded[i][k] = Piece::Load(rows_[i] + (first + k * pieces.lanes * Pieces::kInPiece));
      }
    };
    AskForPieces(pieces, limit, load, [&](int k) {
      if (k * pieces.lanes < left) {
        load(k);
      } else {
#pragma unroll
        for (int i = 0; i < kInputs; ++i) {
          loaded[i][k] = Piece::Filled(fill);
        }
      }
    });
#pragma unroll
    for (int k = 0; k < Pieces::kNumber; ++k) {
#pragma unroll
      for (int i = 0; i < kInputs; ++i) {
        memcpy(&tile[k / Pieces::kOfVector].inputs[i].words[k % Pieces::kOfVector * Piece::kWords], loaded[i][k].words,
               sizeof(Piece));
      }
    }
  }

  const T* rows_[kInputs];
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_READS_CUH_

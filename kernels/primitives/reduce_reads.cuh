// Reading the rows of a result, a tile at a time: 16 bytes an instruction where rows are whole vectors, pieces side by
// side where they are not, and what it takes where they begin anywhere. Which elements a thread gets follows from the
// row's length; how they are read, from where the rows lie.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_READS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_READS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_packed.cuh"
#include "kernels/primitives/reduce_params.h"
#include "kernels/primitives/reduce_pieces.cuh"

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
    } else if (arguments.layout.reduced.axes == 0) {
      LoadShifted(arguments.layout.run, begin, lane, threads, count, fill, tile);
    } else {
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        const int index = lane + u * threads;
        tile[u] = index < count ? LoadOfRuns(arguments, begin + index, fill) : Elements::Filled(fill);
      }
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

  /// One run that begins anywhere. Those of the run's last two vectors that would reach beyond it are read by element.
  template <int kCount>
  __device__ __forceinline__ void LoadShifted(std::int64_t run, std::int64_t begin, int lane, int threads, int count,
                                              T fill, Elements (&tile)[kCount]) const {
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      tile[u] = Elements::Filled(fill);
    }
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(rows_[i]) & 15);
      const int second = shift != 0 ? 1 : 0;
      const std::int64_t bytes = run * static_cast<std::int64_t>(sizeof(T)) + shift;
      const auto whole = static_cast<int>(
          max(min((bytes - 16 * second) / 16 - begin, static_cast<std::int64_t>(count)), std::int64_t{0}));
      const auto* const blocks =
          reinterpret_cast<const uint4*>(reinterpret_cast<const char*>(rows_[i]) - shift) + begin;
      uint4 low[kCount];
      uint4 high[kCount];
      LoadBlocks(blocks, second, lane, threads, whole, low, high);
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        const uint4 shifted = ShiftBlocks<static_cast<int>(sizeof(T))>(low[u], high[u], shift);
        if (lane + u * threads < whole) {
          memcpy(tile[u].inputs[i].words, &shifted, sizeof(shifted));
          tile[u].present = Elements::kAll;
        }
      }
      if (kCount * threads > whole) {
        LoadTails(i, run, begin, lane, threads, whole, count, fill, tile);
      }
    }
  }

  /// Blocks lane, lane + threads, ... below `whole`, and those `second` after them.
  template <int kCount>
  static __device__ __forceinline__ void LoadBlocks(const uint4* blocks, int second, int lane, int threads, int whole,
                                                    uint4 (&low)[kCount], uint4 (&high)[kCount]) {
    if (IsWhole(kCount * threads, whole)) {
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        low[u] = __ldg(blocks + (lane + u * threads));
        high[u] = __ldg(blocks + (lane + u * threads + second));
      }
    } else {
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        const int index = lane + u * threads;
        low[u] = index < whole ? __ldg(blocks + index) : uint4{};
        high[u] = index < whole ? __ldg(blocks + index + second) : uint4{};
      }
    }
  }

  /// Those of vectors [whole, count) from `begin` on, at most two of the last of a run, that are among the thread's.
  template <int kCount>
  __device__ __forceinline__ void LoadTails(int input, std::int64_t run, std::int64_t begin, int lane, int threads,
                                            int whole, int count, T fill, Elements (&tile)[kCount]) const {
#pragma unroll 1
    for (int index = whole; index < count; ++index) {
      bool own = false;
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        own = own || lane + u * threads == index;
      }
      if (!own) {
        continue;
      }
      const std::int64_t first = (begin + index) * kLength;
      const std::int64_t present = min(run - first, std::int64_t{kLength});
      const Packed<T, kLength> packed = LoadTail(rows_[input] + first, present, fill);
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        if (lane + u * threads == index) {
          tile[u].inputs[input] = packed;
          tile[u].present = Elements::kAll >> (kLength - present);
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

  /// A vector of one of many runs.
  __device__ __forceinline__ Elements LoadOfRuns(const ReduceArguments& arguments, std::int64_t index, T fill) const {
    Elements operand;
    const std::int64_t run = index / arguments.vectors_of_run;
    const std::int64_t first = (index - run * arguments.vectors_of_run) * kLength;
    const std::int64_t offset = arguments.layout.reduced.Offset(run) + first;
    const std::int64_t count = arguments.layout.run - first;
    operand.present = count >= kLength ? Elements::kAll : (1U << count) - 1U;
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      operand.inputs[i] = LoadAnywhere(rows_[i] + offset, count, fill);
    }
    return operand;
  }

  const T* rows_[kInputs];
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_READS_CUH_

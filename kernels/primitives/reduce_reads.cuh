// Reading the rows of a result, a tile at a time: 16 bytes an instruction where rows are whole vectors, pieces side by
// side where they are whole pieces, and what it takes where they begin anywhere. Which elements a thread gets follows
// from the row's length; how they are read, from where the rows lie.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_READS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_READS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_packed.cuh"
#include "kernels/primitives/reduce_params.h"

namespace kernelwire {

/// How the rows of a launch can be read.
enum class RowReads : std::uint8_t {
  kVectors,  // one run a result, whole vectors, aligned to them
  kPieces,   // one run a result, whole pieces, aligned to them
  kAny,
};

/// The rows of one result.
template <typename T, int kInputs, RowReads kReads>
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
  /// turn, or as many pieces as fill them. In place of what is not there, what changes nothing. Requires: begin + count
  /// <= arguments.vectors, kCount * threads < 2^27.
  template <int kCount>
  __device__ __forceinline__ void Load(const ReduceArguments& arguments, std::int64_t begin, int lane, int threads,
                                       int count, T fill, Elements (&tile)[kCount]) const {
    if constexpr (kReads == RowReads::kVectors) {
      LoadPlain(begin, lane, threads, count, fill, tile);
    } else if constexpr (kReads == RowReads::kPieces) {
      LoadPieces<true>(arguments.layout.run, begin, lane, threads, count, fill, tile);
    } else if (arguments.shares == RowShares::kPieces) {
      LoadPieces<sizeof(T) >= 4>(arguments.layout.run, begin, lane, threads, count, fill, tile);
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
  static __device__ __forceinline__ ElementNumbers NumbersOf(const ReduceArguments& arguments, std::int64_t begin,
                                                             int lane, int threads) {
    if (kReads == RowReads::kPieces || (kReads == RowReads::kAny && arguments.shares == RowShares::kPieces)) {
      return {begin * kLength + lane * kInPiece, threads * kLength, threads * kInPiece};
    }
    return {(begin + lane) * kLength, threads * kLength, kInPiece};
  }

 private:
  static constexpr bool kPlain = kReads != RowReads::kAny;
  static constexpr int kInPiece = static_cast<int>(BytesOfPiece(sizeof(T)) / sizeof(T));
  static constexpr int kPieces = kLength / kInPiece;  // of a vector
  using Piece = Packed<T, kInPiece>;

  /// Whether all of a tile is there. Reads go one of two ways accordingly, which meet before anything is looked at:
  /// else the compiler would save registers by waiting for some reads before it asks for others. So it must not know
  /// the answer where the caller does.
  static __device__ __forceinline__ bool IsWhole(int tile, int count) {
    asm volatile("" : "+r"(count));
    return tile <= count;
  }

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

  /// By pieces: kPieces of the thread's in turn make an operand. kAligned: pieces are.
  template <bool kAligned, int kCount>
  __device__ __forceinline__ void LoadPieces(std::int64_t run, std::int64_t begin, int lane, int threads, int count,
                                             T fill, Elements (&tile)[kCount]) const {
    const std::int64_t first = begin * kLength + lane * kInPiece;
    const auto limit = static_cast<int>(
        min(run / kInPiece - begin * kPieces, std::int64_t{count} * kPieces));  // pieces from `begin` on
    Piece pieces[kInputs][kCount * kPieces];
    if (IsWhole(kCount * kPieces * threads, limit)) {
#pragma unroll
      for (int k = 0; k < kCount * kPieces; ++k) {
#pragma unroll
        for (int i = 0; i < kInputs; ++i) {
          pieces[i][k] = LoadPiece<kAligned>(rows_[i] + (first + k * threads * kInPiece));
        }
      }
    } else {
#pragma unroll
      for (int k = 0; k < kCount * kPieces; ++k) {
#pragma unroll
        for (int i = 0; i < kInputs; ++i) {
          pieces[i][k] = lane + k * threads < limit ? LoadPiece<kAligned>(rows_[i] + (first + k * threads * kInPiece))
                                                    : Piece::Filled(fill);
        }
      }
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      tile[u].present = 0;
#pragma unroll
      for (int k = 0; k < kPieces; ++k) {
        constexpr unsigned kOne = (1U << kInPiece) - 1U;
        tile[u].present |= lane + (u * kPieces + k) * threads < limit ? kOne << (k * kInPiece) : 0U;
#pragma unroll
        for (int i = 0; i < kInputs; ++i) {
          memcpy(&tile[u].inputs[i].words[k * Piece::kWords], pieces[i][u * kPieces + k].words, sizeof(Piece));
        }
      }
    }
  }

  template <bool kAligned>
  static __device__ __forceinline__ Piece LoadPiece(const T* from) {
    if constexpr (kAligned) {
      return Piece::Load(from);
    } else {
      Piece piece{};
#pragma unroll
      for (int j = 0; j < kInPiece; ++j) {
        piece.Set(j, from[j]);
      }
      return piece;
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

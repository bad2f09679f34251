// Reading rows by pieces: 4 bytes, or an element that is wider. Threads side by side have pieces side by side, so that
// a warp reads all of a line at once though no thread reads more than its piece: much faster than vectors that would
// have to be put together from two each.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PIECES_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PIECES_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_packed.cuh"
#include "kernels/primitives/reduce_params.h"

namespace kernelwire {

/// Whether `last`, of a tile or part of one, is there, given that `count` are. Reads go one of two ways accordingly,
/// which meet before anything is looked at: else the compiler would save registers by waiting for some reads before it
/// asks for others. So it must not know the answer where the caller does.
__device__ __forceinline__ bool IsWhole(int last, int count) {
  asm volatile("" : "+r"(count));
  return last <= count;
}

/// Which pieces a thread has of a tile of kCount vectors a thread: kNumber of them, first, first + lanes, ... Each
/// warp has neighbours, and its lanes, or each group of `threads` lanes that has a row, take turns. kWarps: threads are
/// whole warps.
template <typename T, int kCount, bool kWarps>
struct TilePieces {
  static constexpr int kInPiece = static_cast<int>(BytesOfPiece(sizeof(T)) / sizeof(T));  // elements
  static constexpr int kOfVector = kWidestVector<T> / kInPiece;
  static constexpr int kNumber = kCount * kOfVector;
  static constexpr int kSure = kNumber - (kCount % 2 == 0 ? 2 : 1) * kOfVector;  // where rows are as long as tiles

  int lanes;  // that take turns: a power of two
  int lane;   // among them
  int first;  // piece

  __device__ __forceinline__ TilePieces(int thread, int threads)
      : lanes(kWarps ? 32 : min(threads, 32)), lane(thread & (lanes - 1)), first((thread - lane) * kNumber + lane) {}

  /// The first piece that none of the lanes has.
  __device__ __forceinline__ int End() const { return first - lane + kNumber * lanes; }
};

/// Asks for all of a thread's pieces by load(k), or by guarded(k) where it is not sure that the piece is there: `count`
/// of the tile are. Most tiles that are not whole lack only some of a thread's last ones.
template <typename Pieces, typename Load, typename Guarded>
__device__ __forceinline__ void AskForPieces(const Pieces& pieces, int count, const Load& load,
                                             const Guarded& guarded) {
  if (IsWhole(pieces.End(), count)) {
#pragma unroll
    for (int k = 0; k < Pieces::kNumber; ++k) {
      load(k);
    }
  } else if (Pieces::kSure > 0 && IsWhole(pieces.first - pieces.lane + Pieces::kSure * pieces.lanes, count)) {
#pragma unroll
    for (int k = 0; k < Pieces::kSure; ++k) {
      load(k);
    }
#pragma unroll
    for (int k = Pieces::kSure; k < Pieces::kNumber; ++k) {
      guarded(k);
    }
  } else {
#pragma unroll
    for (int k = 0; k < Pieces::kNumber; ++k) {
      guarded(k);
    }
  }
}

/// What a thread reads of a row whose elements are narrower than a piece, and which begins anywhere: the words that
/// its pieces begin in. They end in words that neighbours have: these are exchanged, so that each is read once.
template <typename T, int kCount, bool kWarps>
class ShiftedPieces {
 public:
  using Pieces = TilePieces<T, kCount, kWarps>;
  static constexpr int kNumber = Pieces::kNumber;
  static constexpr int kBytes = 4;
  static_assert(sizeof(T) < kBytes);

  /// Asks for them; the tile begins at byte 16 * begin of `row`, which has `run` elements. `fill` stands for what is
  /// behind them. Reads no byte outside of the words of elements that are there, and none behind the last element.
  __device__ __forceinline__ ShiftedPieces(const T* row, std::int64_t run, std::int64_t begin, const Pieces& pieces,
                                           T fill)
      : lanes_(pieces.lanes), lane_(pieces.lane), bits_(8 * (reinterpret_cast<std::uintptr_t>(row) % kBytes)) {
    const std::int64_t bytes = run * static_cast<std::int64_t>(sizeof(T)) + bits_ / 8 - 16 * begin;
    const auto* const words =
        reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(row) - bits_ / 8) + 4 * begin;
    const auto whole = static_cast<int>(min(bytes / kBytes, std::int64_t{1} << 30));
    const unsigned filled = Packed<T, Pieces::kInPiece>::Filled(fill).words[0];
    const unsigned last =
        whole <= pieces.End() ? LoadLast(words + whole, static_cast<int>(bytes % kBytes), fill) : filled;
    const unsigned* const own = words + pieces.first;
    const int left = whole - pieces.first;
    AskForPieces(
        pieces, whole, [&](int k) { words_[k] = __ldg(own + k * pieces.lanes); },
        [&](int k) {
          const int word = k * pieces.lanes;
          words_[k] = word < left ? __ldg(own + word) : word == left ? last : filled;
        });
    words_[kNumber] = pieces.End() < whole ? __ldg(words + pieces.End()) : pieces.End() == whole ? last : filled;
  }

  /// The thread's pieces. May be called once. Requires: all of the warp calls it.
  __device__ __forceinline__ const unsigned* Align() {
    if (__any_sync(0xFFFFFFFFU, bits_ != 0)) {
#pragma unroll
      for (int k = 0; k < kNumber; ++k) {
        const unsigned to_last_lane = lane_ == 0 ? words_[k + 1] : words_[k];
        const unsigned next = __shfl_sync(0xFFFFFFFFU, to_last_lane, (lane_ + 1) & (lanes_ - 1), lanes_);
        words_[k] = __funnelshift_r(words_[k], next, bits_);
      }
    }
    return words_;
  }

 private:
  /// The first `bytes` bytes of a word, and `fill`.
  static __device__ __forceinline__ unsigned LoadLast(const unsigned* word, int bytes, T fill) {
    Packed<T, Pieces::kInPiece> last{};
#pragma unroll
    for (int j = 0; j < Pieces::kInPiece; ++j) {
      T element = fill;
      if ((j + 1) * static_cast<int>(sizeof(T)) <= bytes) {
        element = Packed<T, 1>::Load(reinterpret_cast<const T*>(word) + j).Get(0);
      }
      last.Set(j, element);
    }
    return last.words[0];
  }

  int lanes_;
  int lane_;
  unsigned bits_;                // that a piece begins behind the beginning of a word
  unsigned words_[kNumber + 1];  // the last one is that of the first lane only: where the last one's pieces end
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PIECES_CUH_

// A row that lanes hold in words (row_words.cuh) on its way to memory.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORD_WRITER_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORD_WRITER_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/granule.cuh"

namespace kernelwire {

/// Writes the kWords words that a lane has of a row of T, which kLanes lanes share: word 0 first, and so on. All of
/// those lanes, and of others if they share a warp, do so together. `kSure`: the words that the row has, whatever its
/// length. `kMoves`: it may begin in the middle of a word that memory has, which then is this lane's word and the one
/// before's; where lanes of a group meet others, each has a half.
template <typename T, int kLanes, int kWords, int kSure, bool kMoves>
class WordWriter {
 public:
  /// `base`: where this lane's first word begins, less `odd` elements, the half of a word. `left`: elements from that
  /// word on to the row's end.
  __device__ __forceinline__ WordWriter(int lane, T* base, int left, int odd)
      : lane_(lane), base_(base), left_(left), odd_(kMoves ? odd : 0) {}

  /// `priority`: none, or a CachePriority.
  template <typename... Priority>
  __device__ __forceinline__ void Put(int v, const Word& word, Priority... priority) {
    if constexpr (kMoves) {
      PutMoved(v, word.words[0], priority...);
    } else {
      PutInPlace(v, word.words[0], priority...);
    }
  }

 private:
  static constexpr int kLength = static_cast<int>(4 / sizeof(T));  // elements of a word
  static constexpr int kStep = kLanes * kLength;

  template <typename... Priority>
  __device__ __forceinline__ void PutInPlace(int v, unsigned word, Priority... priority) const {
    T* const at = base_ + v * kStep;
    if (v < kSure) {
      StoreWord(at, word, priority...);
      return;
    }
    StoreWordIf(left_ >= v * kStep + kLength, at, word, priority...);
    if (kLength == 2) {
      StoreHalfWordIf(left_ == v * kStep + 1, at, word);
    }
  }

  template <typename... Priority>
  __device__ __forceinline__ void PutMoved(int v, unsigned word, Priority... priority) {
    const unsigned passed = __shfl_sync(0xFFFFFFFFU, word, (lane_ + kLanes - 1) % kLanes, kLanes);
    const unsigned before = lane_ == 0 ? last_ : passed;
    last_ = passed;
    T* const at = base_ + v * kStep;
    const unsigned moved = __funnelshift_l(before, word, static_cast<unsigned>(odd_) * 16);
    const int here = left_ - v * kStep;  // elements of the row from this word's first on
    const bool is_first = v == 0 && lane_ == 0 && odd_ != 0;
    if (v > 0 && v < kSure) {
      StoreWord(at, moved, priority...);
    } else {
      StoreWordIf(!is_first && (v < kSure || here + odd_ >= 2), at, moved, priority...);
      StoreHalfWordIf(is_first && here > 0, at + 1, word);
    }
    if (v >= kSure) {
      StoreHalfWordIf(!is_first && here + odd_ == 1, at, moved);
    }
    if (v + 1 == kWords) {
      StoreHalfWordIf(lane_ == kLanes - 1 && odd_ != 0 && here >= 2, at + 2, word >> 16);
    }
  }

  int lane_;
  T* base_;
  int left_;
  int odd_;
  unsigned last_ = 0;  // of the last lane, the word before
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORD_WRITER_CUH_

// A row of 2-byte elements in the registers of a cluster's warps, in words as memory has them.
//
// A row may begin in the middle of a word. Then row_words.cuh moves its words by an element on their way in, and back
// on their way out, which takes lanes three instructions each time. Here they stay: a lane's word has the second
// element of the row's word before and the first of its own. Sums of first and of second halves are kept apart until a
// lane has its words', and then one of the two is handed over. Additions are those of row_words.cuh, in the same order,
// and results have the same bits.
//
// This is for operators that do the same to all elements of a row, each of which is written by the warp that summed it:
// a probability is made of an exponential below that warp's maximum. Where weights and biases belong to elements, rows
// have to begin alike, and any lane can write what it has: row_words_in_place.cuh.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORDS_UNMOVED_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORDS_UNMOVED_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/row_words.cuh"

namespace kernelwire {

/// What one thread has of a row of T that has been copied to shared memory (StagedRow), and whose result begins as the
/// row does. Each thread has the words of RowWords and one more, which in an odd row's first lane is the element behind
/// its warp's last word, that is the warp's too; everywhere else it is the fill, and so is the first lane's element
/// that is another warp's, or another row's. All lanes of a warp call each function together.
template <typename T, int kWordsOfThread, int kFirst>
struct UnmovedWords : RowLayout<T, Word, kWordsOfThread + 1, kWordsOfThread + 1> {
  static_assert(sizeof(T) == 2);
  using Layout = RowLayout<T, Word, kWordsOfThread + 1, kWordsOfThread + 1>;
  using Moved = RowWords<T, kWordsOfThread, kFirst>;
  using Layout::vectors;
  static constexpr int kWords = kWordsOfThread;
  static constexpr bool kUnmoved = true;
  static constexpr int kMostGranulesOfSpan = Moved::kMostGranulesOfSpan;

  template <typename Group>
  static __device__ __forceinline__ GranuleSpan SpanOf(const Group& group, const RowSource<T>& row) {
    return Moved::SpanOf(group, row);
  }
  template <typename Fill, typename Group>
  __device__ __forceinline__ void TakeFrom(const Group& group, const RowSource<T>& row, const Granule* copy) {
    Moved words;
    words.template TakeFrom<Fill>(group, row, copy);
#pragma unroll
    for (int v = 0; v < kWords; ++v) {
      vectors[v] = words.vectors[v];
    }
    const unsigned fill = Filled<Word>(Fill::template Value<T>()).words[0];
    odd_ = Moved::OddElementsOf(row.data) != 0;
    const int left = row.count + (odd_ ? 1 : 0) - Moved::IndexOf(group, 0);  // from this lane's first word on
    if (!Moved::IsFull(group, row.count)) {
#pragma unroll
      for (int v = 0; v < kWords; ++v) {
        const bool ends_here = left == v * Moved::template kStep<Group> + 1;
        vectors[v].words[0] = ends_here ? WithFirstOf(vectors[v].words[0], fill) : vectors[v].words[0];
      }
    }
    const bool leads = odd_ && group.lane() == 0;
    vectors[0].words[0] = leads ? WithFirstOf(fill, vectors[0].words[0]) : vectors[0].words[0];
    const bool follows = leads && left > kWords * Moved::template kStep<Group>;
    vectors[kWords].words[0] = follows ? WithFirstOf(words.following, fill) : fill;
  }
  /// Nothing is left to be done.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& /*group*/, const RowSource<T>& /*row*/, Granule* /*place*/) {}

  /// Of sums of the elements that this thread has, to those that it has in RowWords: in sums[i % 4] is what belongs to
  /// element i of `vectors`. Adding a fill's value must change nothing.
  template <typename Acc>
  __device__ __forceinline__ void BringHome(Acc (&sums)[4]) const {
    if (!odd_) {
      return;
    }
    const unsigned lane = threadIdx.x % 32;
    // The first lane's are the last one's, but for one word.
    const Acc of_even = lane == 0 ? sums[2] : sums[0];
    const Acc of_odd = lane == 0 ? sums[0] : sums[2];
    sums[0] = sums[1];
    sums[1] = __shfl_sync(0xFFFFFFFFU, of_even, (lane + 1) % 32);
    sums[2] = sums[3];
    sums[3] = __shfl_sync(0xFFFFFFFFU, of_odd, (lane + 1) % 32);
  }

  /// Writes result(v, 0) as the place of vectors[v] in the row of `count` elements at `to`.
  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* /*place*/,
                                               const Result& result) {
    Moved results;
#pragma unroll
    for (int v = 0; v < kWords; ++v) {
      results.vectors[v] = result(v, 0);
    }
    results.following = result(kWords, 0).words[0];
    results.StoreAsItLies(group, RowSource<T>{to, count, false, false}, to);
  }

 private:
  /// The first half of one word, and the second one of another.
  static __device__ __forceinline__ unsigned WithFirstOf(unsigned first, unsigned second) {
    return __byte_perm(first, second, 0x7610);
  }

  bool odd_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORDS_UNMOVED_CUH_

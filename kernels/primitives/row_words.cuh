// A row in the registers of the group that works on it, in words of 4 bytes, wherever it begins.
//
// Rows that are no whole number of vectors of 16 bytes begin anywhere, and to put vectors together takes more
// instructions than most operators have for their elements. Neighbouring lanes have neighbouring words instead, first
// one each, then the next one each: a warp reads and writes 128 bytes at a time, as memory has them. Rows of 4-byte
// elements always begin on a word. Those of 2-byte elements may begin in the middle of one; then the words that memory
// has are moved by an element on their way, of which the neighbouring lane has the other half. Elements are at places
// that follow from type, width and group alone, as in row_vectors.cuh.
//
// One type, whose ways in and out share how words are moved and where a row ends: hence the length of this file.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORDS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORDS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/row_word_writer.cuh"

namespace kernelwire {

/// What one thread holds of a row of T. All members of the group call Begin, Finish and Store together. `kFirst`: the
/// first word that may reach beyond a row's end: shorter rows are held otherwise (row_tuning.h). `kAtATime`: how many
/// results there are registers for.
template <typename T, int kWordsOfThread, int kFirst, int kAtATime = kWordsOfThread>
struct RowWords : RowLayout<T, Word, kWordsOfThread, kWordsOfThread> {
  static_assert(sizeof(T) <= 4 && kFirst < kWordsOfThread);
  using Layout = RowLayout<T, Word, kWordsOfThread, kWordsOfThread>;
  using Layout::FirstOf;
  using Layout::HasWhole;
  using Layout::IndexOf;
  using Layout::kLength;
  using Layout::kVectors;
  using Layout::Pinned;
  using Layout::vectors;
  template <typename Group>
  static constexpr int kStep = Layout::template kStep<Group>;
  static constexpr bool kPlain = false;
  static constexpr bool kHalves = sizeof(T) == 2;  // elements are halves of words
  static constexpr bool kCombinesAsItLies = kHalves;
  /// Store hands words from lane to lane: all groups of a warp must come along (LaneGroup::PartIf), or all know that
  /// some do not.
  static constexpr bool kStoresTogether = kHalves;
  template <typename Group>
  static constexpr int kFirstThatEnds = kFirst;
  /// No shared memory.
  template <typename Group>
  static constexpr int kGranulesIn = 0;
  template <typename Group>
  static constexpr int kGranulesOut = 0;

  unsigned following;  // in its first half, the element behind the lanes' last words
  /// 2-byte elements between the word that an address lies in and itself.
  static __device__ __forceinline__ int OddElementsOf(const T* at) {
    return kHalves ? static_cast<int>(reinterpret_cast<std::uintptr_t>(at) / 2 % 2) : 0;
  }

  /// Whether this is a warp of a block, and the row of `count` elements has all that it can hold: most are, and look
  /// for no end.
  template <typename Group>
  static __device__ __forceinline__ bool IsFull(const Group& group, int count) {
    return std::is_same_v<Group, BlockGroup> && HasWhole(group, 0, count);
  }

  /// Asks for a row. Finish must follow before any is used; in between, memory is on its way. `priority`: none, or a
  /// CachePriority, where lanes come along.
  template <typename Fill, typename Group, typename... Priority>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, Granule* /*place*/,
                                        Priority... priority) {
    if (kHalves && !group.IsTogether()) {
      BeginAlone(group, row);
      return;
    }
    if (IsFull(group, row.count) && (row.has_before || FirstOf(group, 0) > 0)) {
      BeginTogether<Fill, kVectors>(group, row, priority...);
    } else {
      BeginTogether<Fill, kFirst>(group, row, priority...);
    }
  }

  /// What the lanes of a warp read of a row, as memory has it, and as Begin does of a copy of that. Of what lies beyond
  /// the row in its last word anything may come.
  static constexpr int kMostGranulesOfSpan = 32 * kWordsOfThread * 4 / 16 + 2;
  template <typename Group>
  static __device__ __forceinline__ GranuleSpan SpanOf(const Group& group, const RowSource<T>& row) {
    constexpr int kMostBytes = 32 * kWordsOfThread * 4 + (kHalves ? 2 : 0);  // and the element behind the last word
    const int first = FirstOf(group, 0);
    const T* const from = row.data + first;
    const int odd = OddBytesOf(from);
    const int left = (row.count - first) * static_cast<int>(sizeof(T));
    return SpanOfBytes(reinterpret_cast<const unsigned char*>(from) - odd, left > 0 ? odd + min(left, kMostBytes) : 0,
                       row.has_after ? kNoEnd : odd + left);
  }
  template <typename Fill, typename Group>
  __device__ __forceinline__ void TakeFrom(const Group& group, const RowSource<T>& row, const Granule* copy) {
    const unsigned* const words = WordsOf(group, row, copy);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = Filled<Word>(Fill::template Value<T>());
    }
    ForEachWordOf(group, row, [&](int v) { vectors[v].words[0] = words[32 * v + group.lane()]; });
    following = kHalves ? words[32 * kVectors] : 0;
  }
  /// Behind that, and before Finish: what is held becomes combine(it, what `copy` has of `other`), word by word, where
  /// `other` begins as this one does.
  template <typename Group, typename Combine>
  __device__ __forceinline__ void CombineFrom(const Group& group, const RowSource<T>& other, const Granule* copy,
                                              const Combine& combine) {
    const unsigned* const words = WordsOf(group, other, copy);
    ForEachWordOf(group, other, [&](int v) { vectors[v] = combine(vectors[v], Word{{words[32 * v + group.lane()]}}); });
    if (kHalves) {
      following = combine(Word{{following}}, Word{{words[32 * kVectors]}}).words[0];
    }
  }

  /// Between Begin and Finish: what is held becomes combine(it, other), word by word, where `other` begins as this one
  /// does, with a word or in the middle of one.
  template <typename Combine>
  __device__ __forceinline__ void CombineAsTheyLie(const RowWords& other, const Combine& combine) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = combine(vectors[v], other.vectors[v]);
    }
    following = combine(Word{{following}}, Word{{other.following}}).words[0];
  }

  /// Before Finish: a block writes what is held of `row` as the row at `to`, which begins as it does.
  template <typename Group>
  __device__ __forceinline__ void StoreAsItLies(const Group& group, const RowSource<T>& row, T* to) const {
    static_assert(kHalves && std::is_same_v<Group, BlockGroup>);
    if (IsFull(group, row.count)) {
      StoreInPlace<kVectors>(group, to, row.count);
    } else {
      StoreInPlace<kFirst>(group, to, row.count);
    }
  }

  /// What the group could hold beyond the row's end becomes the fill. `Fill` must be that of Begin.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    if constexpr (kHalves) {
      if (group.IsTogether()) {
        MoveDown(group, OddElementsOf(row.data));
      }
      FillBeyond(group, row.count, Filled<Word>(Fill::template Value<T>()).words[0]);
    }
  }

  /// Writes result(v, index) as this thread's word `v`, which begins at element `index`, of the row of `count` elements
  /// at `to`. Where index >= count it may be asked for, too, but is not written. `priority`: as for Begin.
  /// A result of long code takes std::true_type, too, with which it is called where the row has all words of this warp.
  template <typename Group, typename Result, typename... Priority>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* /*place*/,
                                               const Result& result, Priority... priority) {
    if (kHalves && !group.IsTogether()) {
      StoreAlone(group, to, count, result);
    } else if (IsFull(group, count)) {
      StoreTogether<kVectors>(group, to, count, result, priority...);
    } else {
      StoreTogether<kFirst>(group, to, count, result, priority...);
    }
  }

 private:
  /// The first word of the lanes' share in a copy of their span.
  template <typename Group>
  static __device__ __forceinline__ const unsigned* WordsOf(const Group& group, const RowSource<T>& row,
                                                            const Granule* copy) {
    return reinterpret_cast<const unsigned*>(copy) + OddBytesOf(row.data + FirstOf(group, 0)) / 4;
  }
  /// Calls f(v) for this lane's words, as memory has them, that have anything of the row.
  template <typename Group, typename F>
  static __device__ __forceinline__ void ForEachWordOf(const Group& group, const RowSource<T>& row, const F& f) {
    const int left = row.count + OddElementsOf(row.data) - IndexOf(group, 0);
    const bool is_full = IsFull(group, row.count);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (is_full || left > v * kStep<Group>) {
        f(v);
      }
    }
  }
  static __device__ __forceinline__ unsigned HalfAt(const T* at) {
    __builtin_assume(__isGlobal(at));
    return *reinterpret_cast<const unsigned short*>(at);
  }

  /// Of a row whose lanes surely have the first kSure words.
  template <typename Fill, int kSure, typename Group, typename... Priority>
  __device__ __forceinline__ void BeginTogether(const Group& group, const RowSource<T>& row, Priority... priority) {
    const int odd = OddElementsOf(row.data);
    const T* const base = Pinned(row.data + IndexOf(group, 0) - odd);
    // A word is read where both of its elements may be, and its first one alone where that is the last of a tensor.
    const int left = row.count + odd - IndexOf(group, 0) - kLength;
    const int readable = kHalves && row.has_after ? left + 1 : left;
    const bool has_first = !kHalves || kSure == kVectors || odd == 0 || row.has_before || IndexOf(group, 0) > 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = Filled<Word>(Fill::template Value<T>());
      LoadWordIf((v < kSure || readable >= v * kStep<Group>)&&(v > 0 || has_first), base + v * kStep<Group>, vectors[v],
                 priority...);
      if (kHalves && v >= kSure) {
        LoadHalfWordIf(!row.has_after && left + 1 == v * kStep<Group>, base + v * kStep<Group>, vectors[v]);
      }
    }
    if constexpr (kHalves) {
      BeginEnds(group, row, odd, has_first);
    }
  }

  /// Of a row that begins in the middle of a word: reads what follows the lanes' last words, and its first element if
  /// that word may not be read.
  template <typename Group>
  __device__ __forceinline__ void BeginEnds(const Group& group, const RowSource<T>& row, int odd, bool has_first) {
    if (odd == 0) {
      return;
    }
    const int last = FirstOf(group, 0) + kVectors * kStep<Group> - 1;
    following = last < row.count ? HalfAt(row.data + last) : 0;
    if (!has_first) {
      vectors[0].words[0] = HalfAt(row.data) << 16;
    }
  }

  /// Where not all lanes of the warp come along.
  template <typename Group>
  __device__ __forceinline__ void BeginAlone(const Group& group, const RowSource<T>& row) {
    const T* const base = Pinned(row.data + IndexOf(group, 0));
    const int left = row.count - IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const unsigned low = left > v * kStep<Group> ? HalfAt(base + v * kStep<Group>) : 0;
      const unsigned high = left > v * kStep<Group> + 1 ? HalfAt(base + v * kStep<Group> + 1) : 0;
      vectors[v].words[0] = low | high << 16;
    }
  }

  template <int kSure, typename Group>
  __device__ __forceinline__ void StoreInPlace(const Group& group, T* to, int count) const {
    const int odd = OddElementsOf(to);
    T* const base = Pinned(to + IndexOf(group, 0) - odd);
    const int left = count + odd - IndexOf(group, 0);   // from this lane's first word on
    const bool begins = group.lane() == 0 && odd != 0;  // in the middle of it
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      T* const at = base + v * kStep<Group>;
      const unsigned word = vectors[v].words[0];
      const int here = left - v * kStep<Group>;
      const bool is_first = v == 0 && begins;
      StoreWordIf(!is_first && (v < kSure || here >= 2), at, word);
      if (v == 0) {
        StoreHalfWordIf(is_first && here >= 2, at + 1, word >> 16);
      }
      if (v >= kSure) {
        StoreHalfWordIf(!is_first && here == 1, at, word);
      }
    }
    StoreHalfWordIf(begins && left > kVectors * kStep<Group>, base + kVectors * kStep<Group>, following);
  }

  /// From words as memory has them to those of the row.
  template <typename Group>
  __device__ __forceinline__ void MoveDown(const Group& group, int odd) {
    constexpr int kLanes = Group::kLanes;
    if (kLanes == 32 && odd == 0) {
      return;
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const unsigned next = v + 1 == kVectors ? following : vectors[(v + 1) % kVectors].words[0];
      const unsigned from = group.lane() == 0 ? next : vectors[v].words[0];
      const unsigned high = __shfl_sync(0xFFFFFFFFU, from, (group.lane() + 1) % kLanes, kLanes);
      vectors[v].words[0] = __funnelshift_r(vectors[v].words[0], high, static_cast<unsigned>(odd) * 16);
    }
  }

  template <typename Group>
  __device__ __forceinline__ void FillBeyond(const Group& group, int count, unsigned fill) {
    if (IsFull(group, count)) {
      return;
    }
#pragma unroll
    for (int v = kFirst; v < kVectors; ++v) {
      unsigned& word = vectors[v].words[0];
      const int left = count - IndexOf(group, v);
      word = left == 1 ? __byte_perm(word, fill, 0x7610) : left > 1 ? word : fill;
    }
  }

  template <typename Result>
  static constexpr bool kIsLong = std::is_invocable_v<Result, int, int, std::true_type>;  // see Store
  /// Whether a loop over words asks EndsBefore. What looks for a row's end is several times as long as what does not,
  /// and a multiprocessor that runs all of it waits for instructions.
  template <int kSure, typename Group, typename Result>
  static constexpr bool kEnds = kSure == 0 && std::is_same_v<Group, BlockGroup>&& kIsLong<Result>;
  /// Whether words of this warp from `v` on, an eighth, have nothing of a row of `count` elements.
  template <typename Group>
  static __device__ __forceinline__ bool EndsBefore(const Group& group, int v, int count) {
    return v > 0 && v % 8 == 0 && count <= FirstOf(group, 0) + v * kStep<Group>;
  }

  template <int kSure, typename Group, typename Result>
  static __device__ __forceinline__ Word ResultOf(const Group& group, int v, const Result& result) {
    if constexpr (kSure == kVectors && kIsLong<Result>) {
      return result(v, IndexOf(group, v), std::true_type{});
    }
    return result(v, IndexOf(group, v));
  }

  /// Calls f(writer, odd) for a row of `count` elements at `to`, which begins with the second half of a word if `odd`.
  template <int kSure, typename Group, typename F>
  static __device__ __forceinline__ void WithWriter(const Group& group, T* to, int count, const F& f) {
    const int first = IndexOf(group, 0);
    if (!kHalves || (Group::kLanes == 32 && OddElementsOf(to) == 0)) {
      f(WordWriter<T, Group::kLanes, kVectors, kSure, false>(group.lane(), Pinned(to + first), count - first, 0), 0);
    } else {
      const int odd = OddElementsOf(to);
      f(WordWriter<T, Group::kLanes, kVectors, kSure, true>(group.lane(), Pinned(to + first - odd), count - first, odd),
        odd);
    }
  }

  /// Whether there are no registers for results that wait: of long code, or that looks for a row's end, beside many
  /// words; or beside more of FP32, whose results are not half of what they are made of.
  template <int kSure, typename Group, typename Result>
  static constexpr bool kOneByOne = kIsLong<Result>
                                        ? kSure != kVectors || kVectors > 20
                                        : std::is_same_v<Group, BlockGroup> &&
                                              (kSure != kVectors ? kVectors > 20 : !kHalves && kVectors > 24);

  /// Results are found before the first of them is written. A warp's words lie across two lines of memory, which the
  /// words before and behind are in, too. What is written to a line at once goes to the second-level cache at once; if
  /// other warps write in between, it goes there twice, for which an H200 has no time (up to 1.07 times as fast).
  template <int kSure, typename Group, typename Result, typename... Priority>
  static __device__ __forceinline__ void StoreTogether(const Group& group, T* to, int count, const Result& result,
                                                       Priority... priority) {
    constexpr int kTogether = kOneByOne<kSure, Group, Result> ? 1 : kAtATime;
    if constexpr (kTogether < kVectors) {
      WithWriter<kSure>(group, to, count, [&](auto writer, int odd) {
#pragma unroll
        for (int begin = 0; begin < kVectors; begin += kTogether) {
          if (kEnds<kSure, Group, Result> && EndsBefore(group, begin, count + odd)) {
            break;
          }
          StoreSome<kTogether, kSure>(group, begin, result, writer, priority...);
        }
      });
    } else {
      Word results[kVectors];
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        results[v] = ResultOf<kSure>(group, v, result);
      }
      WithWriter<kSure>(group, KnownAfter(results[kVectors - 1], to), count, [&](auto writer, int /*odd*/) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          writer.Put(v, results[v], priority...);
        }
      });
    }
  }

  /// kCount words from `begin` on, as many of them as there are.
  template <int kCount, int kSure, typename Group, typename Result, typename OfRow, typename... Priority>
  static __device__ __forceinline__ void StoreSome(const Group& group, int begin, const Result& result, OfRow& writer,
                                                   Priority... priority) {
    Word results[kCount];
#pragma unroll
    for (int i = 0; i < kCount && begin + i < kVectors; ++i) {
      results[i] = ResultOf<kSure>(group, begin + i, result);
    }
#pragma unroll
    for (int i = 0; i < kCount && begin + i < kVectors; ++i) {
      writer.Put(begin + i, results[i], priority...);
    }
  }

  template <typename Group, typename Result>
  static __device__ __forceinline__ void StoreAlone(const Group& group, T* to, int count, const Result& result) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int index = IndexOf(group, v);
      const unsigned word = result(v, index).words[0];
      if (index < count) {
        StoreHalfWord(to + index, word);
      }
      if (index + 1 < count) {
        StoreHalfWord(to + index + 1, word >> 16);
      }
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORDS_CUH_

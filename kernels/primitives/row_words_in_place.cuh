// A row of 2-byte elements in the registers of the group that works on it, in words as memory has them.
//
// A row may begin in the middle of a word. Then row_words.cuh moves its words by an element on their way in, and back
// on their way out, which takes lanes three instructions each time. Here they stay: a lane's word has the second
// element of the row's word before and the first of its own. What is summed of first and of second halves is kept
// apart, so that all that lanes hand over is one of the two sums of a row. Additions are those of row_words.cuh, in the
// same order, and results have the same bits.
//
// Parameters of elements are not where those of a row's words are, so this is for blocks that have many rows which
// begin alike (kept_parameters.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORDS_IN_PLACE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORDS_IN_PLACE_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_moments.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// Which words of its rows are a thread's, where all begin alike. `odd`: they begin with the second half of a word,
/// whose first is another row's.
template <typename Group, int kWords>
struct SpanOfWords;

/// Of lanes.
template <int kLanes, int kWords>
struct SpanOfWords<LaneGroup<kLanes>, kWords> {
  static constexpr bool kOfBlocks = false;
  static constexpr int kStep = 2 * kLanes;  // elements from one of a thread's words to its next

  int first;  // this thread's first word
  int left;   // elements from there to the row's end
  bool odd;
  bool leads;  // the first half of this thread's first word is another row's

  /// `odd_elements`: 1 if rows are odd, else 0. Found where it is needed rather than remembered, for which there are no
  /// registers. Requires: lanes have room for both together.
  __device__ __forceinline__ SpanOfWords(int width, int odd_elements) {
    int thread = static_cast<int>(threadIdx.x);
    asm volatile("" : "+r"(thread));
    first = thread % kLanes;
    left = width + odd_elements - 2 * first;
    odd = odd_elements != 0;
    leads = odd && first == 0;
  }

  __device__ __forceinline__ int FirstWord(int /*width*/) const { return first; }
  /// From the row's first element to this thread's first word.
  __device__ __forceinline__ int FirstElement(int /*width*/) const { return 2 * first - (odd ? 1 : 0); }
  /// Whether this thread's first word has another row's element.
  __device__ __forceinline__ bool IsShared(int /*width*/) const { return leads; }
  /// Whether the first half of this thread's first word is summed as another warp's, or not at all.
  __device__ __forceinline__ bool Leads() const { return leads; }
  /// Whether the warp has all words that it can hold, and looks for no end.
  __device__ __forceinline__ static constexpr bool IsFull() { return false; }
  /// Whether words of the warp from `v` on have nothing of the row.
  __device__ __forceinline__ static constexpr bool EndsBefore(int /*v*/) { return false; }
};

/// The same of a block, which remembers as little as gives all of it.
template <int kWords>
struct SpanOfWords<BlockGroup, kWords> {
  static constexpr bool kOfBlocks = true;
  static constexpr int kStep = 2 * BlockGroup::kLanes;

  bool odd;
  int left;
  int left_of_warp;  // elements from the warp's first word to the row's end

  /// `before`: threads of the blocks of a cluster before this one.
  __device__ __forceinline__ SpanOfWords(int width, int odd_elements, int before = 0) : odd(odd_elements != 0) {
    const auto thread = before + static_cast<int>(threadIdx.x);
    left_of_warp = width + odd_elements - 2 * kWords * (thread - Lane());
    left = left_of_warp - 2 * Lane();
  }

  /// Makes the compiler forget what it has found out of this: it would remember a bit for each word.
  __device__ __forceinline__ void Forget() { asm volatile("" : "+r"(left)); }

  __device__ __forceinline__ int FirstWord(int width) const { return (FirstElement(width) + 1) / 2; }
  __device__ __forceinline__ int FirstElement(int width) const { return width - left; }
  /// Found anew behind Forget, too.
  __device__ __forceinline__ int LeftOfWarp() const { return left + 2 * Lane(); }
  __device__ __forceinline__ bool IsShared(int width) const { return left > width; }
  __device__ __forceinline__ bool Leads() const { return odd && Lane() == 0; }
  __device__ __forceinline__ bool IsFull() const { return left_of_warp >= kStep * kWords; }
  __device__ __forceinline__ bool EndsBefore(int v) const { return left_of_warp <= v * kStep; }

 private:
  static __device__ __forceinline__ int Lane() { return static_cast<int>(threadIdx.x % BlockGroup::kLanes); }
};

/// When the results of a thread's words are found: all before the first is written, as in RowWords; the same, but not
/// everything that they are made of is asked for at once, for which ptxas would have no registers (where it takes lanes
/// for parted, that is slower); or each when it is written.
enum class ResultsOfWords : unsigned char { kFirst, kFirstBySome, kInTurn };

/// What one thread has of a row of T. All members of the group call each function together. `kFirst`: the first word of
/// a thread that may reach beyond a row's end.
template <typename T, typename Group, int kWordsOfThread, int kFirst>
struct WordsInPlace {
  static_assert(sizeof(T) == 2);
  using Element = T;
  using Span = SpanOfWords<Group, kWordsOfThread>;
  static constexpr int kWords = kWordsOfThread;
  /// Where a warp has several rows, lanes that go over one again do so alone.
  static constexpr bool kStoresTogether = Group::kLanes < 32;

  Word words[kWords];

  /// Reads a row, of which `from` is this thread's first word. `is_last`: of its tensor; behind its end there is no
  /// memory.
  __device__ __forceinline__ void Load(const Span& span, const T* from, bool is_last) {
    if (is_last) {
      LoadLast(span, from);
    } else if (span.IsFull()) {
      LoadWords<true>(span, from);
    } else {
      LoadWords<false>(span, from);
    }
    if constexpr (Span::kOfBlocks) {
      if (span.Leads() && span.left > kWords * Span::kStep) {
        following_ = HalfAt(from + kWords * Span::kStep);
      }
    }
  }

  /// What a block's warp reads of a row, as memory has it, of which `from` is its first word, and `is_last` is as for
  /// Load; and the same from a copy of that (row_staged.cuh). Of what lies beyond the row in its last granule anything
  /// may come.
  static constexpr int kMostGranulesOfSpan = 8 * kWords + 2;
  static __device__ __forceinline__ GranuleSpan SpanOf(const Span& span, const T* from, bool is_last) {
    constexpr int kMostBytes = 128 * kWords + 2;  // and the element behind the last word
    const int odd = OddBytesOf(from);
    const int left = span.LeftOfWarp();
    return SpanOfBytes(reinterpret_cast<const unsigned char*>(from) - odd,
                       left > 0 ? odd + min(2 * left, kMostBytes) : 0, is_last ? odd + 2 * left : kNoEnd);
  }
  __device__ __forceinline__ void TakeFrom(const Span& span, const T* from, const Granule* copy) {
    const auto* const first =
        reinterpret_cast<const unsigned*>(reinterpret_cast<const unsigned char*>(copy) + OddBytesOf(from)) +
        threadIdx.x % 32;
    const bool full = span.IsFull();
#pragma unroll
    for (int v = 0; v < kWords; ++v) {
      if (full || span.left > v * Span::kStep) {
        words[v].words[0] = first[32 * v];
      }
    }
    if (span.Leads()) {
      following_ = first[32 * kWords];
    }
  }

  /// This thread's part of the deviations from `mean`: DeviationsOf of the same row in RowWords.
  __device__ __forceinline__ Deviations<float> DeviationsFrom(const Group& group, const Span& span, float mean) const {
    return span.IsFull() ? SumsFrom<true>(group, span, mean) : SumsFrom<false>(group, span, mean);
  }

  /// See RowLayout.
  __device__ __forceinline__ void StayPacked() {
    const unsigned zero = std::is_same_v<T, __half> ? UnknownZero() : 0;
#pragma unroll
    for (Word& word : words) {
      word.words[0] ^= zero;
      Opaque(word);
    }
  }

  /// Writes result(v), for word `v`, to a row of `width` elements that is as odd, of which `to` is this thread's first
  /// word.
  template <ResultsOfWords kResults = ResultsOfWords::kFirst, typename Result>
  static __device__ __forceinline__ void Store(const Span& span, T* to, int width, const Result& result) {
    if (span.IsFull()) {
      StoreWords<true, kResults>(span, to, width, result);
    } else {
      StoreWords<false, Span::kOfBlocks ? ResultsOfWords::kInTurn : kResults>(span, to, width, result);
    }
  }

 private:
  /// Whether a row surely has both elements of word `v`, but for its first one.
  template <bool kFull>
  static __device__ __forceinline__ constexpr bool IsSure(int v) {
    return kFull || v < kFirst;
  }
  template <bool kFull>
  static __device__ __forceinline__ bool EndsBefore(const Span& span, int v) {
    return Span::kOfBlocks && !IsSure<kFull>(v) && span.EndsBefore(v);
  }
  static __device__ __forceinline__ unsigned HalfAt(const T* at) {
    __builtin_assume(__isGlobal(at));
    return *reinterpret_cast<const unsigned short*>(at);
  }

  template <bool kFull>
  __device__ __forceinline__ void LoadWords(const Span& span, const T* from) {
#pragma unroll
    for (int v = 0; v < kWords; ++v) {
      LoadWordIf(IsSure<kFull>(v) || span.left > v * Span::kStep, from + v * Span::kStep, words[v]);
    }
  }

  /// The half of a word that the row may end with is found once, rather than asked for at each.
  __device__ __forceinline__ void LoadLast(const Span& span, const T* from) {
    const bool ends_in_half = span.left > 0 && span.left % 2 != 0;
    const unsigned last = ends_in_half ? HalfAt(from + span.left / Span::kStep * Span::kStep) : 0;
#pragma unroll
    for (int v = 0; v < kWords; ++v) {
      LoadWordIf(span.left > v * Span::kStep + 1, from + v * Span::kStep, words[v]);
    }
#pragma unroll
    for (int v = 0; v < kWords; ++v) {
      words[v].words[0] = span.left == v * Span::kStep + 1 ? last : words[v].words[0];
    }
  }

  template <bool kFull>
  __device__ __forceinline__ Deviations<float> SumsFrom(const Group& group, const Span& span, float mean) const {
    Deviations<float> halves[2] = {};
    const auto add = [&](Deviations<float>& sums, float deviation) {
      sums.sum += deviation;
      sums.squares = fmaf(deviation, deviation, sums.squares);
    };
#pragma unroll
    for (int v = 0; v < kWords; ++v) {
      if (EndsBefore<kFull>(span, v)) {
        break;
      }
      float values[2];
      Unpack<T>(words[v], values);
      const bool has_first = (IsSure<kFull>(v) || span.left > v * Span::kStep) && !(v == 0 && span.Leads());
      add(halves[0], has_first ? values[0] - mean : 0.0F);
      add(halves[1], IsSure<kFull>(v) || span.left > v * Span::kStep + 1 ? values[1] - mean : 0.0F);
    }
    if (span.odd) {
      if constexpr (Span::kOfBlocks) {
        float values[2];
        Unpack<T>(Word{{following_}}, values);
        add(halves[0], span.Leads() && span.left > kWords * Span::kStep ? values[0] - mean : 0.0F);
      }
      constexpr int kLanes = Group::kLanes;
      const int next = (group.lane() + 1) % kLanes;
      const unsigned members = group.IsTogether() ? kWholeWarp : group.members();
      halves[0].sum = __shfl_sync(members, halves[0].sum, next, kLanes);
      halves[0].squares = __shfl_sync(members, halves[0].squares, next, kLanes);
    }
    return SumOfDeviations{}(halves[0], halves[1]);
  }

  template <bool kFull, ResultsOfWords kResults, typename Result>
  static __device__ __forceinline__ void StoreWords(const Span& span, T* to, int width, const Result& result) {
    constexpr bool kInTurn = kResults == ResultsOfWords::kInTurn;
    constexpr int kSome = 8;
    Word results[kWords];
    if constexpr (!kInTurn) {
#pragma unroll
      for (int v = 0; v < kWords; ++v) {
        results[v] = result(v);
        if (kResults == ResultsOfWords::kFirstBySome && v % kSome == kSome - 1) {
          __syncwarp();  // nothing behind it is read before
        }
      }
      to = KnownAfter(results[kWords - 1], to);
    }
#pragma unroll
    for (int v = 0; v < kWords; ++v) {
      if (EndsBefore<kFull>(span, v)) {
        break;
      }
      const unsigned word = kInTurn ? result(v).words[0] : results[v].words[0];
      T* const at = to + v * Span::kStep;
      if (v > 0 && IsSure<kFull>(v)) {
        StoreWord(at, word);
        continue;
      }
      const bool has_both = IsSure<kFull>(v) || span.left > v * Span::kStep + 1;
      StoreWordIf(has_both && !(v == 0 && span.IsShared(width)), at, word);
      if (!IsSure<kFull>(v)) {
        StoreHalfWordIf(span.left == v * Span::kStep + 1, at, word);
      }
      if (v == 0) {
        StoreHalfWordIf(span.IsShared(width), at + 1, word >> 16);
      }
    }
  }

  unsigned following_ = 0;  // of a block's warp: in its first half, the element behind its last word, which is its own
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORDS_IN_PLACE_CUH_

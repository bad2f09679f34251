// A row in the registers of the threads that work on it, in vectors of 16 bytes, wherever the row begins.
//
// Memory has granules, 16 bytes on a 16-byte boundary, and a lane reads and writes those: what a row shares with its
// neighbours is read with it. A vector of a row that begins elsewhere lies across two granules, which neighbouring
// lanes have, so a vector is put together from a lane's own granule and some words of its neighbour's, which a shuffle
// brings, and taken apart in the same way. Nothing passes through shared memory. All lanes of a warp have rows that
// begin alike, so the distance is one of four ways through the code, and registers are chosen when that is compiled.
//
// Elements are at the places that row_vectors.cuh gives them. One type, whose ways in and out share how granules are
// moved: hence the length of this file.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHIFTED_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHIFTED_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/granule_edge.cuh"
#include "kernels/primitives/granule_shift.cuh"
#include "kernels/primitives/row_granules.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// What one thread holds of a row of T. All members of the group call Begin, Finish and Store together; where lanes of
/// a warp have several rows, all that have one, and these begin equally far behind a granule.
///
/// Granules are read whole, and what else lies in them is ignored; but nothing behind a tensor is read, where its
/// memory may end. `kWhole`: rows are whole vectors. `kInTurn`: each vector's result is written before the next one's
/// is found, for want of registers. `kLasting`: they are read with CachePriority::kLong.
template <typename T, int kVectorsOfThread, bool kWhole, bool kInTurn, bool kLasting = false>
struct ShiftedVectors : VectorLayout<T, kVectorsOfThread> {
  using Layout = VectorLayout<T, kVectorsOfThread>;
  using Layout::HasWhole;
  using Layout::IndexOf;
  using Layout::kLength;
  using Layout::kStretches;
  using Layout::kVectors;
  using Layout::kVectorsOfStretch;
  using Layout::Pinned;
  using Layout::vectors;
  static constexpr bool kPlain = false;
  static constexpr bool kMoves = true;
  static constexpr bool kCombinesAsItLies = true;
  static constexpr bool kStoresTogether = false;
  static constexpr int kGrain = kWhole ? kLength : 1;
  template <typename Group>
  static constexpr int kGranulesIn = 0;
  template <typename Group>
  static constexpr int kGranulesOut = 0;
  template <typename Group>
  static constexpr int kFirstThatEnds = RowVectors<T, kVectorsOfThread, true>::template kFirstThatEnds<Group>;

  /// Whether the end of a tensor's last row is kept beside its vectors until they are moved (PlaceEnd). Wider elements,
  /// of which registers hold another row meanwhile, have none left to remember until then which row is the last, and
  /// that row comes word by word (or FP32 log_softmax of 80000 in 2^28 is 0.92 times as fast).
  static constexpr bool kEndsBeside = sizeof(T) == 2 || !kInTurn;

  /// Asks for a row. Finish must follow before any is used; in between, memory is on its way.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    const GranulesOf<const T, Group> at(group, row.data, row.count);
    const int whole = at.LeftToWhole(row.has_after, kEndsBeside);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = Filled<Granule>(Fill::template Value<T>());
      const bool is_there = whole > v * at.kStep;
      if constexpr (kLasting) {
        LoadGranuleIf(is_there, at.base + v * at.kStep, vectors[v], CachePriority::kLong);
      } else {
        LoadGranuleIf(is_there, at.base + v * at.kStep, vectors[v]);
      }
    }
    beside_ = row.has_after ? FollowingOf(group, at) : EndOf(group, at);
    if (!kEndsBeside && !row.has_after) {
      LoadWords<Group, kVectors>(at, 0, vectors);
    }
  }

  /// What the lanes of a warp read of a row, as memory has it, and as Begin does of a copy of that.
  static constexpr int kMostGranulesOfSpan = 32 * kVectors + 1;
  template <typename Group>
  static __device__ __forceinline__ GranuleSpan SpanOf(const Group& group, const RowSource<T>& row) {
    const GranulesOf<const T, Group> at(group, row.data, row.count);
    const int left = at.left + 16 * group.lane();
    return SpanOfBytes(at.base - 16 * group.lane(), max(0, min(left, 16 * (32 * kVectors + (at.odd != 0 ? 1 : 0)))),
                       row.has_after ? kNoEnd : left);
  }
  template <typename Fill, typename Group>
  __device__ __forceinline__ void TakeFrom(const Group& group, const RowSource<T>& row, const Granule* copy) {
    const GranulesOf<const T, Group> at(group, row.data, row.count);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const bool is_there = at.left > v * at.kStep;
      vectors[v] = is_there ? copy[v * 32 + group.lane()] : Filled<Granule>(Fill::template Value<T>());
    }
    beside_ = BesideFrom(group, at, row.has_after, copy);
  }
  /// Behind that, and before Finish: what is held becomes combine(it, what `copy` has of `other`), granule by granule,
  /// where `other` begins as far behind one, and is followed by as much.
  template <typename Group, typename Combine>
  __device__ __forceinline__ void CombineFrom(const Group& group, const RowSource<T>& other, const Granule* copy,
                                              const Combine& combine) {
    const GranulesOf<const T, Group> at(group, other.data, other.count);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (at.left > v * at.kStep) {
        vectors[v] = combine(vectors[v], copy[v * 32 + group.lane()]);
      }
    }
    beside_ = combine(beside_, BesideFrom(group, at, other.has_after, copy));
  }

  /// Between Begin and Finish: what is held becomes combine(it, other), granule by granule, where `other` begins as far
  /// behind one, and is followed by as much. Of what the row shares with its neighbours anything may come.
  template <typename Combine>
  __device__ __forceinline__ void CombineAsTheyLie(const ShiftedVectors& other, const Combine& combine) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = combine(vectors[v], other.vectors[v]);
    }
    beside_ = combine(beside_, other.beside_);
  }
  /// The same of a row that is read now, a stretch at a time.
  template <typename Group, typename Combine>
  __device__ __forceinline__ void CombineAsItComes(const Group& group, const RowSource<T>& other,
                                                   const Combine& combine) {
    const GranulesOf<const T, Group> at(group, other.data, other.count);
    const int whole = at.LeftToWhole(other.has_after, kEndsBeside);
    const Granule beside = other.has_after ? FollowingOf(group, at) : EndOf(group, at);
#pragma unroll
    for (int s = 0; s < Layout::kStretches; ++s) {
      Granule granules[kVectorsOfStretch];
#pragma unroll
      for (int i = 0; i < kVectorsOfStretch; ++i) {
        const int step = (s * kVectorsOfStretch + i) * at.kStep;
        granules[i] = Granule{};
        LoadGranuleIf(whole > step, at.base + step, granules[i], CachePriority::kLong);
      }
      if (!kEndsBeside && !other.has_after) {
        LoadWords<Group, kVectorsOfStretch>(at, s * kVectorsOfStretch, granules);
      }
#pragma unroll
      for (int i = 0; i < kVectorsOfStretch; ++i) {
        Granule& granule = vectors[s * kVectorsOfStretch + i];
        granule = combine(granule, granules[i]);
      }
    }
    beside_ = combine(beside_, beside);
  }

  /// Before Finish: writes what is held of `row` as the row at `to`, which begins as far behind a granule.
  template <typename Group>
  __device__ __forceinline__ void StoreAsItLies(const Group& group, const RowSource<T>& row, T* to) {
    PlaceEnd(group, row);
    const GranulesOf<T, Group> at(group, to, row.count);
    Writer<Group>(group, at, row.count).PutAll(group, vectors, beside_);
  }

  /// What the group could hold beyond the row's end becomes the fill. `Fill` must be that of Begin.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    PlaceEnd(group, row);
    WithKnownShift<T>(OddBytesOf(row.data), [&](auto words, unsigned bits) { MoveDown<words>(group, bits); });
    if constexpr (kWhole) {
      FillVectorsBeyond(group, row.count, Filled<Granule>(Fill::template Value<T>()));
    } else {
      this->template FillBeyond<kFirstThatEnds<Group>>(group, row.count, Fill::template Value<T>());
    }
  }

  /// Writes result(v, index) as this thread's vector `v`, which begins at element `index`, of the row of `count`
  /// elements at `to`. Where index >= count it may be asked for, too, but is not written.
  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* /*place*/,
                                               const Result& result) {
    const GranulesOf<T, Group> at(group, to, count);
    Writer<Group> writer(group, at, count);
    if constexpr (kInTurn) {
      WithKnownShift<T>(at.odd, [&](auto words, unsigned bits) {
        Granule last{};
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          Granule granule = result(v, IndexOf(group, v));
          MoveUp<words>(group, bits, granule, last);
          writer.Put(v, granule);
          if (!writer.is_whole) {
            writer.KeepEnd(v, granule);
          }
        }
        writer.End(group, RestOf(last, bits));
      });
    } else {
      // As little as can be is in each of the four ways: the compiler finds registers for it, and a multiprocessor
      // whose rows begin by turns, and which runs all of them, waits less for instructions.
      Granule granules[kVectors];
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        granules[v] = result(v, IndexOf(group, v));
      }
      Granule rest;
      WithKnownShift<T>(at.odd, [&](auto words, unsigned bits) {
        Granule last{};
#pragma unroll
        for (Granule& granule : granules) {
          MoveUp<words>(group, bits, granule, last);
        }
        rest = RestOf(last, bits);
      });
      writer.PutAll(group, granules, rest);
    }
  }

 private:
  template <typename Element, typename Group>
  using GranulesOf = RowGranules<Layout, Element, Group>;
  template <typename Group>
  using Writer = GranuleWriter<Layout, T, Group, kFirstThatEnds<Group>>;

  /// Of the first lane: the granule behind the lanes' last ones, if it has anything of theirs.
  template <typename Group>
  static __device__ __forceinline__ Granule FollowingOf(const Group& group, const GranulesOf<const T, Group>& at) {
    const auto* const behind = at.base + kVectors * at.kStep;
    const bool is_wanted = at.HasFollowing(group);
    Granule following{};
    if constexpr (sizeof(T) == 2) {
      LoadGranuleIf(is_wanted, behind, following);
    } else {
      // A register that nobody reads would be given away while its word is on the way, and that waited for.
      constexpr int kWordsThatAreRead = sizeof(T) == 4 ? 3 : 2;
#pragma unroll
      for (int w = 0; w < kWordsThatAreRead; ++w) {
        Word word{};
        LoadWordIf(is_wanted, behind + 4 * w, word);
        following.words[w] = word.words[0];
      }
    }
    return following;
  }

  /// That of a tensor's last row, as much as belongs to its vectors, or what it has of the granule that it ends in: all
  /// that is not read in whole granules. Nothing else is on its way to the same registers: rows would wait for that,
  /// and a small tensor takes as long as its last row.
  template <typename Group>
  static __device__ __forceinline__ Granule EndOf(const Group& group, const GranulesOf<const T, Group>& at) {
    const int bytes = at.BytesBesideVectors(group);
    return LoadGranuleBegin<T>(at.base + at.OfBesideVectors(group, bytes), bytes);
  }

  /// A lane's granules from the `first` on, of a row that nothing lies behind: elements of whole words, one by one.
  template <typename Group, int kGranules>
  static __device__ __forceinline__ void LoadWords(const GranulesOf<const T, Group>& at, int first, Granule* granules) {
#pragma unroll
    for (int i = 0; i < 4 * kGranules; ++i) {
      const int begin = (first + i / 4) * at.kStep + i % 4 * 4;
      Word word{{granules[i / 4].words[i % 4]}};
      LoadWordIf(at.left >= begin + 4, at.base + begin, word);
      granules[i / 4].words[i % 4] = word.words[0];
    }
  }

  /// Either from a copy of what a warp reads.
  template <typename Group>
  static __device__ __forceinline__ Granule BesideFrom(const Group& group, const GranulesOf<const T, Group>& at,
                                                       bool has_after, const Granule* copy) {
    Granule beside{};
    if (has_after) {
      if (at.HasFollowing(group)) {
        beside = copy[32 * kVectors];
      }
    } else if (const int bytes = at.BytesBesideVectors(group); bytes > 0) {
      const Granule& from = copy[at.OfBesideVectors(group, bytes) / at.kStep * 32 + group.lane()];
      beside = from;
      beside.words[3] = from.words[bytes / 4];  // as EndOf has half a word
    }
    return beside;
  }

  /// Before granules are moved, or written: that one takes its place among them.
  template <typename Group>
  __device__ __forceinline__ void PlaceEnd(const Group& group, const RowSource<T>& row) {
    if (kEndsBeside && !row.has_after) {
      const GranulesOf<const T, Group> at(group, row.data, row.count);
      const int bytes = at.BytesBesideVectors(group);
      const int place = bytes > 0 ? at.OfBesideVectors(group, bytes) : -1;
      PlaceHalfWord<T>(bytes, beside_);
#pragma unroll
      for (int v = kFirstThatEnds<Group>; v < kVectors; ++v) {
        ReplaceIf(place == v * at.kStep, beside_, vectors[v]);
      }
    }
  }

  /// From granules as memory has them to vectors of the row.
  template <int kWords, typename Group>
  __device__ __forceinline__ void MoveDown(const Group& group, unsigned bits) {
    constexpr int kPassed = kWords + (sizeof(T) == 2 ? 1 : 0);  // words of the next lane's granule
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const Granule& next = v + 1 == kVectors ? beside_ : vectors[(v + 1) % kVectors];
      unsigned words[4 + kPassed];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        words[w] = vectors[v].words[w];
      }
#pragma unroll
      for (int w = 0; w < kPassed; ++w) {
        const unsigned from = group.lane() == 0 ? next.words[w] : vectors[v].words[w];
        words[4 + w] = FromLane(group, from, group.lane() + 1);
      }
      vectors[v] = ShiftedDown<T>(words + kWords, bits);
    }
  }

  template <typename Group>
  __device__ __forceinline__ void FillVectorsBeyond(const Group& group, int count, const Granule& fill) {
    if (!HasWhole(group, kStretches - 1, count)) {
#pragma unroll
      for (int v = kFirstThatEnds<Group>; v < kVectors; ++v) {
        ReplaceIf(IndexOf(group, v) >= count, fill, vectors[v]);
      }
    }
  }

  /// From a vector of the row to a granule as memory has it. `last`: what the vector before leaves for the first lane;
  /// then what this one leaves.
  template <int kWords, typename Group>
  static __device__ __forceinline__ void MoveUp(const Group& group, unsigned bits, Granule& granule, Granule& last) {
    constexpr int kPassed = kWords + (sizeof(T) == 2 ? 1 : 0);  // the last words of the lane before
    unsigned words[kPassed + 4];
#pragma unroll
    for (int w = 0; w < kPassed; ++w) {
      const unsigned passed = FromLane(group, granule.words[4 - kPassed + w], group.lane() + Group::kLanes - 1);
      words[w] = group.lane() == 0 ? last.words[w] : passed;
      last.words[w] = passed;
    }
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      words[kPassed + w] = granule.words[w];
    }
    granule = ShiftedUp<T>(words, bits);
  }

  /// What vectors leave for a granule of which they have the beginning.
  static __device__ __forceinline__ Granule RestOf(const Granule& last, unsigned bits) {
    const unsigned words[] = {last.words[0], last.words[1], last.words[2], last.words[3], 0};
    return ShiftedUp<T>(words, bits);
  }

  template <typename Group>
  static __device__ __forceinline__ unsigned FromLane(const Group& group, unsigned word, int lane) {
    return __shfl_sync(group.members(), word, lane % Group::kLanes, Group::kLanes);
  }

  Granule beside_;  // see RowGranules
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHIFTED_CUH_

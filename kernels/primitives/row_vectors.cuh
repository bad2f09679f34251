// A row in the registers of the group that works on it, and its way from and to memory in accesses of 16 bytes,
// wherever the row begins.
//
// The row is cut into vectors of 16 bytes. Lanes that can shuffle with each other hold a stretch of neighbouring ones:
// first one each, then the next one each, and so on. That follows from type, width and group alone. Most rows
// that are no whole number of vectors are held in words instead (row_words.cuh).
//
// Rows that are not plain (a caller's pointer, a width that is no whole number of vectors) pass through shared memory
// (stretch_space.cuh); where all that is unusual of a launch is where its tensors begin, or a block has a row for each
// result, they are moved in registers instead (row_shifted.cuh), unless in such other launches it looks ahead and they
// are wider than 16 bits.
//
// What all layouts of a row have in common is here, too (RowSource, RowLayout), which nobody needs without one of them:
// hence the length of this file.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_VECTORS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_VECTORS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/minus_infinity.h"
#include "kernels/primitives/stretch_space.cuh"

namespace kernelwire {

class BlockGroup;  // row_group.cuh

/// A row of `count` elements as its reader sees it. `has_before`, `has_after`: at least as much of its tensor lies
/// there as a read of 16 bytes may reach beyond the row.
template <typename T>
struct RowSource {
  const T* data;
  int count;
  bool has_before;
  bool has_after;
};

/// Row `index` of `rows` rows that begin `stride` elements apart.
template <typename T>
__device__ __forceinline__ RowSource<T> RowSourceAt(const void* tensor, std::int64_t index, std::int64_t rows,
                                                    std::int64_t stride, std::int64_t width) {
  constexpr int kReach = kElementsOfGranule<T> - 1;
  return {static_cast<const T*>(tensor) + index * stride, static_cast<int>(width), index * stride >= kReach,
          (rows - 1 - index) * stride >= kReach};
}

/// A row of an operator with one input and one result, which begins at `y`. The functions: see row_tile.cuh.
template <typename T, typename Out>
struct RowAndResult {
  RowSource<T> x;
  Out* y;

  template <typename F>
  __device__ __forceinline__ void ForEachInput(const F& f) {
    f(0, x);
  }
  template <typename F>
  __device__ __forceinline__ void ForEachOutput(const F& f) {
    f(0, y);
  }
};

/// What fills the vectors beyond a row's end.
struct FillZero {
  template <typename T>
  static __device__ __forceinline__ T Value() {
    return Narrow<T>(0.0F);
  }
};

struct FillMinusInfinity {
  template <typename T>
  static __device__ __forceinline__ T Value() {
    return Narrow<T>(kMinusInfinity<float>);
  }
};

/// Where the elements of a row are that a thread holds: in vectors of a Unit each. `kVectorsTogether` of them are
/// summed before lanes meet (row_group.cuh).
template <typename T, typename UnitOfVector, int kVectorsOfThread, int kVectorsTogether>
struct RowPlan {
  using Element = T;
  using Unit = UnitOfVector;
  static constexpr int kVectors = kVectorsOfThread;
  static constexpr int kLength = kElementsOf<T, Unit>;
  static constexpr int kHeld = kVectors * kLength;  // elements of a thread
  static constexpr int kVectorsOfStretch = kVectorsTogether;
  static constexpr int kStretches = (kVectors + kVectorsOfStretch - 1) / kVectorsOfStretch;
  /// The vector behind stretch `s`, of which the last may have fewer. (A minimum, so that compilers know how long loops
  /// are before they know s.)
  static __host__ __device__ constexpr int EndOfStretch(int s) {
    return (s + 1) * kVectorsOfStretch < kVectors ? (s + 1) * kVectorsOfStretch : kVectors;
  }
  /// Whether rows are moved in registers on their way out, which leaves fewer for parameters.
  static constexpr bool kMoves = false;
  /// Whether rows may be combined, and written, before they are moved (CombineAsTheyLie, StoreAsItLies).
  static constexpr bool kCombinesAsItLies = false;
  /// Whether vectors lie in shared memory, and are read at each use (row_in_shared.cuh).
  static constexpr bool kInShared = false;
  /// Whether some of what a lane has belongs to its neighbour (row_words_unmoved.cuh).
  static constexpr bool kUnmoved = false;
  /// A row ends behind a multiple of so many elements of a vector.
  static constexpr int kGrain = 1;

  /// Where this thread's vector `v` begins, in elements from the first that the group holds.
  template <typename Group>
  static __device__ __forceinline__ int IndexOf(const Group& group, int v) {
    constexpr int kLanes = Group::kLanes;
    return ((group.rank() - group.lane()) * kVectors + v * kLanes + group.lane()) * kLength;
  }

  /// Where stretch `s` of this thread's lanes begins.
  template <typename Group>
  static __device__ __forceinline__ int FirstOf(const Group& group, int s) {
    return IndexOf(group, s * kVectorsOfStretch) - group.lane() * kLength;
  }

  /// Elements from the beginning of one of a thread's vectors to that of the next.
  template <typename Group>
  static constexpr int kStep = Group::kLanes* kLength;

  /// An address that others are at fixed distances from, which the compiler keeps as such: one register for all.
  template <typename Pointer>
  static __device__ __forceinline__ Pointer Pinned(Pointer address) {
    asm volatile("" : "+l"(address));
    return address;
  }

  /// Whether the group's lanes have all that they can of stretch `s` in a row of `count` elements.
  template <typename Group>
  static __device__ __forceinline__ bool HasWhole(const Group& group, int s, int count) {
    return count - FirstOf(group, s) >= (EndOfStretch(s) - s * kVectorsOfStretch) * kStep<Group>;
  }

  /// Whether no end need be looked for in all that this thread can hold of a row of `count` elements; see RowWords.
  template <typename Group>
  static __device__ __forceinline__ constexpr bool IsFull(const Group& /*group*/, int /*count*/) {
    return false;
  }
};

/// The same in registers.
template <typename T, typename UnitOfVector, int kVectorsOfThread, int kVectorsTogether>
struct RowLayout : RowPlan<T, UnitOfVector, kVectorsOfThread, kVectorsTogether> {
  UnitOfVector vectors[kVectorsOfThread];

  /// To be called where elements that have been used outlive a reduction. FP16 elements are halves of registers in
  /// machine code, too: ptxas, which sees through Opaque, would keep them apart, in twice as many registers, unless
  /// words might have changed.
  __device__ __forceinline__ void StayPacked() { StayPacked(std::is_same_v<T, __half> ? UnknownZero() : 0); }
  /// `zero`: UnknownZero() for others, too, that an instruction for pairs of them has made.
  __device__ __forceinline__ void StayPacked(unsigned zero) {
    if constexpr (sizeof(vectors) > 32) {  // there are registers for all elements of fewer
#pragma unroll
      for (UnitOfVector& vector : vectors) {
#pragma unroll
        for (unsigned& word : vector.words) {
          word ^= zero;
        }
        Opaque(vector);
      }
    }
  }
};

/// The same of vectors of 16 bytes.
template <typename T, int kVectorsOfThread>
struct VectorLayout : RowLayout<T, Granule, kVectorsOfThread, (kVectorsOfThread < 4 ? kVectorsOfThread : 4)> {
  using Layout = RowLayout<T, Granule, kVectorsOfThread, (kVectorsOfThread < 4 ? kVectorsOfThread : 4)>;
  using Layout::HasWhole;
  using Layout::IndexOf;
  using Layout::kLength;
  using Layout::kStretches;
  using Layout::kVectorsOfStretch;
  using Layout::vectors;

  /// What the group could hold beyond the end of a row of `count` elements becomes `fill`. `kFirst`: the first vector
  /// of a stretch that may reach there.
  template <int kFirst, typename Group>
  __device__ __forceinline__ void FillBeyond(const Group& group, int count, T fill) {
#pragma unroll
    for (int s = 0; s < kStretches; ++s) {
      if (HasWhole(group, s, count)) {
        continue;
      }
#pragma unroll
      for (int v = s * kVectorsOfStretch + kFirst; v < Layout::EndOfStretch(s); ++v) {
        const int left = count - IndexOf(group, v);
        if (left >= kLength) {
          continue;
        }
        T elements[kLength];
        memcpy(elements, &vectors[v], sizeof(elements));
#pragma unroll
        for (int j = 0; j < kLength; ++j) {
          elements[j] = j < left ? elements[j] : fill;
        }
        memcpy(&vectors[v], elements, sizeof(elements));
      }
    }
  }
};

/// What one thread holds of a row of T. All members of the group call Begin, Finish and Store together.
///
/// `kPlainRows`: every row of the launch begins on a 16-byte boundary and is a whole number of vectors, which the host
/// knows (row_access.h). It spares registers, and changes no element's place. Other rows lie in shared memory between
/// Begin and Finish, and the vectors may still be those of another row. `kLasting`: plain rows are read
/// with CachePriority::kLong.
template <typename T, int kVectorsOfThread, bool kPlainRows, bool kLasting = false>
struct RowVectors : VectorLayout<T, kVectorsOfThread> {
  using Layout = VectorLayout<T, kVectorsOfThread>;
  using Layout::FirstOf;
  using Layout::IndexOf;
  using Layout::kLength;
  using Layout::kStretches;
  using Layout::kVectors;
  using Layout::kVectorsOfStretch;
  using Layout::Pinned;
  using Layout::vectors;
  template <typename Group>
  static constexpr int kStep = Layout::template kStep<Group>;
  static constexpr bool kPlain = kPlainRows;
  /// Whether Store is faster where all groups of a warp come along (LaneGroup::PartIf).
  static constexpr bool kStoresTogether = false;

  template <typename Group>
  using Space = StretchSpace<T, Group, kVectorsOfStretch>;
  /// Granules of shared memory that the lanes of a group need for a row on its way in, and for rows on their way out.
  template <typename Group>
  static constexpr int kGranulesIn = kPlain ? 0 : kStretches* Space<Group>::kGranules;
  template <typename Group>
  static constexpr int kGranulesOut = kPlain ? 0 : Space<Group>::kGranules;

  /// The first vector that may reach beyond a row's end. Where lanes have three vectors or more, the row would not fit
  /// into fewer (row_lanes.cc), and ends in the last. If they have two, it is as long as all of them, unless elements
  /// are of 8 bytes.
  template <typename Group>
  static constexpr int kFirstThatEnds = std::is_same_v<Group, BlockGroup> ? 0
                                        : kVectors >= 3                   ? kVectors - 1
                                        : kVectors == 2 && sizeof(T) <= 4 ? 2
                                                                          : 0;
  static constexpr int kGrain = kPlain ? kLength : 1;
  template <typename Group>
  static __device__ __forceinline__ bool HasWhole(const Group& group, int s, int count) {
    return kFirstThatEnds<Group> == kVectors || Layout::HasWhole(group, s, count);
  }

  /// Asks for a row, or a stretch of one. Finish must follow before any is used; in between, memory is on its way.
  /// `priority`: none, or a CachePriority of plain rows.
  template <typename Fill, typename Group, typename... Priority>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, Granule* place,
                                        Priority... priority) {
    static_assert(kPlain || sizeof...(Priority) == 0);
    if constexpr (kPlain && kLasting) {
      BeginPlain<Fill>(group, row, CachePriority::kLong);
    } else if constexpr (kPlain) {
      BeginPlain<Fill>(group, row, priority...);
    } else {
      BeginShared(group, row, place);
    }
  }

  /// What the lanes of a warp read of a plain row, as memory has it, and as Begin does of a copy of that.
  static constexpr int kMostGranulesOfSpan = 32 * kVectors;
  template <typename Group>
  static __device__ __forceinline__ GranuleSpan SpanOf(const Group& group, const RowSource<T>& row) {
    const int first = FirstOf(group, 0);
    const int left = (row.count - first) * static_cast<int>(sizeof(T));
    return {row.data + first, max(0, min(left, 16 * kMostGranulesOfSpan)), 0};
  }
  template <typename Fill, typename Group>
  __device__ __forceinline__ void TakeFrom(const Group& group, const RowSource<T>& row, const Granule* copy) {
    const int left = row.count - IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = left > v * kStep<Group> ? copy[v * 32 + group.lane()] : Filled<Granule>(Fill::template Value<T>());
    }
  }
  /// Behind that: what is held becomes combine(it, what `copy` has of `other`), granule by granule.
  template <typename Group, typename Combine>
  __device__ __forceinline__ void CombineFrom(const Group& group, const RowSource<T>& other, const Granule* copy,
                                              const Combine& combine) {
    const int left = other.count - IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (left > v * kStep<Group>) {
        vectors[v] = combine(vectors[v], copy[v * 32 + group.lane()]);
      }
    }
  }

  /// What the group could hold beyond the row's end becomes the fill. `Fill` must be that of Begin.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, Granule* place) {
    if constexpr (!kPlain) {
      AwaitCopies();
      __syncwarp(group.members());
      TakeVectors(group, row, place);
      this->template FillBeyond<kFirstThatEnds<Group>>(group, row.count, Fill::template Value<T>());
    }
  }

  /// Writes result(v, index) as this thread's vector `v`, which begins at element `index`, of the row of `count`
  /// elements at `to`. Where index >= count it may be asked for, too, but is not written. `priority`: as for Begin.
  template <typename Group, typename Result, typename... Priority>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* place,
                                               const Result& result, Priority... priority) {
    T* const base = Pinned(to + IndexOf(group, 0));
#pragma unroll
    for (int s = 0; s < kStretches; ++s) {
      Granule results[kVectorsOfStretch];
#pragma unroll
      for (int v = s * kVectorsOfStretch; v < Layout::EndOfStretch(s); ++v) {
        const int i = v - s * kVectorsOfStretch;
        const int index = IndexOf(group, v);
        results[i] = result(v, index);
        if (kPlain && (v < kFirstThatEnds<Group> || index < count)) {
          StoreGranule(base + v * kStep<Group>, results[i], priority...);
        }
      }
      const int first = FirstOf(group, s);
      if (!kPlain && first < count) {
        Space<Group> space(group, place);
        space.Sync();
#pragma unroll
        for (int i = 0; i < kVectorsOfStretch; ++i) {
          space.Put(i, results[i]);
        }
        space.Store(to + first, count - first, count);
      }
    }
  }

 private:
  template <typename Fill, typename Group, typename... Priority>
  __device__ __forceinline__ void BeginPlain(const Group& group, const RowSource<T>& row, Priority... priority) {
    const T* const base = Pinned(row.data + IndexOf(group, 0));
    const int left = row.count - IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = Filled<Granule>(Fill::template Value<T>());
      LoadGranuleIf(v < kFirstThatEnds<Group> || left > v * kStep<Group>, base + v * kStep<Group>, vectors[v],
                    priority...);
    }
  }

  template <typename Group>
  __device__ __forceinline__ void BeginShared(const Group& group, const RowSource<T>& row, Granule* place) {
#pragma unroll
    for (int s = 0; s < kStretches; ++s) {
      const int first = FirstOf(group, s);
      if (first < row.count) {
        SpaceOf(group, place, s).Fetch(row.data + first, row.count - first, row.has_before || first > 0, row.has_after);
      }
    }
  }

  template <typename Group>
  __device__ __forceinline__ void TakeVectors(const Group& group, const RowSource<T>& row, Granule* place) {
    WithShift<T, Group::kLanes>(OddBytesOf(row.data), row.count, [&](const auto& shift) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        vectors[v] = SpaceOf(group, place, v / kVectorsOfStretch).Take(shift, v % kVectorsOfStretch);
      }
    });
  }

  template <typename Group>
  static __device__ __forceinline__ Space<Group> SpaceOf(const Group& group, Granule* place, int s) {
    return {group, place + s * Space<Group>::kGranules};
  }
};

/// Calls f(i, value) for what this thread holds of stretch `s`, widened; `i` counts its elements there.
template <typename Acc, typename Held, typename F>
__device__ __forceinline__ void ForEachElement(const Held& held, int s, const F& f) {
#pragma unroll
  for (int v = s * Held::kVectorsOfStretch; v < Held::EndOfStretch(s); ++v) {
    Acc values[Held::kLength];
    Unpack<typename Held::Element>(held.vectors[v], values);
#pragma unroll
    for (int j = 0; j < Held::kLength; ++j) {
      f((v - s * Held::kVectorsOfStretch) * Held::kLength + j, values[j]);
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_VECTORS_CUH_

// A row in the registers of the group that works on it, in vectors of 16 bytes as memory has them, wherever the row
// begins: what blocks hold a row in that is no whole number of vectors and too long for words (row_words.cuh), where
// that is faster than to pass through shared memory (row_tuning.h).
//
// A vector that begins with an element of the row would have to be put together from two granules of memory, and taken
// apart again for the result. Here threads have the granules themselves. The row begins `offset` elements behind the
// first one's boundary, and every element is at its place in its granule ("slot") from the read to the write; only the
// first granule and the last are not the row's alone.
//
// Which thread has an element, and in which slot, so depends on where the row begins, and bits must not. They do not:
//  - Each of a warp's slots has every 256th element of 16 bits (every 128th of 32), and adds up its own, in order. The
//    elements that offset pushes out behind a warp's last granule are kept in the slots of its first one that lie
//    before its first element: those have, too, every 256th element. So a warp has the same elements wherever the row
//    begins, and sums over the same ones of them, but they lie in slots that are turned by `offset`.
//  - A lane's slots are then summed from the last to the first one, in the order that they have without an offset: the
//    first slots of a lane, whose elements belong to the lane before, are summed there, passed on to it, and the sum
//    goes on from there (Join). From then on no value depends on the offset.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_GRANULES_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_GRANULES_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/granule_shift.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// Elements between the granule that an address lies in and itself.
template <typename T>
__device__ __forceinline__ int OffsetOf(const T* at) {
  return OddBytesOf(at) / static_cast<int>(sizeof(T));
}

/// Slots [begin, end) of the granule's worth at `from`, and zeros, one by one. Reads nothing else.
template <typename T>
__device__ __forceinline__ Granule LoadSlots(const T* from, int begin, int end) {
  __builtin_assume(__isGlobal(from));
  T slots[kElementsOfGranule<T>];
#pragma unroll
  for (int j = 0; j < kElementsOfGranule<T>; ++j) {
    slots[j] = Narrow<T>(0.0F);
    if (begin <= j && j < end) {
      slots[j] = from[j];
    }
  }
  Granule granule;
  memcpy(&granule, slots, sizeof(granule));
  return granule;
}

/// Elements [index, index + kElementsOfGranule<T>) of the `count` of a row that begins anywhere, as far as it has them.
/// Out of line, for rows whose result begins elsewhere in its granule.
template <typename T>
__device__ __noinline__ Granule LoadMoved(const T* row, int count, int index) {
  constexpr int kLength = kElementsOfGranule<T>;
  if (index < kLength || index > count - 2 * kLength) {
    return LoadSlots(row + index, -index, count - index);
  }
  const unsigned odd = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row + index) % 8);
  const auto* const pairs = reinterpret_cast<const uint2*>(reinterpret_cast<const char*>(row + index) - odd);
  return FromPairs<T>(pairs[0], pairs[1], pairs[2], odd >= 4, odd % 4 * 8);
}

/// Before LoadMoved of `vectors` vectors, `step` elements apart from `index` on: they come one after another, in few
/// registers, but are on their way to the second-level cache together. Out of line, too.
template <typename T>
__device__ __noinline__ void PrefetchMoved(const T* row, int count, int index, int step, int vectors) {
#pragma unroll 1
  for (int v = 0; v < vectors && index < count; ++v, index += step) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(row + index));
  }
}

/// Writes slots [begin, end) of a granule's worth to `to`, and nothing else.
template <typename T>
__device__ __forceinline__ void StoreSlots(T* to, const Granule& granule, int begin, int end) {
  constexpr int kOfWord = 4 / static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (begin <= i * kOfWord && (i + 1) * kOfWord <= end) {
      StoreWord(to + i * kOfWord, granule.words[i]);
    }
    if (kOfWord == 2 && begin == 2 * i + 1 && begin < end) {
      StoreHalfWord(to + 2 * i + 1, granule.words[i] >> 16);
    }
    if (kOfWord == 2 && end == 2 * i + 1 && begin < end) {
      StoreHalfWord(to + 2 * i, granule.words[i]);
    }
  }
}

/// What one thread of a block holds of a row of T. All of them call Begin, Finish, Join and Store together.
///
/// `kAlike`: all rows of a launch that belong together have the same offset, which the host knows (IsUsual in
/// row_access.h).
template <typename T, int kVectorsOfThread, bool kAlike>
struct RowGranules : RowLayout<T, Granule, kVectorsOfThread, 4> {
  static_assert(sizeof(T) <= 4);
  using Layout = RowLayout<T, Granule, kVectorsOfThread, 4>;
  using Layout::HasWhole;
  using Layout::IndexOf;
  using Layout::kLength;
  using Layout::kStretches;
  using Layout::kVectors;
  using Layout::kVectorsOfStretch;
  using Layout::Pinned;
  using Layout::vectors;
  template <typename Group>
  static constexpr int kStep = Layout::template kStep<Group>;
  static constexpr bool kPlain = false;
  static constexpr bool kAsItLies = true;
  static constexpr bool kStoresTogether = false;
  template <typename Group>
  static constexpr int kFirstThatEnds = 0;
  /// A chain of sums of each slot.
  static constexpr int kChains = kLength;
  /// No shared memory.
  template <typename Group>
  static constexpr int kGranulesIn = 0;
  template <typename Group>
  static constexpr int kGranulesOut = 0;

  /// Before Begin: the row's result will begin at `anchor`, and its granules are what counts.
  __device__ __forceinline__ void Place(const T* anchor) { offset_ = OffsetOf(anchor); }
  __device__ __forceinline__ int Offset() const { return offset_; }

  /// Asks for a row. Finish must follow before any is used; in between, memory is on its way.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    if (!kAlike && OffsetOf(row.data) != offset_) {
      BeginMoved(group, row);
      return;
    }
    const T* const base = Pinned(row.data + (IndexOf(group, 0) - offset_));
    const int left = row.count + offset_ - IndexOf(group, 0);  // to the row's end, from the first granule's beginning
    const int readable = row.has_after ? left - 1 : left - kLength;
    const bool has_first = row.has_before || offset_ == 0 || IndexOf(group, 0) > 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = Filled<Granule>(Fill::template Value<T>());
      LoadGranuleIf(readable >= v * kStep<Group> && (v > 0 || has_first), base + v * kStep<Group>, vectors[v]);
    }
    following_ = Granule{};
    LoadGranuleIf(Wraps(group) && readable >= kVectors * kStep<Group>, base + kVectors * kStep<Group>, following_);
    if (!row.has_before || !row.has_after) {
      LoadEnds(group, row, has_first);
    }
  }

  /// What the group could hold beyond the row's end becomes the fill. `Fill` must be that of Begin.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    const Granule mask = MaskOf(group);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = Blend(mask, v + 1 == kVectors ? following_ : vectors[(v + 1) % kVectors], vectors[v]);
    }
    FillBeyond(group, row.count, Fill::template Value<T>());
  }

  /// From sums of a stretch by slot to this lane's one.
  template <typename Sum, typename Group, typename Add>
  __device__ __forceinline__ Sum Join(const Group& /*group*/, const Sum (&of_slots)[kLength], const Add& add) const {
    Sum sum{};
#pragma unroll
    for (int j = kLength - 1; j >= 0; --j) {
      sum = j < offset_ ? add(sum, of_slots[j]) : sum;
    }
    sum = __shfl_sync(0xFFFFFFFFU, sum, static_cast<int>(threadIdx.x + 1) % 32);
#pragma unroll
    for (int j = kLength - 1; j >= 0; --j) {
      sum = j >= offset_ ? add(sum, of_slots[j]) : sum;
    }
    return sum;
  }

  /// Whether slot `j` of vector `v` has an element of a row of `count`.
  template <typename Group>
  __device__ __forceinline__ bool Has(const Group& group, int v, int j, int count) const {
    return SlotsLeft(group, v, count) > (Wraps(group) && j < offset_ ? j + kStep<Group> : j);
  }

  /// Writes result(v, index) as this thread's vector `v`, whose slots are elements index, index + 1, ..., but for
  /// Wrapped ones, of the row of `count` elements at `to`. Where there are none it may be asked for, too, but is not
  /// written.
  template <typename Group, typename Result>
  __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* /*place*/,
                                        const Result& result) const {
    if (!kAlike && OffsetOf(to) != offset_) {
      StoreMoved(group, to, count, result);
      return;
    }
    const Granule mask = MaskOf(group);
    const bool wraps = Wraps(group);
    T* const base = Pinned(to + (IndexOf(group, 0) - offset_));
    const int left = count + offset_ - IndexOf(group, 0);
    Granule before{};
    Granule last{};  // that of this lane, if any, in which the row ends
    int last_at = -1;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const Granule vector = result(v, IndexOf(group, v) - offset_);
      const Granule lying = Blend(mask, before, vector);
      if (left >= v * kStep<Group> + kLength && (v > 0 || !wraps)) {
        StoreGranule(base + v * kStep<Group>, lying);
      }
      if (v == 0 && wraps) {
        StoreSlots(base, lying, offset_, min(kLength, left));
      }
      const bool ends = left > v * kStep<Group> && left < v * kStep<Group> + kLength && (v > 0 || !wraps);
      ReplaceIf(ends, lying, last);
      last_at = ends ? v * kStep<Group> : last_at;
      before = vector;
    }
    if (last_at >= 0) {
      StoreSlots(base + last_at, last, 0, left - last_at);
    }
    if (wraps) {
      StoreSlots(base + kVectors * kStep<Group>, before, 0, min(offset_, left - kVectors * kStep<Group>));
    }
  }

  /// How many elements behind its place a slot before `offset` of this lane has its element.
  template <typename Group>
  __device__ __forceinline__ int Wrapped(const Group& group) const {
    return Wraps(group) ? kStep<Group> : 0;
  }

 private:
  /// Whether this lane has slots whose elements lie behind the granules of all lanes.
  template <typename Group>
  __device__ __forceinline__ bool Wraps(const Group& group) const {
    return group.lane() == 0 && offset_ != 0;
  }
  /// Slots that a row of `count` elements fills from the beginning of vector `v` on.
  template <typename Group>
  __device__ __forceinline__ int SlotsLeft(const Group& group, int v, int count) const {
    return count + offset_ - IndexOf(group, v);
  }

  /// Ones in the slots of a lane that wraps.
  template <typename Group>
  __device__ __forceinline__ Granule MaskOf(const Group& group) const {
    const int slots = Wraps(group) ? offset_ : 0;
    Granule mask;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int bits = (slots * static_cast<int>(sizeof(T)) - 4 * i) * 8;
      mask.words[i] = bits <= 0 ? 0U : bits >= 32 ? 0xFFFFFFFFU : 0xFFFFU;
    }
    return mask;
  }
  /// `a` where the mask has ones, else `b`.
  static __device__ __forceinline__ Granule Blend(const Granule& mask, const Granule& a, const Granule& b) {
    Granule blended;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      blended.words[i] = (a.words[i] & mask.words[i]) | (b.words[i] & ~mask.words[i]);
    }
    return blended;
  }

  /// The granules that are not read because not all of them may be: of the first row of a tensor and of the last.
  template <typename Group>
  __device__ __forceinline__ void LoadEnds(const Group& group, const RowSource<T>& row, bool has_first) {
    const T* const base = row.data + (IndexOf(group, 0) - offset_);
    const int left = row.count + offset_ - IndexOf(group, 0);
    if (!has_first) {
      vectors[0] = LoadSlots(base, offset_, left);
    }
    if (!row.has_after && left > 0 && left % kLength != 0) {
      const int at = left / kLength * kLength;
      const bool is_mine = at % kStep<Group> == 0 && at <= (Wraps(group) ? kVectors : kVectors - 1) * kStep<Group>;
      if (is_mine && (at > 0 || has_first)) {
        const Granule last = LoadSlots(base + at, 0, left - at);
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          ReplaceIf(at == v * kStep<Group>, last, vectors[v]);
        }
        ReplaceIf(at == kVectors * kStep<Group>, last, following_);
      }
    }
  }

  template <typename Group>
  __device__ __forceinline__ void BeginMoved(const Group& group, const RowSource<T>& row) {
    PrefetchMoved(row.data, row.count, IndexOf(group, 0), kStep<Group>, kVectors);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = LoadMoved(row.data, row.count, IndexOf(group, v) - offset_);
    }
    following_ = LoadMoved(row.data, row.count, IndexOf(group, 0) + kVectors * kStep<Group> - offset_);
  }

  template <typename Group, typename Result>
  __device__ __forceinline__ void StoreMoved(const Group& group, T* to, int count, const Result& result) const {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int index = IndexOf(group, v) - offset_;
      const Granule vector = result(v, index);
      T elements[kLength];
      memcpy(elements, &vector, sizeof(elements));
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        if (Has(group, v, j, count)) {
          to[index + j + (j < offset_ ? Wrapped(group) : 0)] = elements[j];
        }
      }
    }
  }

  template <typename Group>
  __device__ __forceinline__ void FillBeyond(const Group& group, int count, T fill) {
#pragma unroll
    for (int s = 0; s < kStretches; ++s) {
      if (HasWhole(group, s, count)) {
        continue;
      }
#pragma unroll
      for (int v = s * kVectorsOfStretch; v < (s + 1) * kVectorsOfStretch; ++v) {
        T elements[kLength];
        memcpy(elements, &vectors[v], sizeof(elements));
#pragma unroll
        for (int j = 0; j < kLength; ++j) {
          elements[j] = Has(group, v, j, count) ? elements[j] : fill;
        }
        memcpy(&vectors[v], elements, sizeof(elements));
      }
    }
  }

  int offset_;
  Granule following_;  // of a lane that wraps: the granule behind those of all lanes
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_GRANULES_CUH_

// A row in the registers of a block that works on it, in vectors of 16 bytes, wherever the row begins.
//
// Memory has granules, 16 bytes on a 16-byte boundary, and a lane reads and writes those: what a row shares with its
// neighbours is read with it. A vector of a row that begins elsewhere lies across two granules, which neighbouring
// lanes have, so a vector is put together from a lane's own granule and some words of its neighbour's, which a shuffle
// brings, and taken apart in the same way. Nothing passes through shared memory. All lanes of a warp have the same row,
// so the distance is one of four ways through the code, and registers are chosen when that is compiled.
//
// Elements are at the places that row_vectors.cuh gives them.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHIFTED_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHIFTED_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/granule_edge.cuh"
#include "kernels/primitives/granule_shift.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// What one thread holds of a row of T. All members of the group call Begin, Finish and Store together.
template <typename T, int kVectorsOfThread>
struct ShiftedVectors : VectorLayout<T, kVectorsOfThread> {
  using Layout = VectorLayout<T, kVectorsOfThread>;
  using Layout::HasWhole;
  using Layout::IndexOf;
  using Layout::kStretches;
  using Layout::kVectors;
  using Layout::kVectorsOfStretch;
  using Layout::Pinned;
  using Layout::vectors;
  static constexpr bool kPlain = false;
  static constexpr bool kMoves = true;
  static constexpr bool kStoresTogether = false;
  template <typename Group>
  static constexpr int kGranulesIn = 0;
  template <typename Group>
  static constexpr int kGranulesOut = 0;
  template <typename Group>
  static constexpr int kFirstThatEnds = 0;

  /// Asks for a row. Finish must follow before any is used; in between, memory is on its way.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    static_assert(Group::kLanes == 32);
    const GranulesOf<const T> at(group, row.data, row.count);
    const int readable = row.has_after ? at.left + 15 : at.left;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = Filled<Granule>(Fill::template Value<T>());
      LoadGranuleIf(readable >= v * kStepBytes + 16 && (v > 0 || at.begin >= 0 || row.has_before),
                    at.base + v * kStepBytes, vectors[v]);
    }
    following_ = Granule{};
    LoadGranuleIf(group.lane() == 0 && at.odd != 0 && readable >= kVectors * kStepBytes + 16,
                  at.base + kVectors * kStepBytes, following_);
    if (!row.has_before || !row.has_after) {
      BeginEdges(group, row, at);
    }
  }

  /// What the group could hold beyond the row's end becomes the fill. `Fill` must be that of Begin.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    const int odd = OddBytesOf(row.data);
    if (odd != 0) {
      WithKnownShift<T>(odd, [&](auto words, unsigned bits) { MoveDown<words>(group, bits); });
    }
    this->template FillBeyond<0>(group, row.count, Fill::template Value<T>());
  }

  /// Writes result(v, index) as this thread's vector `v`, which begins at element `index`, of the row of `count`
  /// elements at `to`. Where index >= count it may be asked for, too, but is not written.
  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* /*place*/,
                                               const Result& result) {
    const GranulesOf<T> at(group, to, count);
    WithKnownShift<T>(at.odd, [&](auto words, unsigned bits) { StoreMoved<words>(group, at, bits, result); });
  }

 private:
  static constexpr int kStepBytes = 32 * 16;  // from one of a lane's granules to the next

  /// The granules that a lane reads or writes of the row of `count` elements at `row`.
  template <typename Element>
  struct GranulesOf {
    using Byte = std::conditional_t<std::is_const_v<Element>, const unsigned char, unsigned char>;
    int odd;    // bytes that the row begins behind a granule
    int begin;  // of the first, in bytes from the row's beginning on
    int left;   // from there to the row's end
    Byte* base;

    template <typename Group>
    __device__ __forceinline__ GranulesOf(const Group& group, Element* row, int count)
        : odd(OddBytesOf(row)),
          begin(IndexOf(group, 0) * static_cast<int>(sizeof(T)) - odd),
          left(count * static_cast<int>(sizeof(T)) - begin),
          base(Pinned(reinterpret_cast<Byte*>(row) + begin)) {}
  };

  /// Of a row at an end of its tensor: the elements of granules that reach beyond that, one by one.
  template <typename Group>
  __device__ __forceinline__ void BeginEdges(const Group& group, const RowSource<T>& row,
                                             const GranulesOf<const T>& at) {
    const bool begins = at.begin < 0 && !row.has_before;
    if (begins) {
      vectors[0] = LoadPartOfGranule<T>(at.base, at.odd, min(at.left, 16));
    }
    const int last = at.left / kStepBytes;
    const int rest = at.left % kStepBytes;
    if (!row.has_after && rest > 0 && rest < 16 && (last < kVectors || (last == kVectors && group.lane() == 0))) {
      const Granule end = LoadPartOfGranule<T>(at.base + last * kStepBytes, begins && last == 0 ? at.odd : 0, rest);
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        ReplaceIf(v == last, end, vectors[v]);
      }
      ReplaceIf(last == kVectors, end, following_);
    }
  }

  /// From granules as memory has them to vectors of the row.
  template <int kWords, typename Group>
  __device__ __forceinline__ void MoveDown(const Group& group, unsigned bits) {
    constexpr int kPassed = kWords + (sizeof(T) == 2 ? 1 : 0);  // words of the next lane's granule
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const Granule& next = v + 1 == kVectors ? following_ : vectors[(v + 1) % kVectors];
      unsigned words[4 + kPassed];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        words[w] = vectors[v].words[w];
      }
#pragma unroll
      for (int w = 0; w < kPassed; ++w) {
        const unsigned from = group.lane() == 0 ? next.words[w] : vectors[v].words[w];
        words[4 + w] = __shfl_sync(0xFFFFFFFFU, from, (group.lane() + 1) % 32);
      }
      vectors[v] = ShiftedDown<T>(words + kWords, bits);
    }
  }

  /// Writes granules that rows lie `kWords` words and `bits` behind. The whole of it is compiled for each distance: to
  /// choose anew for each vector would scatter the instructions, which small launches wait for.
  template <int kWords, typename Group, typename Result>
  static __device__ __forceinline__ void StoreMoved(const Group& group, const GranulesOf<T>& at, unsigned bits,
                                                    const Result& result) {
    const bool begins = group.lane() == 0 && at.odd != 0;  // what comes before belongs to another warp, or row
    Granule last{};  // what the last lane's vector before leaves for the first lane
    Granule end{};   // the row's last granule, of which it has a part
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      Granule granule = result(v, IndexOf(group, v));
      MoveUp<kWords>(group, bits, granule, last);
      const int left = at.left - v * kStepBytes;
      const bool is_first = v == 0 && begins;
      if (left >= 16 && !is_first) {
        StoreGranule(at.base + v * kStepBytes, granule);
      }
      ReplaceIf(left > 0 && left < 16 && !is_first, granule, end);
      if (is_first && left > at.odd) {
        StorePartOfGranule<T>(at.base, granule, at.odd, min(left, 16));
      }
    }
    const bool is_behind = begins && at.left > kVectors * kStepBytes;  // no other vector reaches there
    ReplaceIf(is_behind, RestOf(last, bits), end);
    const int rest = is_behind ? min(at.left - kVectors * kStepBytes, at.odd) : at.left % kStepBytes;
    if (rest > 0 && rest < 16 && (is_behind || (at.left < kVectors * kStepBytes && !(begins && at.left < 16)))) {
      StoreGranuleBegin<T>(at.base + min(at.left / kStepBytes, kVectors) * kStepBytes, end, rest);
    }
  }

  /// From a vector of the row to a granule as memory has it. `last`: what the vector before left for the first lane;
  /// then what this one leaves.
  template <int kWords, typename Group>
  static __device__ __forceinline__ void MoveUp(const Group& group, unsigned bits, Granule& granule, Granule& last) {
    constexpr int kPassed = kWords + (sizeof(T) == 2 ? 1 : 0);  // the last words of the lane before
    unsigned words[kPassed + 4];
#pragma unroll
    for (int w = 0; w < kPassed; ++w) {
      const unsigned passed = __shfl_sync(0xFFFFFFFFU, granule.words[4 - kPassed + w], (group.lane() + 31) % 32);
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

  Granule following_;  // of the first lane: the granule behind the lanes' last ones
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHIFTED_CUH_

// Where the granules lie of a row that begins anywhere, as the threads have them that move it in registers
// (row_shifted.cuh), and how they are written, of which the row's first and last may belong to its neighbours in part.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_GRANULES_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_GRANULES_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/granule_edge.cuh"
#include "kernels/primitives/granule_shift.cuh"

namespace kernelwire {

/// The granules that a lane reads or writes of a row of `count` elements at `row`. A group's lanes have one granule
/// more than vectors: the first lane has that, the following one. `Plan`: where its vectors are (RowPlan).
template <typename Plan, typename Element, typename Group>
struct RowGranules {
  using Byte = std::conditional_t<std::is_const_v<Element>, const unsigned char, unsigned char>;
  static constexpr int kVectors = Plan::kVectors;
  static constexpr int kStep = Group::kLanes * 16;  // bytes from one of a lane's granules to the next
  int odd;                                          // bytes that the row begins behind a granule
  int left;                                         // from the first on to the row's end
  Byte* base;

  __device__ __forceinline__ RowGranules(const Group& group, Element* row, int count) : odd(OddBytesOf(row)) {
    const int begin = Plan::IndexOf(group, 0) * static_cast<int>(sizeof(Element)) - odd;  // from the row's on
    left = count * static_cast<int>(sizeof(Element)) - begin;
    base = Plan::Pinned(reinterpret_cast<Byte*>(row) + begin);
  }

  /// Whether the following one has anything of the lanes' vectors.
  __device__ __forceinline__ bool HasFollowing(const Group& group) const {
    return group.lane() == 0 && odd != 0 && left > kVectors * kStep;
  }

  /// What lies less than this behind the first granule's beginning is read in a whole one: of a row that nothing lies
  /// behind (RowSource's `has_after`) those that it has all of, or none.
  __device__ __forceinline__ int LeftToWhole(bool has_after, bool else_whole) const {
    return has_after ? left : else_whole ? left - 15 : 0;
  }

  /// How many bytes a lane has, beside its own whole granules, that belong to its row: those of the following one, or
  /// of one of its own in which the row ends.
  __device__ __forceinline__ int BytesBesideVectors(const Group& group) const {
    const auto rest = static_cast<unsigned>(left) % kStep;
    const bool ends = rest < 16 && static_cast<unsigned>(left) < kVectors * kStep;
    return HasFollowing(group) ? min(left - kVectors * kStep, odd) : ends ? static_cast<int>(rest) : 0;
  }
  /// How far that granule lies behind the first.
  __device__ __forceinline__ int OfBesideVectors(const Group& group, int bytes) const {
    return HasFollowing(group) ? kVectors * kStep : left - bytes;
  }
};

/// Writes a row's granules, and of those that others have a part of, its own. `kFirstThatEnds`: of a lane's vectors the
/// first whose granule a row may end in.
template <typename Plan, typename Element, typename Group, int kFirstThatEnds>
struct GranuleWriter {
  using Granules = RowGranules<Plan, Element, Group>;
  static constexpr int kVectors = Granules::kVectors;
  static constexpr int kStep = Granules::kStep;
  const Granules& at;
  bool begins;    // with such a one, whose beginning belongs to another warp, or row
  bool is_whole;  // the row has all that the group's lanes can hold
  Granule end{};  // the row's last one, of which it has a part

  __device__ __forceinline__ GranuleWriter(const Group& group, const Granules& its, int count)
      : at(its),
        begins(group.lane() == 0 && its.odd != 0),
        is_whole(Plan::HasWhole(group, Plan::kStretches - 1, count)) {}

  __device__ __forceinline__ bool IsFirst(int v) const { return v == 0 && begins; }

  __device__ __forceinline__ void Put(int v, const Granule& granule) {
    const bool is_first = IsFirst(v);
    if (at.left >= v * kStep + 16 && !is_first) {
      StoreGranule(at.base + v * kStep, granule);
    }
    if (is_first && at.left > at.odd) {
      StorePartOfGranule<Element>(at.base, granule, at.odd, min(at.left, 16));
    }
  }
  /// Remembers vector `v`'s granule if it is the one that the row ends in.
  __device__ __forceinline__ void KeepEnd(int v, const Granule& granule) {
    if (v >= kFirstThatEnds) {
      ReplaceIf(at.left > v * kStep && at.left < v * kStep + 16 && !IsFirst(v), granule, end);
    }
  }

  /// All of a lane's granules. `rest`: see End.
  __device__ __forceinline__ void PutAll(const Group& group, const Granule (&granules)[kVectors], const Granule& rest) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      Put(v, granules[v]);
    }
    if (!is_whole) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        KeepEnd(v, granules[v]);
      }
    }
    End(group, rest);
  }

  /// `rest`: what the lanes' last vectors leave.
  __device__ __forceinline__ void End(const Group& group, const Granule& rest) {
    ReplaceIf(at.HasFollowing(group), rest, end);
    const int bytes = begins && at.left < 16 ? 0 : at.BytesBesideVectors(group);
    if (bytes > 0) {
      StoreGranuleBegin<Element>(at.base + at.OfBesideVectors(group, bytes), end, bytes);
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_GRANULES_CUH_

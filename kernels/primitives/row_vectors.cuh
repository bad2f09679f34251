// A row in the registers of the group that works on it, and its way from and to memory in accesses of 16 bytes,
// wherever the row begins.
//
// The row is cut into vectors of 16 bytes. Lanes that can shuffle with each other hold a stretch of neighbouring ones:
// first one each, then the next one each, and so on. That follows from type, width and group alone.
//
// A row that does not begin on a 16-byte boundary (an odd width, a caller's pointer) has vectors that straddle the
// aligned granules of memory, all by the same number of bytes. Such a row is read as it lies, granule by granule, and
// each vector is put together from its lane's granule and the next lane's; on the way back a lane writes the granule in
// which its vector begins, with the end of the vector before it. Only the ends of rows, and on the way back the ends of
// stretches, move element by element.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_VECTORS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_VECTORS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/granule.cuh"

namespace kernelwire {

/// A row of `count` elements as its reader sees it. Rows that do not begin on a 16-byte boundary are read in granules
/// that may reach into the memory before and after them, but never out of their tensor: `before` and `after` elements
/// of it are there, as far as a granule could reach. What lies there is read and forgotten.
template <typename T>
struct RowSource {
  const T* data;
  int count;
  int before;
  int after;
};

/// Row `index` of `rows` rows that begin `stride` elements apart.
template <typename T>
__device__ __forceinline__ RowSource<T> RowSourceAt(const void* tensor, std::int64_t index, std::int64_t rows,
                                                    std::int64_t stride, std::int64_t width) {
  constexpr std::int64_t kReach = kElementsOfGranule<T>;
  return {static_cast<const T*>(tensor) + index * stride, static_cast<int>(width),
          static_cast<int>(min(kReach, index * stride)), static_cast<int>(min(kReach, (rows - 1 - index) * stride))};
}

/// What one thread holds of a row of T. All members of the group call Begin, Finish and Store together.
///
/// `kPlainRows`: every row of the launch begins on a 16-byte boundary and is a whole number of vectors, which the host
/// knows (row_plain.h). It spares registers, and changes no element's place.
template <typename T, int kVectorsOfThread, bool kPlainRows>
struct RowVectors {
  using Element = T;
  static constexpr bool kPlain = kPlainRows;
  static constexpr int kVectors = kVectorsOfThread;
  static constexpr int kLength = kElementsOfGranule<T>;
  static constexpr int kHeld = kVectors * kLength;                       // elements of a thread
  static constexpr int kVectorsOfStretch = kVectors < 4 ? kVectors : 4;  // see row_group.cuh
  static constexpr int kStretches = kVectors / kVectorsOfStretch;

  Granule vectors[kVectors];

  /// Where this thread's vector `v` begins, in elements from the first that the group holds.
  template <typename Group>
  static __device__ __forceinline__ int IndexOf(const Group& group, int v) {
    constexpr int kLanes = Group::kLanes;
    const int lane = group.rank() % kLanes;
    return ((group.rank() - lane) * kVectors + v * kLanes + lane) * kLength;
  }

  /// Asks for a row, or a stretch of one; what the group could hold beyond its end becomes `fill`. Finish must follow
  /// before any is used; in between, memory is on its way.
  template <typename Group>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, T fill) {
    const int ahead = AheadOf(row.data);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int index = IndexOf(group, v);
      if (kPlain) {
        vectors[v] = FilledGranule(fill);
        if (index < row.count) {
          vectors[v] = LoadGranule(row.data + index);
        }
      } else {
        vectors[v] = LoadWithin(row, index - ahead, fill);
      }
    }
    if (!kPlain && ahead != 0 && group.rank() % Group::kLanes == Group::kLanes - 1) {
      beyond_ = LoadWithin(row, BeyondOf(group) - ahead, fill);
    }
  }

  /// `fill` must be that of Begin.
  template <typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, T fill) {
    if (kPlain) {
      return;
    }
    const int ahead = AheadOf(row.data);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      PatchEnds(row, IndexOf(group, v) - ahead, fill, vectors[v]);
    }
    if (ahead != 0) {
      if (group.rank() % Group::kLanes == Group::kLanes - 1) {
        PatchEnds(row, BeyondOf(group) - ahead, fill, beyond_);
      }
      Align(group, ahead);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int left = row.count - IndexOf(group, v);
      if (left < kLength) {
        vectors[v] = KeepElements(vectors[v], 0, left, fill);
      }
    }
  }

  /// Begin and Finish in one, where no thread reads elements of another one's: right also while others write theirs.
  template <typename Group>
  __device__ __forceinline__ void LoadOwn(const Group& group, const T* from, int count, T fill) {
    const bool aligned = AheadOf(from) == 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int index = IndexOf(group, v);
      vectors[v] = FilledGranule(fill);
      if (aligned && index + kLength <= count) {
        vectors[v] = LoadGranule(from + index);
      }
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int index = IndexOf(group, v);
      if (index < count && !(aligned && index + kLength <= count)) {
        vectors[v] = LoadElements(from + index, 0, count - index, fill);
      }
    }
  }

  /// To be called where the elements outlive a reduction.
  __device__ __forceinline__ void StayPacked() {
#pragma unroll
    for (Granule& vector : vectors) {
      Opaque(vector);
    }
  }

  /// Writes result(v, index) as this thread's vector `v`, which begins at element `index`, of the row of `count`
  /// elements at `to`. Where index >= count it is asked for, too, but not written.
  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, const Result& result) {
    const int ahead = AheadOf(to);
    Granule before{};
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int index = IndexOf(group, v);
      const Granule vector = result(v, index);
      if (kPlain) {
        if (index < count) {
          StoreGranule(to + index, vector);
        }
      } else if (ahead == 0) {
        StoreClipped(vector, to, index, count);
      } else {
        before = StoreShifted(group, v, before, vector, to, count, ahead);
      }
    }
  }

 private:
  static constexpr int kElementBytes = static_cast<int>(sizeof(T));

  /// Elements between a 16-byte boundary and the row's beginning.
  static __device__ __forceinline__ int AheadOf(const T* row) {
    return kPlain ? 0 : static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 16) / kElementBytes;
  }

  /// Where the granule after this thread's stretch begins.
  template <typename Group>
  static __device__ __forceinline__ int BeyondOf(const Group& group) {
    return IndexOf(group, kVectors - 1) + kLength;
  }

  /// Whether the granule that begins at element `base` lies in the row's tensor, and has something of the row.
  static __device__ __forceinline__ bool IsWithin(const RowSource<T>& row, int base) {
    return base < row.count && base >= -row.before && base + kLength <= row.count + row.after;
  }

  /// The granule at element `base`, or `fill` where it is not within. One read under a condition: were there an
  /// alternative to it, the two would have to meet, and every read be waited for. Requires: row.data + base is aligned.
  static __device__ __forceinline__ Granule LoadWithin(const RowSource<T>& row, int base, T fill) {
    Granule granule = FilledGranule(fill);
    if (IsWithin(row, base)) {
      granule = LoadGranule(row.data + base);
    }
    return granule;
  }

  /// For the first and the last granule of a tensor, which may reach out of it: reads the elements that do not.
  static __device__ __forceinline__ void PatchEnds(const RowSource<T>& row, int base, T fill, Granule& granule) {
    if (base < row.count && !IsWithin(row, base)) {
      granule = LoadElements(row.data + base, -row.before - base, row.count + row.after - base, fill);
    }
  }

  /// From granules as they lie in memory to vectors: each begins `ahead` elements into its lane's granule.
  template <typename Group>
  __device__ __forceinline__ void Align(const Group& group, int ahead) {
    const int lane = group.rank() % Group::kLanes;
    Granule next = Rotated(group, vectors[0], lane + 1);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const Granule after =
          v + 1 < kVectors ? Rotated(group, vectors[v + 1 < kVectors ? v + 1 : 0], lane + 1) : beyond_;
      vectors[v] = BytesFrom<kElementBytes>(vectors[v], lane == Group::kLanes - 1 ? after : next,
                                            static_cast<unsigned>(ahead * kElementBytes));
      next = after;
    }
  }

  static __device__ __forceinline__ void StoreClipped(const Granule& vector, T* to, int index, int count) {
    if (index + kLength <= count) {
      StoreGranule(to + index, vector);
    } else if (index < count) {
      StoreElements(vector, to + index, 0, count - index);
    }
  }

  /// `granule` of lane `lane` of the group's, which is taken modulo their number.
  template <typename Group>
  static __device__ __forceinline__ Granule Rotated(const Group& group, const Granule& granule, int lane) {
    Granule rotated;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      rotated.words[i] = __shfl_sync(group.members(), granule.words[i], lane, Group::kLanes);
    }
    return rotated;
  }

  /// `before`: the vectors v - 1, each a lane further. Returns the vectors v so. A lane writes the granule that its
  /// vector begins in; the end of its vector it leaves to the next lane, or to the first lane's next vector, if there
  /// is one.
  template <typename Group>
  static __device__ __forceinline__ Granule StoreShifted(const Group& group, int v, const Granule& before,
                                                         const Granule& vector, T* to, int count, int ahead) {
    const int index = IndexOf(group, v);
    const int lane = group.rank() % Group::kLanes;
    const Granule rotated = Rotated(group, vector, lane + Group::kLanes - 1);
    int first = 0;  // of this vector's elements that are left to be written one by one
    if (lane + v > 0 && index + kLength - ahead <= count) {
      StoreGranule(to + index - ahead, BytesFrom<kElementBytes>(lane == 0 ? before : rotated, vector,
                                                                static_cast<unsigned>(16 - ahead * kElementBytes)));
      first = kLength - ahead;
    }
    const bool last = lane == Group::kLanes - 1 && v == kVectors - 1;
    const int end = min(!last && index + 2 * kLength - ahead <= count ? kLength - ahead : kLength, count - index);
    if (first < end) {
      StoreElements(vector, to + index, first, end);
    }
    return rotated;
  }

  Granule beyond_;  // of the last lane: the granule after the stretch
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_VECTORS_CUH_

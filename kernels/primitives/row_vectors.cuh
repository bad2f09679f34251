// A row in the registers of the group that works on it, and its way from and to memory in accesses of 16 bytes,
// wherever the row begins.
//
// The row is cut into vectors of 16 bytes. Lanes that can shuffle with each other hold a stretch of neighbouring ones:
// first one each, then the next one each, and so on. That follows from type, width and group alone.
//
// A row that does not begin on a 16-byte boundary (an odd width, a caller's pointer) has vectors that straddle the
// aligned granules of memory, all by the same number of bytes. Such a row is read as it lies, granule by granule, and
// its vectors are put together from two granules each (stretch_shift.cuh); on the way back granules are put together
// from two vectors.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_VECTORS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_VECTORS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/stretch_shift.cuh"

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
    const GranuleRange readable(row);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = FilledGranule(fill);
      const int base = IndexOf(group, v) - ahead;
      if (kPlain ? base < row.count : readable.Has(base)) {
        vectors[v] = LoadGranule(row.data + base);
      }
    }
    if (!kPlain) {
      beyond_ = FilledGranule(fill);
      if (ahead != 0 && IsFirstLane(group) && readable.Has(BeyondOf(group) - ahead)) {
        beyond_ = LoadGranule(row.data + BeyondOf(group) - ahead);
      }
    }
  }

  /// `fill` must be that of Begin.
  template <typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, T fill) {
    if (kPlain) {
      return;
    }
    const int ahead = AheadOf(row.data);
    if (min(row.before, row.after) < kLength) {
      PatchEnds(group, row, ahead, fill);
    }
#pragma unroll
    for (int s = 0; s < kStretches; ++s) {
      Shift<Group> shift(group);
#pragma unroll
      for (int v = 0; v < kVectorsOfStretch; ++v) {
        shift.PutGranule(v, vectors[s * kVectorsOfStretch + v]);
      }
      if (IsFirstLane(group)) {
        shift.PutGranule(kVectorsOfStretch,
                         s + 1 < kStretches ? vectors[(s + 1) % kStretches * kVectorsOfStretch] : beyond_);
      }
      shift.TakeVectors(ahead, row.count - FirstOf(group, s), fill, vectors + s * kVectorsOfStretch);
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
    if constexpr (kPlain) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        const int index = IndexOf(group, v);
        const Granule vector = result(v, index);
        if (index < count) {
          StoreGranule(to + index, vector);
        }
      }
    } else {
#pragma unroll
      for (int s = 0; s < kStretches; ++s) {
        Granule results[kVectorsOfStretch];
#pragma unroll
        for (int i = 0; i < kVectorsOfStretch; ++i) {
          const int v = s * kVectorsOfStretch + i;
          results[i] = result(v, IndexOf(group, v));
        }
        WriteStretch(group, s, results, to, count);
      }
    }
  }

 private:
  static constexpr int kElementBytes = static_cast<int>(sizeof(T));

  template <typename Group>
  using Shift = StretchShift<T, Group, kVectorsOfStretch>;

  /// Which granules lie in the row's tensor, and have something of the row.
  struct GranuleRange {
    int first;
    unsigned count;  // of the elements that such granules begin at

    __device__ __forceinline__ explicit GranuleRange(const RowSource<T>& row)
        : first(-row.before),
          count(static_cast<unsigned>(max(min(row.count, row.count + row.after - kLength + 1) + row.before, 0))) {}

    /// For the granule that begins at element `base`. One read under one condition: were there an alternative to the
    /// read, the two would have to meet, and every read be waited for.
    __device__ __forceinline__ bool Has(int base) const { return static_cast<unsigned>(base - first) < count; }
  };

  /// Elements between a 16-byte boundary and the row's beginning.
  static __device__ __forceinline__ int AheadOf(const T* row) {
    return kPlain ? 0 : static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 16) / kElementBytes;
  }

  template <typename Group>
  static __device__ __forceinline__ bool IsFirstLane(const Group& group) {
    return group.rank() % Group::kLanes == 0;
  }

  /// Where stretch `s` of this thread's lanes begins.
  template <typename Group>
  static __device__ __forceinline__ int FirstOf(const Group& group, int s) {
    return IndexOf(group, s * kVectorsOfStretch) - group.rank() % Group::kLanes * kLength;
  }

  /// Where the granule after this thread's stretches begins.
  template <typename Group>
  static __device__ __forceinline__ int BeyondOf(const Group& group) {
    return FirstOf(group, 0) + kVectors * Group::kLanes * kLength;
  }

  /// For the first and the last granule of a tensor, which may reach out of it: reads the elements that do not.
  template <typename Group>
  __device__ __forceinline__ void PatchEnds(const Group& group, const RowSource<T>& row, int ahead, T fill) {
    const GranuleRange readable(row);
    const auto patch = [&](int base, Granule& granule) {
      if (base < row.count && !readable.Has(base)) {
        granule = LoadElements(row.data + base, -row.before - base, row.count + row.after - base, fill);
      }
    };
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      patch(IndexOf(group, v) - ahead, vectors[v]);
    }
    if (ahead != 0 && IsFirstLane(group)) {
      patch(BeyondOf(group) - ahead, beyond_);
    }
  }

  template <typename Group>
  static __device__ __forceinline__ void WriteStretch(const Group& group, int s,
                                                      const Granule (&results)[kVectorsOfStretch], T* to, int count) {
    const int ahead = AheadOf(to);
    if (ahead == 0) {
#pragma unroll
      for (int v = 0; v < kVectorsOfStretch; ++v) {
        const int index = IndexOf(group, s * kVectorsOfStretch + v);
        if (index + kLength <= count) {
          StoreGranule(to + index, results[v]);
        } else if (index < count) {
          StoreElements(results[v], to + index, 0, count - index);
        }
      }
      return;
    }
    Shift<Group> shift(group);
#pragma unroll
    for (int v = 0; v < kVectorsOfStretch; ++v) {
      shift.PutVector(v, results[v]);
    }
    shift.StoreVectors(to + FirstOf(group, s), ahead, count - FirstOf(group, s));
  }

  Granule beyond_;  // of the first lane: the granule after the last stretch
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_VECTORS_CUH_

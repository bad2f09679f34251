// From the granules of memory to the vectors of a row that begins between two of them, and back: a stretch passes
// through shared memory that belongs to its few lanes alone, whole on the way in, and is taken out 16 bytes at a time
// from where its vectors (or, on the way back, its granules) begin.
//
// Only the ends of a stretch are moved element by element, and by all lanes together.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_STRETCH_SHIFT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_STRETCH_SHIFT_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/granule.cuh"

namespace kernelwire {

/// The way of `kVectors` vectors of each lane of a Group. All lanes that share a row call together; lanes of other rows
/// may be elsewhere. A kernel may use as many of these as it likes, one after the other: they share their memory.
template <typename T, typename Group, int kVectors>
class StretchShift {
 public:
  static constexpr int kLength = kElementsOfGranule<T>;
  static constexpr int kElements = Group::kLanes * kVectors * kLength;  // of a stretch

  __device__ __forceinline__ explicit StretchShift(const Group& group)
      : members_(group.members()), lane_(group.rank() % kLanes) {
    __shared__ Granule spaces[Group::kMostThreads / kLanes * kStride];
    space_ = spaces + threadIdx.x / kLanes * kStride;
    Sync();  // what was read last is no longer needed by any lane
  }

  /// On the way in: this lane's granule `v`, as it lies in memory. One lane puts the granule after the stretch, with
  /// v = kVectors.
  __device__ __forceinline__ void PutGranule(int v, const Granule& granule) {
    space_[v < kVectors ? v * kLanes + lane_ : kLanes * kVectors] = granule;
  }

  /// Makes of the granules that were put the vectors, which begin `ahead` elements after them. The row ends after
  /// `count` elements of the stretch, which may be none or more than there are; beyond, there will be `fill`.
  __device__ __forceinline__ void TakeVectors(int ahead, int count, T fill, Granule* vectors) {
    Sync();
    const int end = ahead + count;
    if (end > 0 && end < kElements + kLength && end % kLength != 0) {
      T* const last = reinterpret_cast<T*>(space_) + end / kLength * kLength;
#pragma unroll
      for (int first = 0; first < kLength; first += kLanes) {
        const int j = first + lane_;
        if (j < kLength && j >= end % kLength) {
          last[j] = fill;
        }
      }
      Sync();
    }
    const unsigned offset = static_cast<unsigned>(ahead) * sizeof(T);
    ForEachOffset(offset, [&](auto offset_words) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        const Granule* const granule = space_ + v * kLanes + lane_;
        vectors[v] = BytesFrom<sizeof(T), decltype(offset_words)::kValue>(granule[0], granule[1], offset);
      }
    });
  }

  /// On the way back: this lane's vector `v`.
  __device__ __forceinline__ void PutVector(int v, const Granule& vector) { space_[1 + v * kLanes + lane_] = vector; }

  /// Writes the vectors that were put, but no more than `count` elements, from `to` on, which is `ahead` > 0 elements
  /// after a 16-byte boundary.
  __device__ __forceinline__ void StoreVectors(T* to, int ahead, int count) {
    Sync();
    count = min(count, kElements);
    if (count <= 0) {
      return;
    }
    // Granule i begins `ahead` elements before vector i, in memory on a boundary. The first one is the end of what
    // comes before this stretch, too; `whole` is the first one that is not filled to its end.
    const int whole = (ahead + count) / kLength;
    const unsigned offset = 16U - static_cast<unsigned>(ahead) * sizeof(T);
    ForEachOffset(offset, [&](auto offset_words) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        const int i = v * kLanes + lane_;
        if (i > 0 && i < whole) {
          StoreGranule(to - ahead + i * kLength,
                       BytesFrom<sizeof(T), decltype(offset_words)::kValue>(space_[i], space_[i + 1], offset));
        }
      }
    });
    const T* const elements = reinterpret_cast<const T*>(space_ + 1);
    const int head = min(kLength - ahead, count);
    const int tail = whole > 0 ? whole * kLength - ahead : count;
#pragma unroll
    for (int first = 0; first < kLength; first += kLanes) {
      const int j = first + lane_;
      if (j < head) {
        to[j] = elements[j];
      }
      if (j < count - tail) {
        to[tail + j] = elements[tail + j];
      }
    }
  }

 private:
  static constexpr int kLanes = Group::kLanes;
  // A granule more than a stretch. The padding keeps eight lanes in a row, which are served at a time, in eight
  // different sets of banks.
  static constexpr int kStride = kLanes * kVectors + (kLanes < 8 ? 4 : 1);

  __device__ __forceinline__ void Sync() const { __syncwarp(members_); }

  /// Calls f with how many words `offset` bytes are, as a type where all lanes of a warp have the same one: a branch
  /// then costs less than to pick words.
  template <typename F>
  __device__ __forceinline__ void ForEachOffset(unsigned offset, const F& f) const {
    if constexpr (kLanes < 32) {
      f(OffsetWords<-1>{});
    } else if (offset < 4) {
      f(OffsetWords<0>{});
    } else if (offset < 8) {
      f(OffsetWords<1>{});
    } else if (offset < 12) {
      f(OffsetWords<2>{});
    } else {
      f(OffsetWords<3>{});
    }
  }

  unsigned members_;
  int lane_;
  Granule* space_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_STRETCH_SHIFT_CUH_

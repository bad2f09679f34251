// Rows of memory that may begin anywhere, and vectors of 16 bytes: on its way from the one to the other a stretch
// passes through shared memory that belongs to its few lanes alone.
//
// Memory is read and written in granules, 16 bytes on a 16-byte boundary, as if rows began on one; what a row shares
// with its neighbours is read with it, and written element by element. Shared memory holds the granules as they lie in
// memory, and a vector is put together from two that lie side by side (granule_shift.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_STRETCH_SPACE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_STRETCH_SPACE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/granule_shift.cuh"

namespace kernelwire {

/// The place of one stretch: `kVectors` vectors of each lane of a Group, vector v of lane l being the
/// (v * kLanes + l)-th. All lanes that share a row call together; lanes of other rows may be elsewhere.
template <typename T, typename Group, int kVectors>
class StretchSpace {
 public:
  static constexpr int kLanes = Group::kLanes;
  static constexpr int kLength = kElementsOfGranule<T>;
  static constexpr int kUnits = kLanes * kVectors;
  /// Granules of a place: those of the stretch, one for what an odd beginning pushes beyond them, and as many more as
  /// keep eight lanes in different banks, where they are of several rows.
  static constexpr int kGranules = kLanes < 8 ? kUnits + 1 + (kLanes + 7 - kUnits % 8) % 8 : kUnits + 1;

  __device__ __forceinline__ StretchSpace(const Group& group, Granule* place)
      : members_(group.members()), lane_(group.lane()), place_(place) {
    __builtin_assume(__isShared(place));
  }

  /// Asks for the `count` > 0 elements of the row from `from` on, as far as the stretch reaches. `has_before`,
  /// `has_after`: see RowSource; where there is less, the elements of that granule are read one by one. What follows
  /// the row's end in the place is undefined.
  __device__ __forceinline__ void Fetch(const T* from, int count, bool has_before, bool has_after) {
    constexpr int kStep = kLanes * 16;
    Sync();  // what was read last is no longer needed by any lane
    const int odd = OddBytesOf(from);
    const int end = odd + count * static_cast<int>(sizeof(T));
    const int first = odd != 0 && !has_before ? 1 : 0;  // unit
    const auto* base = reinterpret_cast<const unsigned char*>(from) - odd + lane_ * 16;
    SharedAddress to = SharedAddressOf(place_) + static_cast<SharedAddress>(lane_ * 16);
    int left = (has_after ? end + 15 : end) / 16 - lane_;  // units from this lane's first one on
    // Kept in registers: the compiler would find each address anew.
    asm volatile("" : "+l"(base), "+r"(to), "+r"(left));
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (left > i * kLanes && (i > 0 || lane_ >= first)) {
        CopyAsync(to + i * kStep, base + i * kStep);
      }
    }
    if (odd != 0 && lane_ == 0 && left > kUnits) {
      CopyAsync(to + kVectors * kStep, base + kVectors * kStep);
    }
    if (first > 0) {
      CopyElements(from, 0, min(count, (16 - odd) / static_cast<int>(sizeof(T))));
    }
    if (!has_after && end % 16 != 0 && end / 16 <= kUnits) {
      CopyElements(from, max(0, (end / 16 * 16 - odd) / static_cast<int>(sizeof(T))), count);
    }
  }

  /// This lane's vector `v` of what was fetched from an address whose odd bytes `shift` has. Requires: AwaitCopies and
  /// Sync lie between.
  template <typename Shift>
  __device__ __forceinline__ Granule Take(const Shift& shift, int v) const {
    return shift.Apply(place_ + v * kLanes + lane_);
  }

  /// On the way out: this lane's vector `v`. Sync() must lie between an earlier Store and the first of these.
  __device__ __forceinline__ void Put(int v, const Granule& vector) { place_[v * kLanes + lane_] = vector; }

  /// Writes the vectors that were put, but no more than `count` > 0 elements, from `to` on, of a row of `width`.
  __device__ __forceinline__ void Store(T* to, int count, int width) {
    constexpr int kSize = sizeof(T);
    Sync();
    count = min(count, kUnits * kLength);
    const int odd = OddBytesOf(to);
    const int whole = (odd + count * kSize) / 16;  // granules from the first on that are filled to their end
    int left = whole - lane_;
    auto* base = reinterpret_cast<unsigned char*>(to) - odd + lane_ * 16;
    asm volatile("" : "+l"(base), "+r"(left));  // see Fetch
    const int head = odd != 0 ? 1 : 0;          // what comes before belongs to another stretch
    WithShift<T, kLanes>((16 - odd) % 16, width, [&](const auto& shift) {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        if (left > i * kLanes && (i > 0 || lane_ >= head)) {
          StoreGranule(base + i * kLanes * 16, shift.Apply(place_ + i * kLanes + lane_ - head));
        }
      }
    });
    const int end_of_head = odd != 0 ? min(count, (16 - odd) / kSize) : 0;
    const int tail = max(end_of_head, (whole * 16 - odd) / kSize);
    const auto* const elements = reinterpret_cast<const T*>(place_);
    __builtin_assume(__isGlobal(to));
#pragma unroll
    for (int i = 0; i < kLength; i += kLanes) {
      if (i + lane_ < end_of_head) {
        to[i + lane_] = elements[i + lane_];
      }
      if (tail + i + lane_ < count) {
        to[tail + i + lane_] = elements[tail + i + lane_];
      }
    }
  }

  __device__ __forceinline__ void Sync() const { __syncwarp(members_); }

 private:
  /// Elements [begin, end) of the row at `from` to where Take expects them.
  __device__ __forceinline__ void CopyElements(const T* from, int begin, int end) {
    auto* const elements = reinterpret_cast<T*>(place_) + OddBytesOf(from) / static_cast<int>(sizeof(T));
    __builtin_assume(__isGlobal(from));
#pragma unroll 1
    for (int i = begin + lane_; i < end; i += kLanes) {
      elements[i] = from[i];
    }
  }

  unsigned members_;
  int lane_;
  Granule* place_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_STRETCH_SPACE_CUH_

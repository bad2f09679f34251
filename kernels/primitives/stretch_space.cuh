// Rows of memory that may begin anywhere, and vectors of 16 bytes: on its way from the one to the other a stretch
// passes through shared memory that belongs to its few lanes alone.
//
// On the way in, words that lie side by side in memory are copied side by side, so that the stretch begins on a 16-byte
// boundary of shared memory whatever it began on. Elements of 2 bytes may begin between two words of memory; then they
// do so in shared memory too, and a vector is put together from five words instead of four. On the way out likewise.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_STRETCH_SPACE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_STRETCH_SPACE_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/granule.cuh"

namespace kernelwire {

/// A number of bytes as a type.
template <int kBytes>
struct AccessBytes {
  static constexpr int kValue = kBytes;
};

/// Calls f(AccessBytes<...>{}) with how many bytes an access to rows of T moves: 8 or 4 (RowAccess).
template <typename T, typename F>
__device__ __forceinline__ void WithAccess(int bytes, const F& f) {
  if (sizeof(T) == 8 || bytes == 8) {
    f(AccessBytes<8>{});
  } else {
    f(AccessBytes<4>{});
  }
}

/// The place of one stretch: `kVectors` vectors of each lane of a Group, vector v of lane l being the
/// (v * kLanes + l)-th. All lanes that share a row call together; lanes of other rows may be elsewhere.
template <typename T, typename Group, int kVectors>
class StretchSpace {
 public:
  static constexpr int kLanes = Group::kLanes;
  static constexpr int kLength = kElementsOfGranule<T>;
  static constexpr int kElements = kLanes * kVectors * kLength;
  /// Granules of a place: those of the stretch, one for what an odd beginning pushes beyond them, and as many more as
  /// keep the lanes of a warp in different banks, word by word.
  static constexpr int kGranules = kLanes * kVectors + (kLanes < 32 ? (kLanes + 3) / 4 : 1);

  __device__ __forceinline__ StretchSpace(const Group& group, Granule* place)
      : members_(group.members()), lane_(group.rank() % kLanes), place_(place) {
    __builtin_assume(__isShared(place));
  }

  /// Asks for the `count` > 0 elements of the row from `from` on, as far as the stretch reaches. Accesses reach out of
  /// the row where it begins or ends within a unit, but not at an end of the tensor: there elements are read one by
  /// one. What follows the row's end in the place is undefined.
  template <int kAccess>
  __device__ __forceinline__ void Fetch(const T* from, int count, bool has_before, bool has_after) {
    constexpr int kSize = sizeof(T);
    constexpr int kStep = kLanes * kAccess;
    Sync();  // what was read last is no longer needed by any lane
    const int odd = OddBytes<kAccess>(from);
    const int end = odd + count * kSize;
    const int touched = kPartial<kAccess> && !has_after ? end / kAccess * kAccess : end;
    const auto* base = reinterpret_cast<const unsigned char*>(from) - odd + lane_ * kAccess;
    SharedAddress to = SharedAddressOf(place_) + static_cast<SharedAddress>(lane_ * kAccess);
    int left = touched - lane_ * kAccess;  // from this lane's first unit on
    // Kept in registers: the compiler would find each address anew.
    asm volatile("" : "+l"(base), "+r"(to), "+r"(left));
#pragma unroll
    for (int i = 0; i < kUnits<kAccess>; ++i) {
      if (left > i * kStep && (i > 0 || odd == 0 || lane_ > 0 || has_before)) {
        CopyAsync<kAccess>(to + i * kStep, base + i * kStep);
      }
    }
    if (odd != 0 && lane_ == 0 && left > kBytes) {
      CopyAsync<kAccess>(to + kBytes, base + kBytes);
    }
    auto* const elements = reinterpret_cast<T*>(place_) + odd / kSize;
    if (odd != 0 && !has_before && lane_ == 0) {
      elements[0] = from[0];
    }
    if (touched < end && touched <= kBytes && lane_ < (end - touched) / kSize) {
      const int at = (touched - odd) / kSize + lane_;
      elements[at] = from[at];
    }
  }

  /// This lane's vector `v` of what was fetched from `from`. Requires: AwaitCopies and Sync lie between.
  template <int kAccess>
  __device__ __forceinline__ Granule Take(const T* from, int v) const {
    const Granule* const granule = place_ + v * kLanes + lane_;
    if constexpr (sizeof(T) == 2 && kAccess == 4) {
      const Granule low = *granule;
      const unsigned next = granule[1].words[0];
      const unsigned shift = static_cast<unsigned>(OddBytes<kAccess>(from)) * 8;
      return {{__funnelshift_r(low.words[0], low.words[1], shift), __funnelshift_r(low.words[1], low.words[2], shift),
               __funnelshift_r(low.words[2], low.words[3], shift), __funnelshift_r(low.words[3], next, shift)}};
    } else {
      return *granule;
    }
  }

  /// On the way out: this lane's vector `v`. Sync() must lie between an earlier Store and the first of these.
  __device__ __forceinline__ void Put(int v, const Granule& vector) { place_[v * kLanes + lane_] = vector; }

  /// Writes the vectors that were put, but no more than `count` > 0 elements, from `to` on.
  template <int kAccess>
  __device__ __forceinline__ void Store(T* to, int count) {
    Sync();
    const int odd = OddBytes<kAccess>(to) / 2;  // elements of the first word that are not the row's
    count = min(count, kElements);
    const int units = (count + odd) * static_cast<int>(sizeof(T)) / kAccess;  // that are filled to their end
    int left = units - lane_;
    auto* base = reinterpret_cast<Unit<kAccess>*>(to - odd) + lane_;
    asm volatile("" : "+l"(base), "+r"(left));  // see Fetch
    __builtin_assume(__isGlobal(base));
#pragma unroll
    for (int i = 0; i < kUnits<kAccess>; ++i) {
      if (left > i * kLanes && (i > 0 || lane_ >= odd)) {
        base[i * kLanes] = UnitAt<kAccess>(i * kLanes + lane_, odd);
      }
    }
    __builtin_assume(__isGlobal(to));
    const auto* const elements = reinterpret_cast<const T*>(place_);
    const int done = units * kAccess / static_cast<int>(sizeof(T)) - odd;  // and what is left is less than a unit
    if (kPartial<kAccess> && lane_ < count - done) {
      to[done + lane_] = elements[done + lane_];
    }
    if (odd != 0 && units > 0 && lane_ == 0) {
      to[0] = elements[0];
    }
  }

  __device__ __forceinline__ void Sync() const { __syncwarp(members_); }

  /// 2 where `at`, of 2-byte elements that are read by words, lies between two words, else 0.
  template <int kAccess>
  static __device__ __forceinline__ int OddBytes(const T* at) {
    return sizeof(T) == 2 && kAccess == 4 ? static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % 4) : 0;
  }

 private:
  static constexpr int kBytes = kLanes * kVectors * 16;
  /// Whether a row may end within a unit.
  template <int kAccess>
  static constexpr bool kPartial = sizeof(T) < kAccess;
  template <int kAccess>
  static constexpr int kUnits = kVectors * 16 / kAccess;  // of a lane
  template <int kAccess>
  using Unit = std::conditional_t<kAccess == 8, uint2, unsigned>;

  /// Unit `u` of memory, which begins `odd` elements before the stretch's unit u.
  template <int kAccess>
  __device__ __forceinline__ Unit<kAccess> UnitAt(int u, int odd) const {
    const auto* const units = reinterpret_cast<const Unit<kAccess>*>(place_);
    if constexpr (sizeof(T) == 2 && kAccess == 4) {
      return __funnelshift_r(units[u - odd], units[u], static_cast<unsigned>(odd) * 16);
    } else {
      return units[u];
    }
  }

  unsigned members_;
  int lane_;
  Granule* place_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_STRETCH_SPACE_CUH_

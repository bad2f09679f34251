// Sixteen bytes that begin anywhere, put together from the two granules, of registers or shared memory, that they lie
// in.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_SHIFT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_SHIFT_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/granule.cuh"

namespace kernelwire {

/// How far an address lies behind a 16-byte boundary.
__device__ __forceinline__ int OddBytesOf(const void* at) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % 16);
}

/// Words [0, 4) of `words`, moved down by `bits`: 16 where elements of 2 bytes lie across words, else 0.
template <typename T, typename Words>
__device__ __forceinline__ Granule ShiftedDown(const Words& words, unsigned bits) {
  if constexpr (sizeof(T) == 2) {
    return {{__funnelshift_r(words[0], words[1], bits), __funnelshift_r(words[1], words[2], bits),
             __funnelshift_r(words[2], words[3], bits), __funnelshift_r(words[3], words[4], bits)}};
  } else {
    return {{words[0], words[1], words[2], words[3]}};
  }
}

/// The reverse: words of the vectors before, as many as the distance, and then a vector's own, become the granule that
/// begins where the first of them is cut.
template <typename T, int kWords>
__device__ __forceinline__ Granule ShiftedUp(const unsigned (&words)[kWords], unsigned bits) {
  if constexpr (sizeof(T) == 2) {
    return {{__funnelshift_l(words[0], words[1], bits), __funnelshift_l(words[1], words[2], bits),
             __funnelshift_l(words[2], words[3], bits), __funnelshift_l(words[3], words[4], bits)}};
  } else {
    return {{words[0], words[1], words[2], words[3]}};
  }
}

/// Calls f(words, bits) for a distance of `bytes` < 16, a whole number of elements, that is the same for all lanes of a
/// warp: so many words, which the compiler knows, and bits of one.
template <typename T, typename F>
__device__ __forceinline__ void WithKnownShift(int bytes, const F& f) {
  const unsigned bits = static_cast<unsigned>(bytes) % 4 * 8;
  if constexpr (sizeof(T) == 8) {
    return bytes == 0 ? f(std::integral_constant<int, 0>{}, bits) : f(std::integral_constant<int, 2>{}, bits);
  } else {
    switch (bytes / 4) {
      case 0:
        return f(std::integral_constant<int, 0>{}, bits);
      case 1:
        return f(std::integral_constant<int, 1>{}, bits);
      case 2:
        return f(std::integral_constant<int, 2>{}, bits);
      default:
        return f(std::integral_constant<int, 3>{}, bits);
    }
  }
}

/// A distance of kWords words, and half a one perhaps, that the compiler knows: for lanes that all have the same. One
/// of four ways through the code; for wider elements than 16-bit ones the compiler runs out of registers there.
template <typename T, int kWords>
struct KnownShift {
  static_assert(sizeof(T) == 2);
  unsigned bits;

  /// The 16 bytes that begin this far behind `at`.
  __device__ __forceinline__ Granule Apply(const Granule* at) const {
    const Granule low = at[0];
    if constexpr (kWords == 0) {
      const unsigned words[] = {low.words[0], low.words[1], low.words[2], low.words[3], at[1].words[0]};
      return ShiftedDown<T>(words, bits);
    } else {
      const Granule high = at[1];
      const unsigned words[] = {low.words[0],  low.words[1],  low.words[2],  low.words[3],
                                high.words[0], high.words[1], high.words[2], high.words[3]};
      return ShiftedDown<T>(words + kWords, bits);
    }
  }
};

/// Any distance: for wider elements, and for lanes of several rows, which had to take turns at the known ones.
/// `kByPairs`: it is read by pairs of words, which takes half as much again of shared memory's time as by granules, and
/// leaves fewer words to choose among.
template <typename T, bool kByPairs>
struct AnyShift {
  bool one;
  bool two;
  unsigned bits;

  __device__ __forceinline__ Granule Apply(const Granule* at) const {
    if constexpr (kByPairs) {
      const auto* const pairs = reinterpret_cast<const uint2*>(at) + (two ? 1 : 0);
      const uint2 first = pairs[0];
      const uint2 second = pairs[1];
      const uint2 third = pairs[2];
      unsigned words[] = {first.x, first.y, second.x, second.y, third.x, third.y};
#pragma unroll
      for (int i = 0; i < 5; ++i) {
        words[i] = one ? words[i + 1] : words[i];
      }
      return ShiftedDown<T>(words, bits);
    } else {
      const Granule low = at[0];
      const Granule high = at[1];
      unsigned words[] = {low.words[0],  low.words[1],  low.words[2],  low.words[3],
                          high.words[0], high.words[1], high.words[2], high.words[3]};
#pragma unroll
      for (int i = 0; i < 7; ++i) {
        words[i] = one ? words[i + 1] : words[i];
      }
#pragma unroll
      for (int i = 0; i < 5; ++i) {
        words[i] = two ? words[i + 2] : words[i];
      }
      return ShiftedDown<T>(words, bits);
    }
  }
};

/// None, or half a granule: what is needed lies in two pairs of words.
struct PairShift {
  bool half;

  __device__ __forceinline__ Granule Apply(const Granule* at) const {
    const auto* const pairs = reinterpret_cast<const uint2*>(at) + (half ? 1 : 0);
    const uint2 low = pairs[0];
    const uint2 high = pairs[1];
    return {{low.x, low.y, high.x, high.y}};
  }
};

/// Calls f(shift) with the shift of `bytes` < 16, a whole number of elements, for a row of `count` elements.
/// `kLanes`: that share a row; 32: it is equal for all threads of a warp. Where rows of that many elements lie one
/// after another, they all begin on boundaries of 8 bytes, or hardly any two neighbours do: lanes of several rows
/// seldom part ways here.
template <typename T, int kLanes, typename F>
__device__ __forceinline__ void WithShift(int bytes, int count, const F& f) {
  constexpr bool kUniform = kLanes == 32;
  constexpr bool kByPairs = kLanes == 8 || kLanes == 16;  // fewer lanes, and whole warps, wait for shared memory more
  const unsigned bits = static_cast<unsigned>(bytes) % 4 * 8;
  const int words = bytes / 4;
  if constexpr (sizeof(T) == 8) {
    f(PairShift{words >= 2});
  } else if constexpr (kUniform && sizeof(T) != 2) {
    f(AnyShift<T, kByPairs>{words % 2 != 0, words >= 2, bits});
  } else if constexpr (!kUniform) {
    if ((bytes | count * static_cast<int>(sizeof(T))) % 8 == 0) {
      f(PairShift{words >= 2});
    } else {
      f(AnyShift<T, kByPairs>{words % 2 != 0, words >= 2, bits});
    }
  } else if (words == 0) {
    f(KnownShift<T, 0>{bits});
  } else if (words == 2) {
    f(KnownShift<T, 2>{bits});
  } else if (words == 1) {
    f(KnownShift<T, 1>{bits});
  } else {
    f(KnownShift<T, 3>{bits});
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_SHIFT_CUH_

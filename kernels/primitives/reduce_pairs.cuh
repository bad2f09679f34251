// Tiles of 16-bit and 8-bit elements two at a time (half_pairs.cuh): the largest, and where it is. FP8 is compared as
// FP16, which has all its values, and an 8-bit integer as the FP16 number 1024 + how far it is above the least, whose
// last byte is that.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PAIRS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PAIRS_CUH_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/primitives/half_pairs.cuh"
#include "kernels/primitives/reduce_load.cuh"

namespace kernelwire {

/// Whether elements of T are compared in pairs, and as what.
template <typename T>
inline constexpr bool kHasPairs = kIsHalf<T> || sizeof(T) == 1;
template <typename T>
using HalfOf = std::conditional_t<kIsHalf<T>, T, __half>;

/// What turns the sign of both halves of a word around, or nothing.
__device__ __forceinline__ unsigned FlipOfHalves(bool turned) { return turned ? 0x80008000U : 0U; }

/// Elements 2 * i and 2 * i + 1, in the halves of a word. The sign of each is turned around where `flip` has its bit.
template <typename T, int kLength>
__device__ __forceinline__ unsigned PairAt(const Packed<T, kLength>& packed, int i, unsigned flip) {
  static_assert(kHasPairs<T> && kLength % 2 == 0);
  if constexpr (kIsHalf<T>) {
    return packed.words[i] ^ flip;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr unsigned kThousands = 0x64646464U;  // the upper byte of 1024 to 1279
    const unsigned word = packed.words[i / 2] ^ (std::is_signed_v<T> ? 0x80808080U : 0U);
    return __byte_perm(word, kThousands, i % 2 == 0 ? 0x4140 : 0x4342) ^ flip;
  } else {
    const __half2 halves = HalvesOfBytes(packed, 2 * i);
    unsigned word = 0;
    memcpy(&word, &halves, sizeof(word));
    return word ^ flip;
  }
}

/// The largest of each pair of places in a tile's operands, NaN where any is.
template <typename T, int kCount, int kLength>
__device__ __forceinline__ void LargestPairs(const Operand<T, kLength, 1> (&tile)[kCount], unsigned flip,
                                             unsigned (&largest)[kLength / 2]) {
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
#pragma unroll
    for (int i = 0; i < kLength / 2; ++i) {
      const unsigned pair = PairAt(tile[u].inputs[0], i, flip);
      largest[i] = u == 0 ? pair : LargerHalves<HalfOf<T>>(largest[i], pair);
    }
  }
}

/// The largest element of a tile, NaN if any is, in both halves of a word.
template <typename T, int kCount, int kLength>
__device__ __forceinline__ unsigned LargestHalf(const Operand<T, kLength, 1> (&tile)[kCount], unsigned flip) {
  using Half = HalfOf<T>;
  unsigned largest[kLength / 2];
  LargestPairs(tile, flip, largest);
#pragma unroll
  for (int i = 1; i < kLength / 2; ++i) {
    largest[0] = LargerHalves<Half>(largest[0], largest[i]);
  }
  return LargerHalves<Half>(largest[0], SwapHalves(largest[0]));
}

/// The halves of a pair, widened. A turned integer is ~x, as it is not -x that all have.
template <typename T, typename Acc>
__device__ __forceinline__ void WidenHalves(unsigned pair, Acc (&values)[2]) {
  if constexpr (std::is_integral_v<T>) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned half = pair >> (16 * i);
      const int value = static_cast<int>(half & 0xFFU) + kSmallest<T>;
      values[i] = (half & 0x8000U) != 0 ? ~value : value;
    }
  } else {
    WidenPacked(Packed<HalfOf<T>, 2>{{pair}}, values);
  }
}

/// A pair of two that are `value`, which WidenHalves has made of one that PairAt turned around so.
template <typename T, typename Acc>
__device__ __forceinline__ unsigned PairFilled(Acc value, unsigned flip) {
  if constexpr (std::is_integral_v<T>) {
    const int above = (flip != 0 ? ~value : value) - kSmallest<T>;
    return (static_cast<unsigned>(above) * 0x10001U | 0x64006400U) ^ flip;
  } else {
    return Packed<HalfOf<T>, 2>::Filled(Narrow<HalfOf<T>>(value)).words[0];
  }
}

/// Counted through the tile's operands in turn, the first element that is `value`, which both halves of a word hold;
/// the first NaN if it is one. Requires: there is one.
template <typename T, int kCount, int kLength>
__device__ __forceinline__ int FirstHalf(const Operand<T, kLength, 1> (&tile)[kCount], unsigned flip, unsigned value) {
  using Half = HalfOf<T>;
  constexpr int kPairs = kLength / 2;
  constexpr int kGroups = (kCount * kPairs + 15) / 16;
  const bool nan = EqualHalves<Half>(value, value) == 0;
  const unsigned turn = nan ? 0xFFFFFFFFU : 0U;  // a NaN is what is not equal to itself
  unsigned found[kGroups] = {};                  // bits k and 16 + k: the halves of pair k of 16
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int k = u * kPairs + i;
      const unsigned pair = PairAt(tile[u].inputs[0], i, flip);
      found[k / 16] |= (EqualHalves<Half>(pair, nan ? pair : value) ^ turn) & (0x10001U << (k % 16));
    }
  }
  int first = 0;
#pragma unroll
  for (int group = kGroups - 1; group >= 0; --group) {
    const int pair = __ffs(static_cast<int>((found[group] | found[group] >> 16) & 0xFFFFU)) - 1;
    const int upper = (found[group] >> (pair & 31) & 1U) != 0 ? 0 : 1;
    first = pair >= 0 ? group * 32 + pair * 2 + upper : first;
  }
  return first;
}

/// Which of a tile's operands have elements 2 * i and 2 * i + 1 as `pair`, their largest: bits u and 16 + u.
template <typename T, int kCount, int kLength>
__device__ __forceinline__ unsigned HoldersOfPair(const Operand<T, kLength, 1> (&tile)[kCount], unsigned flip, int i,
                                                  unsigned pair) {
  using Half = HalfOf<T>;
  static_assert(kCount <= 16);
  unsigned holders = 0;
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    holders |= EqualHalves<Half>(PairAt(tile[u].inputs[0], i, flip), pair) & (0x10001U << u);
  }
  if (EqualHalves<Half>(pair, pair) != ~0U) {  // a NaN, which is equal to none
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const unsigned own = PairAt(tile[u].inputs[0], i, flip);
      holders |= ~EqualHalves<Half>(own, own) & (0x10001U << u);
    }
  }
  return holders;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PAIRS_CUH_

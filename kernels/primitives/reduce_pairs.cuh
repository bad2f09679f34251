// Tiles of 16-bit floats two elements at a time (half_pairs.cuh): the largest, and where it is.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PAIRS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PAIRS_CUH_

#include "kernels/primitives/half_pairs.cuh"
#include "kernels/primitives/reduce_load.cuh"

namespace kernelwire {

/// The largest element of a tile, NaN if any is, in both halves of a word. The sign of each element is turned around
/// where `flip` has its bit.
template <typename T, int kCount, int kLength>
__device__ __forceinline__ unsigned LargestHalf(const Operand<T, kLength, 1> (&tile)[kCount], unsigned flip) {
  constexpr int kWords = Packed<T, kLength>::kWords;
  static_assert(kIsHalf<T> && kLength % 2 == 0);
  unsigned largest[kWords];
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const unsigned word = tile[u].inputs[0].words[i] ^ flip;
      largest[i] = u == 0 ? word : LargerHalves<T>(largest[i], word);
    }
  }
#pragma unroll
  for (int i = 1; i < kWords; ++i) {
    largest[0] = LargerHalves<T>(largest[0], largest[i]);
  }
  return LargerHalves<T>(largest[0], SwapHalves(largest[0]));
}

/// Counted through the tile's operands in turn, the first element that is `value`, which both halves of that word hold;
/// the first NaN if it is one. Requires: there is one.
template <typename T, int kCount, int kLength>
__device__ __forceinline__ int FirstHalf(const Operand<T, kLength, 1> (&tile)[kCount], unsigned flip, unsigned value) {
  constexpr int kWords = Packed<T, kLength>::kWords;
  constexpr int kGroups = (kCount * kWords + 15) / 16;
  static_assert(kIsHalf<T> && kLength % 2 == 0);
  const bool nan = EqualHalves<T>(value, value) == 0;
  const unsigned turn = nan ? 0xFFFFFFFFU : 0U;  // a NaN is what is not equal to itself
  unsigned found[kGroups] = {};                  // bits k and 16 + k: the halves of word k of 16
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const int k = u * kWords + i;
      const unsigned word = tile[u].inputs[0].words[i] ^ flip;
      found[k / 16] |= (EqualHalves<T>(word, nan ? word : value) ^ turn) & (0x10001U << (k % 16));
    }
  }
  int first = 0;
#pragma unroll
  for (int group = kGroups - 1; group >= 0; --group) {
    const int word = __ffs(static_cast<int>((found[group] | found[group] >> 16) & 0xFFFFU)) - 1;
    const int upper = (found[group] >> (word & 31) & 1U) != 0 ? 0 : 1;
    first = word >= 0 ? group * 32 + word * 2 + upper : first;
  }
  return first;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PAIRS_CUH_

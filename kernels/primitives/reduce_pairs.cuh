// 16-bit floats two at a time, as they lie in a word: comparisons need no widening, and take half the instructions.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PAIRS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PAIRS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <type_traits>

#include "kernels/primitives/reduce_load.cuh"

namespace kernelwire {

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

template <typename T>
using PairOf = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;

template <typename T>
__device__ __forceinline__ PairOf<T> PairOfWord(unsigned word) {
  PairOf<T> pair;
  memcpy(&pair, &word, sizeof(pair));
  return pair;
}

/// The larger of each half, NaN where either is.
template <typename T>
__device__ __forceinline__ unsigned LargerHalves(unsigned a, unsigned b) {
  const PairOf<T> larger = __hmax2_nan(PairOfWord<T>(a), PairOfWord<T>(b));
  unsigned word = 0;
  memcpy(&word, &larger, sizeof(word));
  return word;
}

/// All bits of each half where a and b are equal: the zeros are, NaN is equal to nothing.
template <typename T>
__device__ __forceinline__ unsigned EqualHalves(unsigned a, unsigned b) {
  return __heq2_mask(PairOfWord<T>(a), PairOfWord<T>(b));
}

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
  return LargerHalves<T>(largest[0], __byte_perm(largest[0], 0, 0x1032));
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

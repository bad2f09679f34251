// 16-bit floats two at a time, as they lie in a word: comparisons need no widening, and take half the instructions.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_HALF_PAIRS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_HALF_PAIRS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <type_traits>

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

/// A word with its halves exchanged.
__device__ __forceinline__ unsigned SwapHalves(unsigned word) { return __byte_perm(word, 0, 0x1032); }

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_HALF_PAIRS_CUH_

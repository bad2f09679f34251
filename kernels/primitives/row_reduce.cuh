// Reductions over the threads that share a row. The result is the same, to the bit, in each of them.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_REDUCE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_REDUCE_CUH_

#include <cuda_runtime.h>

#include <cstring>
#include <type_traits>

namespace kernelwire {

/// Exchanges any plain value of whole 4-byte words with the lane whose number differs in the bits of `lane_mask`.
template <typename T>
__device__ __forceinline__ T ShuffleXor(unsigned members, const T& value, int lane_mask) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
  constexpr int kWords = static_cast<int>(sizeof(T) / 4);
  unsigned words[kWords];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    words[i] = __shfl_xor_sync(members, words[i], lane_mask);
  }
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
}

/// Combines the values of kThreads threads: of an aligned group of 2, 4, ... 32 lanes, or of a block of kThreads.
/// `combine` must give the same bits for (a, b) and (b, a): then both lanes of an exchange agree, and all lanes in the
/// end. Requires: all threads of the group (of the block, beyond 32) call it; other groups of the warp need not.
/// May be called again at once: the second barrier keeps a fast warp from overwriting what a slow one still reads.
template <int kThreads, typename T, typename Combine>
__device__ T RowReduce(T value, const Combine& combine) {
  static_assert(kThreads <= 32 ? (kThreads & (kThreads - 1)) == 0 : kThreads % 32 == 0);
  constexpr int kGroup = kThreads < 32 ? kThreads : 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned members = kGroup == 32 ? 0xFFFFFFFFU : ((1U << (kGroup % 32)) - 1U) << (lane / kGroup * kGroup);
#pragma unroll
  for (int offset = kGroup / 2; offset > 0; offset /= 2) {
    value = combine(value, ShuffleXor(members, value, offset));
  }
  if constexpr (kThreads > 32) {
    __shared__ T of_warps[kThreads / 32];
    if (lane == 0) {
      of_warps[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = of_warps[0];
#pragma unroll
    for (int warp = 1; warp < kThreads / 32; ++warp) {
      value = combine(value, of_warps[warp]);
    }
    __syncthreads();
  }
  return value;
}

template <int kThreads, typename T>
__device__ __forceinline__ T RowSum(T value) {
  return RowReduce<kThreads>(value, [](T a, T b) { return a + b; });
}

/// NaN may be dropped, as fmax does.
template <int kThreads, typename T>
__device__ __forceinline__ T RowMax(T value) {
  return RowReduce<kThreads>(value, [](T a, T b) { return fmax(a, b); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_REDUCE_CUH_

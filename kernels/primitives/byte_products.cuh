// 8-bit integers four at a time: a word of them against another, whose products are added by one instruction.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BYTE_PRODUCTS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BYTE_PRODUCTS_CUH_

#include <type_traits>

#include "kernels/primitives/reduce_load.cuh"

namespace kernelwire {

inline constexpr unsigned kFourOnes = 0x01010101U;

/// sum + a0 * b0 + ... + a3 * b3. `T`: std::int8_t or std::uint8_t.
template <typename T>
__device__ __forceinline__ int AddProducts(unsigned a, unsigned b, int sum) {
  static_assert(std::is_integral_v<T> && sizeof(T) == 1);
  if constexpr (std::is_signed_v<T>) {
    return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
  } else {
    return static_cast<int>(__dp4a(a, b, static_cast<unsigned>(sum)));
  }
}

/// Four rows of four columns of bytes, turned: word i of the result is byte i of each of the four words.
__device__ __forceinline__ uint4 TurnedBytes(unsigned a, unsigned b, unsigned c, unsigned d) {
  const unsigned ab_low = __byte_perm(a, b, 0x5140);
  const unsigned cd_low = __byte_perm(c, d, 0x5140);
  const unsigned ab_high = __byte_perm(a, b, 0x7362);
  const unsigned cd_high = __byte_perm(c, d, 0x7362);
  return {__byte_perm(ab_low, cd_low, 0x5410), __byte_perm(ab_low, cd_low, 0x7632),
          __byte_perm(ab_high, cd_high, 0x5410), __byte_perm(ab_high, cd_high, 0x7632)};
}

/// Each column's sum becomes add(a word of four rows of the column, sum), for each four of the rows.
template <typename T, int kCount, int kLength, typename Add>
__device__ __forceinline__ void AddFourRowsEach(const Operand<T, kLength, 1> (&rows)[kCount], int (&sums)[kLength],
                                                const Add& add) {
  static_assert(kCount % 4 == 0);
#pragma unroll
  for (int i = 0; i < (kLength + 3) / 4; ++i) {
#pragma unroll
    for (int u = 0; u < kCount; u += 4) {
      const uint4 columns = TurnedBytes(rows[u].inputs[0].words[i], rows[u + 1].inputs[0].words[i],
                                        rows[u + 2].inputs[0].words[i], rows[u + 3].inputs[0].words[i]);
      sums[4 * i] = add(columns.x, sums[4 * i]);
      if constexpr (kLength % 4 == 0) {
        sums[4 * i + 1] = add(columns.y, sums[4 * i + 1]);
        sums[4 * i + 2] = add(columns.z, sums[4 * i + 2]);
        sums[4 * i + 3] = add(columns.w, sums[4 * i + 3]);
      }
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BYTE_PRODUCTS_CUH_

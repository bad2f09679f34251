// What a sum does with an element on the device. The mean shares it: it differs by a division at the end.
//
// Floating-point elements of a tile (8 vectors a thread) are added in f32 pairwise, and the sums of tiles in f64: so no
// element takes part in more than 7 f32 additions, and the longest row is summed as exactly as a short one. Columns of
// FP8 add up to four tiles before they go over to f64. Integers are added exactly.
#ifndef KERNELWIRE_KERNELS_OPS_SUM_SUM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_SUM_SUM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/sum/sum.h"
#include "kernels/primitives/reduce_launch.cuh"

namespace kernelwire {

/// Integers are finished as integers, unless divided.
template <typename Total>
__device__ __forceinline__ void StoreSum(const ReduceArguments& arguments, const ResultPlace& place, Total total,
                                         const SumFinish& finish) {
  if (std::is_same_v<Total, double> || finish.mean) {
    const auto sum = static_cast<double>(total);
    StoreResult(arguments, place, finish.mean ? sum / finish.count : sum);
  } else {
    StoreResult(arguments, place, total);
  }
}

/// Floating-point elements up to f32 by way of f32; f64 in f64.
template <typename T>
struct FloatSum {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = true;
  using ColumnSum = std::conditional_t<sizeof(T) == 1, float, void>;
  // Sums of E4M3 are multiples of 2^-9, and those of 32 rows are below 2^14: f32 holds them. Those of E5M2 are rounded.
  static constexpr bool kExactInFloat = std::is_same_v<T, __nv_fp8_e4m3>;
  SumFinish finish;

  static __device__ __forceinline__ T Fill() { return T{}; }
  static __device__ __forceinline__ Total Identity() { return 0.0; }
  static __device__ __forceinline__ Total Combine(Total a, Total b) { return a + b; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    AccumulatorOf<T> sums[kCount];
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      AccumulatorOf<T> values[kLength];
      WidenPacked(tile[u].inputs[0], values);
      sums[u] = SumPairwise<kLength>(values);
    }
    total += static_cast<double>(SumPairwise<kCount>(sums));
  }

  /// Columns of FP8, each word of them as one. What is rounded is added by tiles first, which keeps an element's way
  /// to the sum short; what is not goes row by row, which takes fewer registers.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                             float (&sums)[kLength]) const {
    constexpr int kInWord = kLength < 4 ? kLength : 4;
    if constexpr (kExactInFloat) {
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
#pragma unroll
        for (int i = 0; i < kLength; i += kInWord) {
          AddWord<kInWord>(rows[u].inputs[0].words[i / 4], sums + i);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kLength; i += kInWord) {
        float tile[kInWord] = {};
#pragma unroll
        for (int u = 0; u < kCount; ++u) {
          AddWord<kInWord>(rows[u].inputs[0].words[i / 4], tile);
        }
#pragma unroll
        for (int j = 0; j < kInWord; ++j) {
          sums[i + j] += tile[j];
        }
      }
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreSum(arguments, place, total, finish);
  }

 private:
  template <int kInWord>
  static __device__ __forceinline__ void AddWord(unsigned word, float* sums) {
    float values[kInWord];
    WidenPacked(Packed<T, kInWord>{{word}}, values);
#pragma unroll
    for (int j = 0; j < kInWord; ++j) {
      sums[j] += values[j];
    }
  }
};

/// Four rows of four columns of bytes, turned: word i of the result is byte i of each of the four words.
__device__ __forceinline__ uint4 TurnedBytes(unsigned a, unsigned b, unsigned c, unsigned d) {
  const unsigned ab_low = __byte_perm(a, b, 0x5140);
  const unsigned cd_low = __byte_perm(c, d, 0x5140);
  const unsigned ab_high = __byte_perm(a, b, 0x7362);
  const unsigned cd_high = __byte_perm(c, d, 0x7362);
  return {__byte_perm(ab_low, cd_low, 0x5410), __byte_perm(ab_low, cd_low, 0x7632),
          __byte_perm(ab_high, cd_high, 0x5410), __byte_perm(ab_high, cd_high, 0x7632)};
}

/// Integers, exactly. A tile's sum fits the type after next, and the total of any number of tiles is as wide as it must
/// be: 64 bits where 2^55 elements fit into them, else 128.
template <typename T>
struct IntegerSum {
  using Element = T;
  using Total = std::conditional_t<sizeof(T) == 1, long long, WideInteger>;
  using Partial = std::conditional_t<sizeof(T) == 1, int, std::conditional_t<sizeof(T) == 4, long long, WideInteger>>;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = true;
  using ColumnSum = std::conditional_t<sizeof(T) == 1, int, void>;
  SumFinish finish;

  static __device__ __forceinline__ T Fill() { return 0; }
  static __device__ __forceinline__ Total Identity() { return 0; }
  static __device__ __forceinline__ Total Combine(Total a, Total b) { return a + b; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    Partial sum = 0;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      sum += SumOf(tile[u].inputs[0]);
    }
    total += sum;
  }

  /// Columns of 8-bit integers, four rows at a time.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount], int (&sums)[kLength]) const {
    static_assert(kCount % 4 == 0);
#pragma unroll
    for (int i = 0; i < (kLength + 3) / 4; ++i) {
#pragma unroll
      for (int u = 0; u < kCount; u += 4) {
        const uint4 columns = TurnedBytes(rows[u].inputs[0].words[i], rows[u + 1].inputs[0].words[i],
                                          rows[u + 2].inputs[0].words[i], rows[u + 3].inputs[0].words[i]);
        sums[4 * i] = AddBytes(columns.x, sums[4 * i]);
        if constexpr (kLength % 4 == 0) {
          sums[4 * i + 1] = AddBytes(columns.y, sums[4 * i + 1]);
          sums[4 * i + 2] = AddBytes(columns.z, sums[4 * i + 2]);
          sums[4 * i + 3] = AddBytes(columns.w, sums[4 * i + 3]);
        }
      }
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreSum(arguments, place, total, finish);
  }

 private:
  /// Four 8-bit integers an instruction: their product with four ones.
  static __device__ __forceinline__ int AddBytes(unsigned bytes, int sum) {
    constexpr unsigned kOnes = 0x01010101U;
    if constexpr (std::is_signed_v<T>) {
      return __dp4a(static_cast<int>(bytes), static_cast<int>(kOnes), sum);
    } else {
      return static_cast<int>(__dp4a(bytes, kOnes, static_cast<unsigned>(sum)));
    }
  }

  template <int kLength>
  static __device__ __forceinline__ Partial SumOf(const Packed<T, kLength>& packed) {
    Partial sum = 0;
    if constexpr (sizeof(T) == 1 && kLength % 4 == 0) {
#pragma unroll
      for (int i = 0; i < kLength / 4; ++i) {
        sum = AddBytes(packed.words[i], sum);
      }
    } else {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        sum += packed.Get(j);
      }
    }
    return sum;
  }
};

/// A sum whose accumulator is asked for by name: f64, or a 16-bit type to which every partial sum is rounded.
template <typename T>
struct NamedSum {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = false;  // exactness, not speed, is what is asked for
  SumFinish finish;
  DataType accumulator;

  static __device__ __forceinline__ T Fill() { return Narrow<T>(0.0F); }
  static __device__ __forceinline__ Total Identity() { return 0.0; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    ForEachInTurn(tile, [&](const Operand<T, kLength, 1>& operand) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        total = Combine(total, Widen<double>(operand.inputs[0].Get(j)));
      }
    });
  }
  __device__ __forceinline__ Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a + b); }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreSum(arguments, place, total, finish);
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SUM_SUM_KERNEL_CUH_

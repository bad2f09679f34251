// What a sum does with an element on the device. The mean shares it: it differs by a division at the end.
//
// Floating-point elements of a tile (8 vectors a thread) are added in f32 pairwise, and the sums of tiles in f64: so no
// element takes part in more than 7 f32 additions, and the longest row is summed as exactly as a short one. Columns of
// FP8 add up to four tiles before they go over to f64. A tile whose sums leave f32 is added once more, in f64. Integers
// are added exactly.
#ifndef KERNELWIRE_KERNELS_OPS_SUM_SUM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_SUM_SUM_KERNEL_CUH_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/ops/sum/sum.h"
#include "kernels/primitives/byte_products.cuh"
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

/// Whether the sum of a few elements, or of their products, may be more than f32 holds.
template <typename T>
inline constexpr bool kMayLeaveF32 = std::is_same_v<T, float> || std::is_same_v<T, __nv_bfloat16>;
inline constexpr float kMostOfF32 = std::numeric_limits<float>::max();

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
    const AccumulatorOf<T> sum = SumPairwise<kCount>(sums);
    if (!kMayLeaveF32<T> || fabs(sum) <= kMostOfF32) {
      total += static_cast<double>(sum);
    } else {
      ForEachInTurn(tile, [&](const Operand<T, kLength, 1>& operand) {
#pragma unroll
        for (int j = 0; j < kLength; ++j) {
          total += Widen<double>(operand.inputs[0].Get(j));
        }
      });
    }
  }

  /// Columns of FP8, each word of them as one. What is rounded is added by tiles first, which keeps an element's way
  /// to the sum short; what is not goes row by row, which takes fewer registers.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                             const ElementNumbers& /*numbers*/, float (&sums)[kLength]) const {
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

/// Elements of which 64 bits hold the sum, whatever they are.
template <typename T>
inline constexpr std::int64_t kMostInLongLong = std::int64_t{1} << (64 - 8 * sizeof(T));

/// Integers, exactly. A tile's sum fits the type after next. `Sum`: of a result. INT32 in more than 64 bits, which only
/// results of more than kMostInLongLong elements need, has no kernels of its own for vectors.
template <typename T, typename Sum = std::conditional_t<sizeof(T) == 8, WideInteger, long long>>
struct IntegerSum {
  using Element = T;
  using Total = Sum;
  using Partial = std::conditional_t<sizeof(T) == 1, int, std::conditional_t<sizeof(T) == 4, long long, WideInteger>>;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = sizeof(Sum) <= 2 * sizeof(T) || sizeof(T) == 1;
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

  /// Columns of 8-bit integers.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                             const ElementNumbers& /*numbers*/, int (&sums)[kLength]) const {
    AddFourRowsEach(rows, sums, [](unsigned bytes, int sum) { return AddProducts<T>(bytes, kFourOnes, sum); });
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreSum(arguments, place, total, finish);
  }

 private:
  template <int kLength>
  static __device__ __forceinline__ Partial SumOf(const Packed<T, kLength>& packed) {
    Partial sum = 0;
    if constexpr (sizeof(T) == 1 && kLength % 4 == 0) {
#pragma unroll
      for (int i = 0; i < kLength / 4; ++i) {
        sum = AddProducts<T>(packed.words[i], kFourOnes, sum);
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

// What l2_norm does with an element on the device. Squares leave the range of f32 long before their root does. So a
// tile (8 vectors a thread) of a row of FP32 or BF16 is multiplied by the power of two that brings its largest element
// to 2^20, which rounds nothing that counts; then squares are added in f32, and sums of tiles in f64, times that power
// squared. FP16 and FP8 need no such power, and their squares are exact in f32: an element takes part in 12 additions
// there at most, of which those of a few squares round nothing. Squares of 8-bit integers are added as integers first,
// others are f64's. Source of the scaling: J. L. Blue, "A portable Fortran program to find the Euclidean norm of a
// vector", 1978, which has three powers for all.
#ifndef KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/byte_products.cuh"
#include "kernels/primitives/half_pairs.cuh"
#include "kernels/primitives/reduce_launch.cuh"
#include "kernels/primitives/reduce_pairs.cuh"
#include "kernels/primitives/rounded_product.cuh"

namespace kernelwire {

/// A power of two to multiply elements by, and what the sum of their squares is multiplied by in turn.
struct SquareScale {
  float of_elements;
  double of_sum;

  /// For elements of which the largest magnitude has these bits as a float. It comes to 2^20, so that subnormal ones
  /// have squares too; an infinity stays one.
  __device__ __forceinline__ explicit SquareScale(unsigned bits_of_largest) {
    constexpr int kBias = 127;
    constexpr int kBiasOfDouble = 1023;
    constexpr int kScaled = 20;
    constexpr int kLeast = 24;  // of smaller ones the power would leave the range
    const int exponent = max(static_cast<int>(bits_of_largest >> 23), kLeast) - kBias - kScaled;
    of_elements = __int_as_float((kBias - exponent) << 23);
    of_sum = __hiloint2double((kBiasOfDouble + 2 * exponent) << 20, 0);
  }
};

/// Of the largest magnitude in a tile, as a float. A NaN may get lost: squares keep it.
template <typename T, int kCount, int kLength>
__device__ __forceinline__ unsigned BitsOfLargest(const Operand<T, kLength, 1> (&tile)[kCount]) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    constexpr unsigned kMagnitudes = 0x7FFF7FFFU;
    unsigned largest = 0;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int i = 0; i < kLength / 2; ++i) {
        largest = LargerHalves<T>(largest, PairAt(tile[u].inputs[0], i, 0) & kMagnitudes);
      }
    }
    return max(largest & 0xFFFF0000U, largest << 16);
  } else {
    static_assert(std::is_same_v<T, float>);
    float largest = 0.0F;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        largest = fmaxf(largest, fabsf(tile[u].inputs[0].Get(j)));
      }
    }
    return __float_as_uint(largest);
  }
}

template <typename T>
struct SquareSum {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = true;
  DataType accumulator;  // a 16-bit one has every partial sum rounded to it

  static __device__ __forceinline__ T Fill() {
    if constexpr (std::is_integral_v<T>) {
      return 0;
    } else {
      return Narrow<T>(0.0F);
    }
  }
  static __device__ __forceinline__ Total Identity() { return 0.0; }
  __device__ __forceinline__ Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a + b); }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    if (accumulator == DataType::kFp16 || accumulator == DataType::kBf16) {
      AddRounded(tile, total);
      return;
    }
    constexpr int kChains = kLength < 4 ? kLength : 4;
    double sums[kChains] = {};
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      double values[kLength];
      WidenPacked(tile[u].inputs[0], values);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        sums[j % kChains] = fma(values[j], values[j], sums[j % kChains]);
      }
    }
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) {
      total += sums[chain];
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreResult(arguments, place, sqrt(total));
  }

 private:
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddRounded(const Operand<T, kLength, 1> (&tile)[kCount], Total& total) const {
    ForEachInTurn(tile, [&](const Operand<T, kLength, 1>& operand) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        const auto value = Widen<double>(operand.inputs[0].Get(j));
        total = Combine(total, value * value);
      }
    });
  }
};

/// The same of rows of FP32 and BF16, in f32.
template <typename T>
struct ScaledSquareSum {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = false;
  static constexpr bool kVectors = true;

  /// f64 takes a few elements as fast, and columns have a few in a tile. Follows from the row alone: those few pass
  /// through kernels of other tiles, alone and in company.
  static bool Takes(const ReduceParams& params) {
    const ReduceLayout layout = LayOutOnDevice(params);
    return params.accumulator == DataType::kFp32 && !layout.columns &&
           layout.width * static_cast<std::int64_t>(sizeof(T)) > kMostBytesOfTiledRow;
  }

  static __device__ __forceinline__ T Fill() { return Narrow<T>(0.0F); }
  static __device__ __forceinline__ Total Identity() { return 0.0; }
  static __device__ __forceinline__ Total Combine(Total a, Total b) { return a + b; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    const SquareScale scale(BitsOfLargest(tile));
    total = fma(static_cast<double>(SumInFloat(tile, scale.of_elements)), scale.of_sum, total);
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreResult(arguments, place, sqrt(total));
  }

 private:
  /// The squares of elements times a power of two. Those of FP32 are rounded, and added pairwise; those of BF16 are
  /// exact, and so are sums of a few: they are added as they are made. What a tile has beyond a row changes no bit,
  /// however long it is.
  template <int kCount, int kLength>
  static __device__ __forceinline__ float SumInFloat(const Operand<T, kLength, 1> (&tile)[kCount], float scale) {
    constexpr bool kExact = sizeof(T) < 4;
    constexpr int kChains = kExact ? kLength : kCount;
    float sums[kChains] = {};
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      float values[kLength];
      WidenPacked(tile[u].inputs[0], values);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        values[j] *= scale;
        if constexpr (kExact) {
          sums[j] = fmaf(values[j], values[j], sums[j]);
        } else {
          values[j] = RoundedProduct(values[j], values[j]);
        }
      }
      if constexpr (!kExact) {
        sums[u] = SumPairwise<kLength>(values);
      }
    }
    return SumPairwise<kChains>(sums);
  }
};

/// The same of 8-bit integers: exactly, as long as f64 holds it.
template <typename T>
struct ByteSquareSum {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = true;
  using ColumnSum = int;

  static __device__ __forceinline__ T Fill() { return 0; }
  static __device__ __forceinline__ Total Identity() { return 0.0; }
  static __device__ __forceinline__ Total Combine(Total a, Total b) { return a + b; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    int sum = 0;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (const unsigned word : tile[u].inputs[0].words) {  // bytes that are none of the elements' are zero
        sum = AddProducts<T>(word, word, sum);
      }
    }
    total += sum;
  }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                             const ElementNumbers& /*numbers*/, int (&sums)[kLength]) const {
    AddFourRowsEach(rows, sums, [](unsigned bytes, int sum) { return AddProducts<T>(bytes, bytes, sum); });
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreResult(arguments, place, sqrt(total));
  }
};

/// The same of FP16 and FP8, with the accumulator that they have by default.
template <typename T>
struct NarrowSquareSum {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = true;
  using ColumnSum = std::conditional_t<sizeof(T) == 1, float, void>;

  static __device__ __forceinline__ T Fill() { return Narrow<T>(0.0F); }
  static __device__ __forceinline__ Total Identity() { return 0.0; }
  static __device__ __forceinline__ Total Combine(Total a, Total b) { return a + b; }

  /// In chains, one for each element of a vector. What a tile has beyond a row changes no bit, however long it is.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    constexpr int kChains = kLength < 8 && kCount * kLength > 8 ? 8 : kLength;
    float sums[kChains] = {};
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      float values[kLength];
      WidenPacked(tile[u].inputs[0], values);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        float& sum = sums[(u * kLength + j) % kChains];
        sum = fmaf(values[j], values[j], sum);
      }
    }
    total += static_cast<double>(SumPairwise<kChains>(sums));
  }

  /// Columns of FP8.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                             const ElementNumbers& /*numbers*/, float (&sums)[kLength]) const {
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      float values[kLength];
      WidenPacked(rows[u].inputs[0], values);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        sums[j] = fmaf(values[j], values[j], sums[j]);
      }
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreResult(arguments, place, sqrt(total));
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_KERNEL_CUH_

// What l2_norm does with an element on the device. Squares leave the range of f32 long before their root does. So a
// tile of FP32 or BF16 is multiplied by the power of two that brings its largest element to 2^20, which rounds nothing
// that counts; then squares are added in f32, and sums of tiles in f64, times that power squared. FP16 and FP8 need no
// such power; all others, and tiles of a few elements, are added in f64. Source of the scaling: J. L. Blue, "A portable
// Fortran program to find the Euclidean norm of a vector", 1978, which has three powers for all elements.
#ifndef KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_KERNEL_CUH_

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/half_pairs.cuh"
#include "kernels/primitives/reduce_launch.cuh"
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

template <typename T>
struct SquareSum {
  // Squares of these leave f32's range, and those of these do not.
  static constexpr bool kLeavesFloat = std::is_same_v<T, float> || std::is_same_v<T, __nv_bfloat16>;
  static constexpr bool kStaysInFloat = std::is_same_v<T, __half> || (sizeof(T) == 1 && !std::is_integral_v<T>);
  static constexpr int kWorthAScale = 16;  // elements; f64 takes fewer as fast

  using Element = T;
  using Total = double;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = !std::is_integral_v<T>;
  using ColumnSum = std::conditional_t<sizeof(T) == 1 && kStaysInFloat, float, void>;

  static __device__ __forceinline__ T Fill() {
    if constexpr (std::is_integral_v<T>) {
      return 0;
    } else {
      return Narrow<T>(0.0F);
    }
  }
  static __device__ __forceinline__ Total Identity() { return 0.0; }
  static __device__ __forceinline__ Total Combine(Total a, Total b) { return a + b; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    constexpr bool kScales = kLeavesFloat && kCount * kLength >= kWorthAScale;
    if constexpr (kScales) {
      const SquareScale scale(BitsOfLargest(tile));
      total = fma(static_cast<double>(SumInFloat(tile, scale.of_elements)), scale.of_sum, total);
    } else if constexpr (kStaysInFloat) {
      total += static_cast<double>(SumInFloat(tile, 1.0F));
    } else {
      AddInDouble(tile, total);
    }
  }

  /// Columns of FP8.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                             float (&sums)[kLength]) const {
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

 private:
  /// Of elements times a power of two. Squares of FP32 are rounded, and added pairwise. Those of fewer bits are exact,
  /// and so are sums of a few; they are added as they are made.
  template <int kCount, int kLength>
  static __device__ __forceinline__ float SumInFloat(const Operand<T, kLength, 1> (&tile)[kCount], float scale) {
    constexpr bool kExact = sizeof(T) < 4;
    constexpr int kChains = !kExact ? kCount : kLength < 8 && kCount * kLength > 8 ? 8 : kLength;
    float sums[kChains] = {};
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      float values[kLength];
      WidenPacked(tile[u].inputs[0], values);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        values[j] *= kLeavesFloat ? scale : 1.0F;
        if constexpr (kExact) {
          float& sum = sums[(u * kLength + j) % kChains];
          sum = fmaf(values[j], values[j], sum);
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

  /// Of the largest magnitude in a tile, as a float. A NaN may get lost: squares keep it.
  template <int kCount, int kLength>
  static __device__ __forceinline__ unsigned BitsOfLargest(const Operand<T, kLength, 1> (&tile)[kCount]) {
    if constexpr (kIsHalf<T> && kLength % 2 == 0) {
      constexpr unsigned kMagnitudes = 0x7FFF7FFFU;
      constexpr int kWords = kLength / 2;
      unsigned largest = 0;
#pragma unroll
      for (int i = 0; i < kCount * kWords; ++i) {
        largest = LargerHalves<T>(largest, tile[i / kWords].inputs[0].words[i % kWords] & kMagnitudes);
      }
      return max(largest & 0xFFFF0000U, largest << 16);
    } else {
      float largest = 0.0F;
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
#pragma unroll
        for (int j = 0; j < kLength; ++j) {
          largest = fmaxf(largest, fabsf(Widen<float>(tile[u].inputs[0].Get(j))));
        }
      }
      return __float_as_uint(largest);
    }
  }

  template <int kCount, int kLength>
  static __device__ __forceinline__ void AddInDouble(const Operand<T, kLength, 1> (&tile)[kCount], Total& total) {
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
};

/// With an accumulator that is asked for by name: f64, or a 16-bit type to which every partial sum is rounded.
template <typename T>
struct NamedSquareSum {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = false;  // exactness, not speed, is what is asked for
  DataType accumulator;

  static __device__ __forceinline__ T Fill() { return Narrow<T>(0.0F); }
  static __device__ __forceinline__ Total Identity() { return 0.0; }
  __device__ __forceinline__ Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a + b); }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    ForEachInTurn(tile, [&](const Operand<T, kLength, 1>& operand) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        const auto value = Widen<double>(operand.inputs[0].Get(j));
        total = Combine(total, value * value);
      }
    });
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreResult(arguments, place, sqrt(total));
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_KERNEL_CUH_

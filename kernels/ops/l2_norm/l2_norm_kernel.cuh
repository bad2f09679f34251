// What l2_norm does with an element on the device. Squares leave the range of f32 long before their root does, so they
// are added in f64. Those of FP16 and FP8 do not, and are exact there: a tile's (8 vectors a thread) are added in f32,
// and tiles in f64. An element takes part in 12 f32 additions at most, of which those of a few squares round nothing.
#ifndef KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_L2_NORM_L2_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/byte_products.cuh"
#include "kernels/primitives/reduce_launch.cuh"

namespace kernelwire {

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

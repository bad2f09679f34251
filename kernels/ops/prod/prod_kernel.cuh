// What a product does with an element on the device. Floating-point factors are multiplied in f64, so that no product
// of a row that fits its type is lost on the way; integers exactly, with a mark where they grow too large. A few
// neighbours are multiplied first in what holds their product, whatever they are.
#ifndef KERNELWIRE_KERNELS_OPS_PROD_PROD_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_PROD_PROD_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/prod/prod.h"
#include "kernels/primitives/reduce_launch.cuh"

namespace kernelwire {

/// How many factors' product f32 holds, or of integers 32 bits (8-bit ones) or 64.
template <typename T>
inline constexpr int kExactFactors = sizeof(T) == 1                                                 ? 4
                                     : std::is_same_v<T, __half> || std::is_same_v<T, std::int32_t> ? 2
                                                                                                    : 1;

template <typename T>
struct FloatProduct {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = true;
  DataType accumulator;  // a 16-bit one has every partial product rounded to it

  static __device__ __forceinline__ T Fill() { return Narrow<T>(1.0F); }
  static __device__ __forceinline__ Total Identity() { return 1.0; }
  __device__ __forceinline__ Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a * b); }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    if (accumulator == DataType::kFp16 || accumulator == DataType::kBf16) {
      MultiplyRounded(tile, total);
      return;
    }
    if constexpr (kLength == 1) {
      total *= ProductOfColumn(tile);
      return;
    }
    constexpr int kExact = kExactFactors<T> < kLength ? kExactFactors<T> : 1;
    double product = 1.0;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      AccumulatorOf<T> values[kLength];
      WidenPacked(tile[u].inputs[0], values);
      double of_vector = 1.0;
#pragma unroll
      for (int j = 0; j < kLength; j += kExact) {
        AccumulatorOf<T> exact = values[j];
#pragma unroll
        for (int k = 1; k < kExact; ++k) {
          exact *= values[j + k];
        }
        of_vector *= static_cast<double>(exact);
      }
      product *= of_vector;
    }
    total *= product;
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreResult(arguments, place, total);
  }

 private:
  template <int kCount>
  static __device__ __forceinline__ double ProductOfColumn(const Operand<T, 1, 1> (&tile)[kCount]) {
    constexpr int kExact = kCount % kExactFactors<T> == 0 ? kExactFactors<T> : 1;
    double product = 1.0;
#pragma unroll
    for (int u = 0; u < kCount; u += kExact) {
      auto exact = Widen<AccumulatorOf<T>>(tile[u].inputs[0].Get(0));
#pragma unroll
      for (int k = 1; k < kExact; ++k) {
        exact *= Widen<AccumulatorOf<T>>(tile[u + k].inputs[0].Get(0));
      }
      product *= static_cast<double>(exact);
    }
    return product;
  }

  template <int kCount, int kLength>
  __device__ __forceinline__ void MultiplyRounded(const Operand<T, kLength, 1> (&tile)[kCount], Total& total) const {
    ForEachInTurn(tile, [&](const Operand<T, kLength, 1>& operand) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        total = Combine(total, Widen<double>(operand.inputs[0].Get(j)));
      }
    });
  }
};

template <typename T>
struct IntegerProduct {
  using Element = T;
  using Total = ExactProduct;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = true;
  static constexpr bool kAnyOrder = true;
  /// Of kExactFactors.
  using Exact = std::conditional_t<sizeof(T) == 1, std::conditional_t<std::is_signed_v<T>, int, unsigned>, long long>;

  static __device__ __forceinline__ T Fill() { return 1; }
  static __device__ __forceinline__ Total Identity() { return ExactProduct::Of(1); }
  static __device__ __forceinline__ Total Combine(const Total& a, const Total& b) { return a.Times(b); }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    Exact exact = 1;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        exact *= tile[u].inputs[0].Get(j);
        const int count = u * kLength + j + 1;
        if (count % kExactFactors<T> == 0 || count == kCount * kLength) {
          total = total.Times(ExactProduct::Of(exact));
          exact = 1;
        }
      }
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place,
                                        const Total& total) const {
    StoreResult(arguments, place, total.Value());
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_PROD_PROD_KERNEL_CUH_

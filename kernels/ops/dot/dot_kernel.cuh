// What dot does with a pair of elements on the device. In f32 each product joins the sum by a fused multiply-add, which
// rounds once; chains are 8 long, and go on in f64, as in sum. A tile whose products leave f32, or are so small that it
// rounds them, is gone over once more in f64, which holds them exactly. Products of INT8 are added exactly.
#ifndef KERNELWIRE_KERNELS_OPS_DOT_DOT_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_DOT_DOT_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/sum/sum_kernel.cuh"
#include "kernels/primitives/byte_products.cuh"

namespace kernelwire {

/// What f32 rounds of products that are subnormal is little beside a tile's sum of this and more.
inline constexpr float kLeastSumOfProducts = 0x1p-100F;

/// f32 throughout a tile, or f64 where an element or the accumulator is.
template <typename T>
struct FloatDot {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 2;
  static constexpr bool kColumns = false;
  static constexpr bool kVectors = true;

  static __device__ __forceinline__ T Fill() { return Narrow<T>(0.0F); }
  static __device__ __forceinline__ Total Identity() { return 0.0; }
  static __device__ __forceinline__ Total Combine(Total a, Total b) { return a + b; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 2> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    AccumulatorOf<T> sums[kLength] = {};
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      AccumulatorOf<T> a[kLength];
      AccumulatorOf<T> b[kLength];
      WidenPacked(tile[u].inputs[0], a);
      WidenPacked(tile[u].inputs[1], b);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        sums[j] = fma(a[j], b[j], sums[j]);
      }
    }
    const AccumulatorOf<T> sum = SumPairwise<kLength>(sums);
    if (!kMayLeaveF32<T> || (fabs(sum) <= kMostOfF32 && fabs(sum) >= kLeastSumOfProducts) ||
        (sum == 0 && !MayHaveProduct(tile))) {
      total += static_cast<double>(sum);
    } else {
      ForEachInTurn(tile, [&](const Operand<T, kLength, 2>& operand) {
#pragma unroll
        for (int j = 0; j < kLength; ++j) {
          total = fma(Widen<double>(operand.inputs[0].Get(j)), Widen<double>(operand.inputs[1].Get(j)), total);
        }
      });
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreResult(arguments, place, total);
  }

 private:
  /// False: all of one side is zero, and so is every product, whatever f32 makes of them. By their bits: widened
  /// elements would be kept in registers for this.
  template <int kCount, int kLength>
  static __device__ __forceinline__ bool MayHaveProduct(const Operand<T, kLength, 2> (&tile)[kCount]) {
    constexpr unsigned kAllButSigns = sizeof(T) == 2 ? 0x7FFF7FFFU : 0x7FFFFFFFU;
    unsigned any[2] = {};
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int w = 0; w < Packed<T, kLength>::kWords; ++w) {
        any[0] |= tile[u].inputs[0].words[w];
        any[1] |= tile[u].inputs[1].words[w];
      }
    }
    return (any[0] & kAllButSigns) != 0 && (any[1] & kAllButSigns) != 0;
  }
};

/// INT8, four products an instruction.
struct Int8Dot {
  using Element = std::int8_t;
  using Total = long long;
  static constexpr int kInputs = 2;
  static constexpr bool kColumns = false;
  static constexpr bool kVectors = true;

  static __device__ __forceinline__ Element Fill() { return 0; }
  static __device__ __forceinline__ Total Identity() { return 0; }
  static __device__ __forceinline__ Total Combine(Total a, Total b) { return a + b; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<Element, kLength, 2> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    int sum = 0;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int i = 0; i < kLength / 4; ++i) {
        sum = AddProducts<Element>(tile[u].inputs[0].words[i], tile[u].inputs[1].words[i], sum);
      }
    }
    total += sum;
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreResult(arguments, place, total);
  }
};

/// With an accumulator asked for by name: f64, or a 16-bit type to which every partial sum is rounded.
template <typename T>
struct NamedDot {
  using Element = T;
  using Total = double;
  static constexpr int kInputs = 2;
  static constexpr bool kColumns = false;
  static constexpr bool kVectors = false;
  DataType accumulator;

  static __device__ __forceinline__ T Fill() { return Narrow<T>(0.0F); }
  static __device__ __forceinline__ Total Identity() { return 0.0; }
  __device__ __forceinline__ Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a + b); }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 2> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    ForEachInTurn(tile, [&](const Operand<T, kLength, 2>& operand) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        total = Combine(total, Widen<double>(operand.inputs[0].Get(j)) * Widen<double>(operand.inputs[1].Get(j)));
      }
    });
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    StoreResult(arguments, place, total);
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_DOT_DOT_KERNEL_CUH_

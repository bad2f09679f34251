// What max and min do with an element on the device; argmax and argmin compare the same way. The smallest is the
// largest of what has been turned around: -x, or ~x for integers, which have one more negative number.
#ifndef KERNELWIRE_KERNELS_OPS_MAX_MAX_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_MAX_MAX_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/reduce_launch.cuh"
#include "kernels/primitives/reduce_pairs.cuh"

namespace kernelwire {

/// What elements of T are compared as: nothing is rounded.
template <typename T>
using ComparedAs =
    std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, long long, int>, AccumulatorOf<T>>;

/// The order of `max` (NaN above everything, the zeros equal), or that of `min` turned around.
template <typename T>
struct Turned {
  using Work = ComparedAs<T>;
  bool smallest = false;

  __device__ __forceinline__ Work operator()(Work value) const {
    if constexpr (std::is_integral_v<T>) {
      return smallest ? ~value : value;
    } else {
      return smallest ? -value : value;
    }
  }
  /// An element that nothing loses to.
  __device__ __forceinline__ T Least() const {
    if constexpr (std::is_integral_v<T>) {
      return smallest ? kLargest<T> : kSmallest<T>;
    } else if constexpr (std::is_same_v<T, __nv_fp8_e4m3>) {  // has no infinities
      return Narrow<T>(smallest ? 448.0F : -448.0F);
    } else {
      return InfiniteElement<T>(!smallest);
    }
  }
  /// A total below everything, turned already.
  static __device__ __forceinline__ Work Lowest() {
    if constexpr (std::is_integral_v<T>) {
      return kSmallest<Work>;
    } else {
      return -kInfinity<Work>;
    }
  }
};

/// The larger, or NaN where either is.
template <typename Work>
__device__ __forceinline__ Work LargerOrNan(Work a, Work b) {
#if __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<Work, float>) {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
  }
#endif
  return a >= b || a != a ? a : b;  // a NaN `b` is not reached by >=
}

/// Elements to compare, widened and turned.
template <typename T, int kLength>
__device__ __forceinline__ void TurnPacked(const Turned<T>& turned, const Packed<T, kLength>& packed,
                                           ComparedAs<T> (&values)[kLength]) {
  if constexpr (std::is_integral_v<T>) {
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      values[j] = turned(packed.Get(j));
    }
  } else {
    WidenPacked(packed, values);
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      values[j] = turned(values[j]);
    }
  }
}

/// The largest at each place of a tile's operands: of each column, if they are rows of these.
template <typename T, int kCount, int kLength>
__device__ __forceinline__ void LargestOfPlaces(const Turned<T>& turned, const Operand<T, kLength, 1> (&tile)[kCount],
                                                ComparedAs<T> (&largest)[kLength]) {
  if constexpr (kHasPairs<T> && kLength % 2 == 0) {
    unsigned pairs[kLength / 2];
    LargestPairs(tile, FlipOfHalves(turned.smallest), pairs);
#pragma unroll
    for (int i = 0; i < kLength / 2; ++i) {
      ComparedAs<T> both[2];
      WidenHalves<T>(pairs[i], both);
      largest[2 * i] = both[0];
      largest[2 * i + 1] = both[1];
    }
  } else {
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      ComparedAs<T> values[kLength];
      TurnPacked(turned, tile[u].inputs[0], values);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        largest[j] = u == 0 ? values[j] : LargerOrNan(largest[j], values[j]);
      }
    }
  }
}

/// The largest of a tile's elements.
template <typename T, int kCount, int kLength>
__device__ __forceinline__ ComparedAs<T> LargestOfTile(const Turned<T>& turned,
                                                       const Operand<T, kLength, 1> (&tile)[kCount]) {
  using Work = ComparedAs<T>;
  if constexpr (kHasPairs<T> && kLength % 2 == 0) {
    Work both[2];
    WidenHalves<T>(LargestHalf(tile, FlipOfHalves(turned.smallest)), both);
    return both[0];
  } else {
    Work largest[kLength];
    LargestOfPlaces(turned, tile, largest);
#pragma unroll
    for (int j = 1; j < kLength; ++j) {
      largest[0] = LargerOrNan(largest[0], largest[j]);
    }
    return largest[0];
  }
}

template <typename T>
struct Extremum {
  using Element = T;
  using Work = ComparedAs<T>;
  using Total = Work;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = true;
  using ColumnSum = Total;
  Turned<T> turned;

  __device__ __forceinline__ T Fill() const { return turned.Least(); }
  static __device__ __forceinline__ Total Identity() { return Turned<T>::Lowest(); }
  static __device__ __forceinline__ Total Combine(Total a, Total b) { return LargerOrNan(a, b); }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    total = LargerOrNan(total, LargestOfTile(turned, tile));
  }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                             const ElementNumbers& /*numbers*/, Total (&totals)[kLength]) const {
    Work largest[kLength];
    LargestOfPlaces(turned, rows, largest);
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      totals[j] = LargerOrNan(totals[j], largest[j]);
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place, Total total) const {
    if constexpr (std::is_integral_v<T>) {
      StoreResult(arguments, place, static_cast<long long>(turned(total)));
    } else {
      StoreResult(arguments, place, static_cast<double>(turned(total)));
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_MAX_MAX_KERNEL_CUH_

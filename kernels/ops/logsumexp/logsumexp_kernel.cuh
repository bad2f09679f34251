// What logsumexp does with an element on the device: one pass, in which the sum is rescaled whenever the maximum grows.
// Source: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018.
//
// Unlike softmax, +infinity is a result and not a NaN: of an infinite maximum nothing is subtracted, so that exp(+inf)
// makes the sum infinite, and exp(-inf) adds 0. NaN need not survive in the maximum: its exponential makes the sum NaN.
#ifndef KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/reduce_launch.cuh"

namespace kernelwire {

/// exp(x). In f32 by a power of two where the elements have 16 bits or fewer: its error, at most (2 + |x|) * 2^-23 of
/// the result, is far below what they are known to.
template <typename T, typename Acc>
__device__ __forceinline__ Acc ExpOf(Acc x) {
  if constexpr (std::is_same_v<Acc, double>) {
    return exp(x);
  } else if constexpr (sizeof(T) <= 2) {
    return exp2f(x * 1.4426950408889634F);
  } else {
    return expf(x);
  }
}

/// sum = the sum of exp(x - OffsetOf(maximum)).
template <typename Acc>
struct ScaledSum {
  double sum;
  Acc maximum;

  __device__ __forceinline__ Acc Offset() const { return OffsetOf(maximum); }
  static __device__ __forceinline__ Acc OffsetOf(Acc maximum) { return isinf(maximum) ? Acc{0} : maximum; }
};

/// `Acc`: what exponentials are computed in; f64 where the accumulator is f64 or rounds each partial sum.
template <typename T, typename Acc>
struct LogSumExp {
  using Element = T;
  using Total = ScaledSum<Acc>;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = std::is_same_v<Acc, float> && sizeof(T) >= 2;
  DataType accumulator;  // a 16-bit one has every partial sum rounded to it

  /// Integers and E4M3 have no -infinity: their missing elements are told by Operand::present.
  static __device__ __forceinline__ T Fill() {
    if constexpr (std::is_integral_v<T>) {
      return 0;
    } else {
      return InfiniteElement<T>(true);
    }
  }
  static __device__ __forceinline__ Total Identity() { return {0.0, -kInfinity<Acc>}; }

  __device__ __forceinline__ Total Combine(const Total& a, const Total& b) const {
    const Acc maximum = fmax(a.maximum, b.maximum);
    const Acc offset = Total::OffsetOf(maximum);
    const double sum = Rescaled(a, offset) + Rescaled(b, offset);
    return {RoundedTo(accumulator, sum), maximum};
  }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount], std::int64_t /*first*/,
                                          std::int64_t /*step*/, Total& total) const {
    Acc values[kCount][kLength];
    Acc maximum = total.maximum;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      WidenPacked(tile[u].inputs[0], values[u]);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        values[u][j] = (tile[u].present >> j & 1U) != 0 ? values[u][j] : -kInfinity<Acc>;
        maximum = fmax(maximum, values[u][j]);
      }
    }
    const Acc offset = Total::OffsetOf(maximum);
    total.sum = Rescaled(total, offset);
    total.maximum = maximum;
    if (accumulator == DataType::kFp16 || accumulator == DataType::kBf16) {
      AddRounded(values, offset, total.sum);
      return;
    }
    Acc sums[kLength] = {};
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        sums[j] += ExpOf<T>(values[u][j] - offset);
      }
    }
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      total.sum += static_cast<double>(sums[j]);
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place,
                                        const Total& total) const {
    StoreResult(arguments, place, log(total.sum) + static_cast<double>(total.Offset()));
  }

 private:
  /// The sum as it is with another offset; an empty one is 0 with any.
  __device__ __forceinline__ double Rescaled(const Total& total, Acc offset) const {
    if (total.sum == 0.0) {
      return 0.0;
    }
    return RoundedTo(accumulator, total.sum * static_cast<double>(ExpOf<T>(total.Offset() - offset)));
  }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddRounded(const Acc (&values)[kCount][kLength], Acc offset, double& sum) const {
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        sum = RoundedTo(accumulator, sum + static_cast<double>(ExpOf<T>(values[u][j] - offset)));
      }
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_KERNEL_CUH_

// What logsumexp does with a floating-point element on the device: one pass, in which the sum is rescaled whenever the
// maximum grows. Source: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018.
//
// Unlike softmax, +infinity is a result and not a NaN: of an infinite maximum nothing is subtracted, so that exp(+inf)
// makes the sum infinite, and exp(-inf) adds 0. NaN need not survive in the maximum: its exponential makes the sum NaN.
#ifndef KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/log_of_sum.cuh"
#include "kernels/primitives/reduce_launch.cuh"
#include "kernels/primitives/reduce_pairs.cuh"

namespace kernelwire {

/// exp(x) for x that is not above zero, unless the maximum is infinite. In f32 by a power of two where the elements
/// have 16 bits or fewer: its error, at most (2 + |x|) * 2^-23 of the result, is far below what they are known to. What
/// is below the range of normal numbers counts as 0 there: it is added to a sum of 1 or more.
template <typename T, typename Acc>
__device__ __forceinline__ Acc ExpOf(Acc x) {
  if constexpr (std::is_same_v<Acc, double>) {
    return exp(x);
  } else if constexpr (sizeof(T) <= 2) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.4426950408889634F));
    return power;
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
  static constexpr bool kVectors = std::is_same_v<Acc, float>;
  static constexpr bool kHasTotalOfTile = std::is_same_v<Acc, float>;
  static constexpr bool kByPairs = kHasPairs<T>;
  using ColumnSum = std::conditional_t<kHasTotalOfTile && kByPairs, Total, void>;
  DataType accumulator;  // a 16-bit one has every partial sum rounded to it

  /// E4M3 has no -infinity: its missing elements are told by Operand::present.
  static __device__ __forceinline__ T Fill() { return InfiniteElement<T>(true); }
  static __device__ __forceinline__ Total Identity() { return {0.0, -kInfinity<Acc>}; }

  __device__ __forceinline__ Total Combine(const Total& a, const Total& b) const {
    const Acc maximum = fmax(a.maximum, b.maximum);
    return {AddShares(ShareOf(a, maximum), ShareOf(b, maximum)), maximum};
  }

  using Reference = Acc;
  using Share = double;
  static __device__ __forceinline__ Reference ReferenceOf(const Total& total) { return total.maximum; }
  static __device__ __forceinline__ Reference Larger(Reference a, Reference b) { return fmax(a, b); }
  __device__ __forceinline__ Share ShareOf(const Total& total, Reference maximum) const {
    return Rescaled(total, Total::OffsetOf(maximum));
  }
  __device__ __forceinline__ Share AddShares(Share a, Share b) const { return Rounded(__dadd_rn(a, b)); }
  static __device__ __forceinline__ Total TotalOf(Share sum, Reference maximum) { return {sum, maximum}; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    const Acc offset = RaiseMaximum(LargestOf(tile), total);
    if (kMayRound && RoundsEach()) {
      ForEachElement(tile, [&](int /*place*/, Acc x) {
        total.sum = Rounded(total.sum + static_cast<double>(ExpOf<T>(x - offset)));
      });
    } else {
      total.sum = __dadd_rn(total.sum, static_cast<double>(PowersOf(tile, offset)));
    }
  }

  /// As AddTile of each column.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                             const ElementNumbers& numbers, Total (&totals)[kLength]) const {
    if constexpr (kLength % 2 == 0) {
      unsigned pairs[kLength / 2];
      LargestPairs(rows, 0, pairs);
#pragma unroll
      for (int i = 0; i < kLength / 2; ++i) {
        AddPairOfColumns(rows, i, pairs[i], totals[2 * i], totals[2 * i + 1]);
      }
    } else {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        AddTile(ColumnOf(rows, j).tile, numbers, totals[j]);
      }
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place,
                                        const Total& total) const {
    if constexpr (std::is_same_v<Acc, double>) {
      StoreResult(arguments, place, log(total.sum) + total.Offset());
    } else {
      StoreResult(arguments, place, LogOfSum<kShortLog>(total.sum, total.Offset()));
    }
  }

  template <int kCount, int kLength>
  static __device__ __forceinline__ Total TotalOfTile(const Operand<T, kLength, 1> (&tile)[kCount]) {
    const Acc maximum = fmax(-kInfinity<Acc>, LargestOf(tile));
    return {static_cast<double>(PowersOf(tile, Total::OffsetOf(maximum))), maximum};
  }

  /// With nothing in f64 on its way.
  template <int kCount, int kLength>
  static __device__ __forceinline__ void StoreOfTile(const ReduceArguments& arguments, const ResultPlace& place,
                                                     const Operand<T, kLength, 1> (&tile)[kCount]) {
    const Acc offset = Total::OffsetOf(fmax(-kInfinity<Acc>, LargestOf(tile)));
    StoreResult(arguments, place, LogOfSum<kShortLog>(PowersOf(tile, offset), offset));
  }

 private:
  static constexpr bool kHasInfinity = !std::is_same_v<T, __nv_fp8_e4m3>;
  static constexpr bool kMayRound = std::is_same_v<Acc, double>;
  static constexpr bool kShortLog = sizeof(T) <= 2;  // as ExpOf

  __device__ __forceinline__ bool RoundsEach() const {
    return accumulator == DataType::kFp16 || accumulator == DataType::kBf16;
  }
  __device__ __forceinline__ double Rounded(double sum) const { return kMayRound ? RoundedTo(accumulator, sum) : sum; }

  /// Makes the maximum at least `value`, and returns its offset, which the sum then has.
  __device__ __forceinline__ Acc RaiseMaximum(Acc value, Total& total) const {
    const Acc maximum = fmax(total.maximum, value);
    const Acc offset = Total::OffsetOf(maximum);
    total.sum = Rescaled(total, offset);
    total.maximum = maximum;
    return offset;
  }

  /// Columns 2 * i and 2 * i + 1 of a tile of rows; `pair`: the largest of each.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddPairOfColumns(const Operand<T, kLength, 1> (&rows)[kCount], int i, unsigned pair,
                                                   Total& low, Total& high) const {
    Acc largest[2];
    WidenHalves<T>(pair, largest);
    const Acc low_offset = RaiseMaximum(largest[0], low);
    const Acc high_offset = RaiseMaximum(largest[1], high);
    Acc low_sum = 0;
    Acc high_sum = 0;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      Acc x[2];
      WidenHalves<T>(PairAt(rows[u].inputs[0], i, 0), x);
      if (!kHasInfinity && rows[u].present == 0) {  // a row is there, or it is not
        x[0] = -kInfinity<Acc>;
        x[1] = -kInfinity<Acc>;
      }
      low_sum += ExpOf<T>(x[0] - low_offset);
      high_sum += ExpOf<T>(x[1] - high_offset);
    }
    low.sum = __dadd_rn(low.sum, static_cast<double>(low_sum));
    high.sum = __dadd_rn(high.sum, static_cast<double>(high_sum));
  }

  /// The sum as it is with another offset, that of a maximum not below; an empty one is 0 with any.
  __device__ __forceinline__ double Rescaled(const Total& total, Acc offset) const {
    const Acc down = fmin(total.Offset() - offset, Acc{0});
    return Rounded(total.sum * static_cast<double>(ExpOf<T>(down)));
  }

  /// Calls f(place in its operand, x) for each x of a tile.
  template <int kCount, int kLength, typename F>
  static __device__ __forceinline__ void ForEachElement(const Operand<T, kLength, 1> (&tile)[kCount], const F& f) {
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      Acc values[kLength];
      WidenPresent(tile[u], values);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        f(j, values[j]);
      }
    }
  }

  /// The sum of exp(x - offset).
  template <int kCount, int kLength>
  static __device__ __forceinline__ Acc PowersOf(const Operand<T, kLength, 1> (&tile)[kCount], Acc offset) {
    Acc sums[kLength] = {};
    ForEachElement(tile, [&](int place, Acc x) { sums[place] += ExpOf<T>(x - offset); });
    return SumPairwise<kLength>(sums);
  }

  /// Elements, widened; -infinity for those that are not there.
  template <int kLength>
  static __device__ __forceinline__ void WidenPresent(const Operand<T, kLength, 1>& operand, Acc (&values)[kLength]) {
    WidenPacked(operand.inputs[0], values);
    if constexpr (!kHasInfinity) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        values[j] = (operand.present >> j & 1U) != 0 ? values[j] : -kInfinity<Acc>;
      }
    }
  }

  /// The largest of a tile; NaN may be passed over. Missing E4M3 elements are the least one, which no maximum is below.
  template <int kCount, int kLength>
  static __device__ __forceinline__ Acc LargestOf(const Operand<T, kLength, 1> (&tile)[kCount]) {
    if constexpr (kByPairs && kLength % 2 == 0) {
      Acc both[2];
      WidenHalves<T>(LargestHalf(tile, 0), both);
      return both[0];
    } else {
      Acc largest = -kInfinity<Acc>;
      ForEachElement(tile, [&](int /*place*/, Acc x) { largest = fmax(largest, x); });
      return largest;
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_KERNEL_CUH_

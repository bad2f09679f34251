// What logsumexp does with an integer on the device: as with others (logsumexp_kernel.cuh), but differences from the
// maximum are whole numbers, whose powers of e are products of two of a table.
#ifndef KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_INTEGERS_CUH_
#define KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_INTEGERS_CUH_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/primitives/reduce_launch.cuh"

namespace kernelwire {

/// exp(-k) of k = 0 to 31, and of k = 0, 32, 64, ... 736, each rounded once. In cached memory, where lanes may read
/// different ones at once.
// clang-format off
static __device__ const double kPowersOfUnits[32] = {
    1.0, 0.36787944117144233, 0.1353352832366127, 0.049787068367863944, 0.01831563888873418, 0.006737946999085467,
    0.0024787521766663585, 0.0009118819655545162, 0.00033546262790251185, 0.00012340980408667956,
    4.5399929762484854e-05, 1.670170079024566e-05, 6.14421235332821e-06, 2.2603294069810542e-06,
    8.315287191035679e-07, 3.059023205018258e-07, 1.1253517471925912e-07, 4.139937718785167e-08,
    1.522997974471263e-08, 5.602796437537268e-09, 2.061153622438558e-09, 7.582560427911907e-10,
    2.7894680928689246e-10, 1.026187963170189e-10, 3.775134544279098e-11, 1.3887943864964021e-11,
    5.109089028063325e-12, 1.8795288165390832e-12, 6.914400106940203e-13, 2.543665647376923e-13,
    9.357622968840175e-14, 3.442477108469977e-14};
static __device__ const double kPowersOfSteps[24] = {
    1.0, 1.2664165549094176e-14, 1.603810890548638e-28, 2.031092662734811e-42, 2.572209372642415e-56,
    3.257488532207521e-70, 4.125337404615185e-84, 5.22439558379172e-98, 6.616261056709485e-112,
    8.378942533819369e-126, 1.0611231537463512e-139, 1.3438239287020702e-153, 1.7018408701917146e-167,
    2.1552394518322364e-181, 2.7294309215942424e-195, 3.4565965045886174e-209, 4.377491037053051e-223,
    5.543727118291579e-237, 7.020667798504735e-251, 8.891089926545851e-265, 1.1259823474166023e-278,
    1.4259626853041525e-292, 1.8058627513522668e-306, 2.287e-320};
// clang-format on

/// Where exp(-k) is less than the least double: the end of the table.
inline constexpr unsigned kNoPower = 767;

/// exp(-k). Requires: k <= kNoPower.
__device__ __forceinline__ double PowerOfE(unsigned k) {
  return __dmul_rn(__ldg(kPowersOfUnits + k % 32), __ldg(kPowersOfSteps + k / 32));
}

template <typename T>
struct IntegerLogSumExp {
  using Element = T;
  using Whole = std::conditional_t<sizeof(T) == 8, long long, int>;
  struct Total {
    double sum;  // of exp(x - maximum)
    Whole maximum;
  };
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = true;
  static constexpr T kLeast = std::numeric_limits<T>::min();
  DataType accumulator;  // a 16-bit one has every partial sum rounded to it

  /// No maximum is below it; Operand::present says that it is no element.
  static __device__ __forceinline__ T Fill() { return kLeast; }
  static __device__ __forceinline__ Total Identity() { return {0.0, kLeast}; }

  __device__ __forceinline__ Total Combine(const Total& a, const Total& b) const {
    const Whole maximum = Larger(a.maximum, b.maximum);
    return {AddShares(ShareOf(a, maximum), ShareOf(b, maximum)), maximum};
  }

  using Reference = Whole;
  using Share = double;
  static __device__ __forceinline__ Reference ReferenceOf(const Total& total) { return total.maximum; }
  static __device__ __forceinline__ Reference Larger(Reference a, Reference b) { return a > b ? a : b; }
  __device__ __forceinline__ Share ShareOf(const Total& total, Reference maximum) const {
    return total.maximum == maximum ? total.sum : Rounded(__dmul_rn(total.sum, PowerOf(total.maximum, maximum)));
  }
  __device__ __forceinline__ Share AddShares(Share a, Share b) const { return Rounded(__dadd_rn(a, b)); }
  static __device__ __forceinline__ Total TotalOf(Share sum, Reference maximum) { return {sum, maximum}; }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount],
                                          const ElementNumbers& /*numbers*/, Total& total) const {
    Whole maximum = total.maximum;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        maximum = Larger(maximum, static_cast<Whole>(tile[u].inputs[0].Get(j)));
      }
    }
    total = {ShareOf(total, maximum), maximum};
    if (accumulator == DataType::kFp16 || accumulator == DataType::kBf16) {
      ForEachPower(tile, maximum, [&](int /*place*/, double power) { total.sum = Rounded(total.sum + power); });
    } else {
      constexpr int kChains = kLength < 4 ? kLength : 4;
      double sums[kChains] = {};
      ForEachPower(tile, maximum,
                   [&](int place, double power) { sums[place % kChains] = __dadd_rn(sums[place % kChains], power); });
      total.sum = __dadd_rn(total.sum, SumPairwise<kChains>(sums));
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place,
                                        const Total& total) const {
    StoreResult(arguments, place, log(total.sum) + static_cast<double>(total.maximum));
  }

 private:
  __device__ __forceinline__ double Rounded(double sum) const { return RoundedTo(accumulator, sum); }

  /// exp(x - maximum) for x <= maximum.
  static __device__ __forceinline__ double PowerOf(Whole x, Whole maximum) {
    using Unsigned = std::make_unsigned_t<Whole>;
    const Unsigned below = static_cast<Unsigned>(maximum) - static_cast<Unsigned>(x);  // which a Whole may not hold
    return PowerOfE(below < kNoPower ? static_cast<unsigned>(below) : kNoPower);
  }

  /// Calls f(place in its operand, exp(x - maximum)) for each x of a tile, with
  /// 0 for those that are not there.
  template <int kCount, int kLength, typename F>
  static __device__ __forceinline__ void ForEachPower(const Operand<T, kLength, 1> (&tile)[kCount], Whole maximum,
                                                      const F& f) {
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        const bool is_there = (tile[u].present >> j & 1U) != 0;
        f(j, is_there ? PowerOf(static_cast<Whole>(tile[u].inputs[0].Get(j)), maximum) : 0.0);
      }
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_INTEGERS_CUH_

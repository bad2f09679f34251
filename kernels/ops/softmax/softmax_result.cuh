// From the statistics of a row of softmax or log_softmax to its results.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_RESULT_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_RESULT_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/log_of_sum.cuh"
#include "kernels/primitives/row_reduce.cuh"
#include "kernels/primitives/running_softmax.cuh"
#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {

/// A row's sum in Acc, and what that lacks of all digits.
template <typename Acc, typename Sum>
__device__ __forceinline__ TwoParts<Acc> WholeSum(const RunningSoftmax<Acc, Sum>& row) {
  const auto value = static_cast<Acc>(row.sum);
  return {value, static_cast<Acc>(row.sum - static_cast<Sum>(value))};
}
__device__ __forceinline__ TwoParts<float> WholeSum(const TwoPartSoftmax& row) { return row.Sum(); }

/// The probability of each element. `kWhole`: it is divided by all digits of a sum that has more than Acc.
template <typename Out, typename Acc, bool kWhole>
struct Probabilities {
  Acc maximum;
  TwoParts<Acc> sum;
  Acc last;  // 1 / sum; 16 bits: what scaled exponentials are multiplied by

  template <typename Sum>
  __device__ __forceinline__ explicit Probabilities(const RunningSoftmax<Acc, Sum>& row)
      : maximum(row.maximum),
        sum(WholeSum(row)),
        last(sizeof(Out) == 2 ? static_cast<Acc>(Sum{1} / row.sum / Sum{kExpScale<Out>}) : Acc{1} / sum.value) {}

  __device__ __forceinline__ Acc operator()(Acc x) const { return Quotient(ScaledExp<Out>(x - maximum)); }

  /// From an element's exponential, as ScaledExp gives it. A product with 1 / sum would round twice, which only 16 bits
  /// hide.
  __device__ __forceinline__ Acc Quotient(Acc exponential) const {
    const Acc product = exponential * last;
    if constexpr (sizeof(Out) == 2) {
      return product;
    } else {
      Acc left = fma(-product, sum.value, exponential);
      if constexpr (kWhole) {
        left = fma(-product, sum.rest, left);
      }
      return fma(left, last, product);
    }
  }
};

/// What makes probabilities of exponentials that were taken below the maxima of stretches.
template <typename Out, typename Acc, typename Statistics, int kStretches>
class StretchScales {
 public:
  __device__ __forceinline__ StretchScales(const Statistics& row, const Acc (&own_maxima)[kStretches]) : row_(row) {
#pragma unroll
    for (int s = 0; s < kStretches; ++s) {
      // Where the row is nothing but -infinity, 0 * (1 / 0) gives the NaN that is due.
      const Acc factor = SoftmaxExp<Out>(own_maxima[s] - SoftmaxOffset(row.maximum));
      of_stretch_[s] = sizeof(Out) == 2 ? factor * row_.last : factor;
    }
  }
  __device__ __forceinline__ Acc Scaled(Acc exponential, int s) const {
    const Acc product = exponential * of_stretch_[s];
    return sizeof(Out) == 2 ? product : row_.Quotient(product);
  }

 private:
  Probabilities<Out, Acc, sizeof(Out) == 4> row_;
  Acc of_stretch_[kStretches];
};

/// The same of blocks in two parts, so that nothing but the probability is rounded. Lanes divide the stretches.
template <typename Out, int kStretches>
class StretchScales<Out, float, TwoPartSoftmax, kStretches> {
 public:
  __device__ __forceinline__ StretchScales(const TwoPartSoftmax& row, const float (&own_maxima)[kStretches]) {
    const TwoParts<float> own = row.ScaleBelow(PartOfLane(own_maxima));
#pragma unroll
    for (int s = 0; s < kStretches; ++s) {
      of_stretch_[s] = {__shfl_sync(0xFFFFFFFFU, own.value, s * (32 / kStretches)),
                        __shfl_sync(0xFFFFFFFFU, own.rest, s * (32 / kStretches))};
    }
  }
  __device__ __forceinline__ float Scaled(float exponential, int s) const {
    return fmaf(exponential, of_stretch_[s].value, exponential * of_stretch_[s].rest);
  }

 private:
  TwoParts<float> of_stretch_[kStretches];
};

/// The logarithm of each, in 16 bits and in f64.
template <typename Acc>
struct LogProbabilities {
  Acc maximum;
  Acc log_of_sum;

  template <typename Sum>
  __device__ __forceinline__ explicit LogProbabilities(const RunningSoftmax<Acc, Sum>& row)
      : maximum(row.maximum), log_of_sum(static_cast<Acc>(log(row.sum))) {}

  __device__ __forceinline__ Acc operator()(Acc x) const { return (x - maximum) - log_of_sum; }
};

/// The logarithm of each in FP32, rounded once: the maximum and the logarithm of the sum are added with their digits
/// beyond a float's, and what rounding takes from an element's difference is added again.
struct ExactLogProbabilities {
  TwoParts<float> offset;  // NaN for a row that has none

  template <typename Statistics>
  __device__ __forceinline__ explicit ExactLogProbabilities(const Statistics& row) {
    const TwoParts<float> sum = WholeSum(row);
    const TwoParts<float> log = LogInTwo(SplitNumber<float>(sum.value));
    const TwoParts<float> most = SumInTwo(row.maximum, log.value);
    offset = SumOfLargeInTwo(most.value, most.rest + (log.rest + __fdividef(sum.rest, sum.value)));
    offset.value = sum.value > 0.0F ? offset.value : __int_as_float(0x7FFFFFFF);
  }

  __device__ __forceinline__ float operator()(float x) const {
    const TwoParts<float> difference = SumInTwo(x, -offset.value);
    const float result = difference.value + (difference.rest - offset.rest);
    return isinf(difference.value) ? difference.value : result;
  }
};

/// `kWhole`: see Probabilities.
template <bool kLog, typename Out, typename Acc, bool kWhole = false>
using SoftmaxResult = std::conditional_t<!kLog, Probabilities<Out, Acc, kWhole>,
                                         std::conditional_t<std::is_same_v<Out, float> && std::is_same_v<Acc, float>,
                                                            ExactLogProbabilities, LogProbabilities<Acc>>>;

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_RESULT_CUH_

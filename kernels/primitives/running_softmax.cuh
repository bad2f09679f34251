// The two statistics of a softmax row, found in one pass and merged between threads.
// Source: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018.
//
// Infinities and NaN. A part that holds nothing but -infinity has a maximum of -infinity, and -inf - -inf would be NaN:
// while the maximum is -infinity, 0 is subtracted instead, and such elements count 0. NaN need not survive in
// `maximum`, because its exponential makes `sum` NaN, and so does that of +infinity (inf - inf); a NaN sum makes every
// result of the row NaN. A row of nothing but -infinity ends with its maximum at -infinity, and exp(x - maximum) gives
// the NaN that is due.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_RUNNING_SOFTMAX_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_RUNNING_SOFTMAX_CUH_

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/exp_in_two.cuh"
#include "kernels/primitives/minus_infinity.h"
#include "kernels/primitives/rounded_product.cuh"
#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {

/// exp(x) for x <= 0, of any size. Results that end in 16 bits take the faster power of two: its error, at most
/// (2 + |x|) * 2^-23 of the result, is far below half of a unit there.
template <typename Out, typename Acc>
__device__ __forceinline__ Acc SoftmaxExp(Acc x) {
  if constexpr (std::is_same_v<Acc, double>) {
    return exp(x);
  } else if constexpr (sizeof(Out) == 2) {
    return exp2f(x * 1.4426950408889634F);
  } else {
    return expf(x);
  }
}

/// How far exponentials for results of type Out are scaled up, as a power of two. The instruction for powers of two
/// flushes subnormal ones, so those that a BF16 result could show are kept out of its reach. FP16 shows none of them.
template <typename Out>
inline constexpr float kExpScale = std::is_same_v<Out, __nv_bfloat16> ? 256.0F : 1.0F;

/// kExpScale * exp(x) for x <= 0. Results that end in 16 bits take the instruction for powers of two, whose error, at
/// most (5 + |x|) * 2^-23 of the result, is far below half of a unit there.
template <typename Out, typename Acc>
__device__ __forceinline__ Acc ScaledExp(Acc x) {
  if constexpr (std::is_same_v<Acc, float> && sizeof(Out) == 2) {
    constexpr float kShift = std::is_same_v<Out, __nv_bfloat16> ? 8.0F : 0.0F;
    float power = 0.0F;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(fma(x, 1.4426950408889634F, kShift)));
    return power;
  } else {
    return SoftmaxExp<Out>(x);
  }
}

/// What is subtracted from elements whose largest is `maximum`.
template <typename Acc>
__device__ __forceinline__ Acc SoftmaxOffset(Acc maximum) {
  return maximum == kMinusInfinity<Acc> ? Acc{0} : maximum;
}

/// `Sum` is f64 where parts are long or many: then the longest row is summed as exactly as a short one.
template <typename Acc, typename Sum = double>
struct RunningSoftmax {
  Acc maximum;
  Sum sum;  // of exp(x - SoftmaxOffset(maximum))

  static __device__ __forceinline__ RunningSoftmax Empty() { return {kMinusInfinity<Acc>, Sum{0}}; }
};

/// The statistics of both parts together. The smaller maximum's sum is the one that is rescaled, so (a, b) and (b, a)
/// give the same bits. The factor does not wait for which that is: threads that merge wait for each other.
template <typename Out, typename Acc, typename Sum>
__device__ __forceinline__ RunningSoftmax<Acc, Sum> Merge(const RunningSoftmax<Acc, Sum>& a,
                                                          const RunningSoftmax<Acc, Sum>& b) {
  const Acc factor = SoftmaxExp<Out>(-fabs(a.maximum - b.maximum));
  // Members are picked one by one: a reference to the one or the other would put both into memory.
  const bool a_leads = a.maximum >= b.maximum;
  const Sum high_sum = a_leads ? a.sum : b.sum;
  const Sum low_sum = a_leads ? b.sum : a.sum;
  RunningSoftmax<Acc, Sum> merged;
  merged.maximum = a_leads ? a.maximum : b.maximum;
  // Equal maxima need no factor, and of equal infinities it would be NaN.
  merged.sum = a.maximum == b.maximum ? high_sum + low_sum : fma(low_sum, static_cast<Sum>(factor), high_sum);
  return merged;
}

/// Statistics whose sum is in two parts: `rest` is what roundings have left out of `sum`. Of an f64 sum lanes that
/// merge in many steps would wait for each conversion and each addition.
///
/// Sums are of exp(x - reference), a multiple of 64 near the maximum: parts of most rows have the same one, and their
/// sums add up; what is one multiple below is rescaled by a constant of all digits, and of what is two below nothing is
/// left. Rescaled by the exponential of a difference, all elements of a part would share what rounding takes from it.
struct TwoPartSoftmax {
  float maximum;
  float reference;
  float sum;
  float rest;

  static constexpr float kStep = 64.0F;
  static constexpr TwoParts<float> kStepDown{1.603810939E-28F, -4.840254038E-36F};  // exp(-64)

  static __device__ __forceinline__ TwoPartSoftmax Empty() {
    return {kMinusInfinity<float>, kMinusInfinity<float>, 0.0F, 0.0F};
  }

  /// Of a part with this maximum, where `sum` is of exp(x - maximum).
  static __device__ __forceinline__ TwoPartSoftmax Of(float maximum, double sum) {
    const auto value = static_cast<float>(sum);
    const auto lacking = static_cast<float>(sum - static_cast<double>(value));
    const float reference = kStep * rintf(maximum / kStep);
    const TwoParts<float> factor = FromReference(maximum, reference);
    const float product = RoundedProduct(value, factor.value);
    const float lost = fmaf(value, factor.rest, fmaf(value, factor.value, -product));
    const TwoParts<float> whole = SumOfLargeInTwo(product, fmaf(lacking, factor.value, lost));
    return {maximum, reference, whole.value, whole.rest};
  }

  /// The sum of exp(x - maximum). What `Of` multiplied by is divided by again: a part that nothing has been added to
  /// comes back as it was, if it was a float.
  __device__ __forceinline__ TwoParts<float> Sum() const {
    const TwoParts<float> factor = FromReference(maximum, reference);
    const float quotient = __fdiv_rn(sum, factor.value);
    const float left = fmaf(-quotient, factor.value, sum) + fmaf(-quotient, factor.rest, rest);
    return SumOfLargeInTwo(quotient, __fdividef(left, factor.value));
  }

  /// What exponentials below `own`, the maximum of a part however far below the row's, are multiplied by to be
  /// probabilities: exp(own - reference) over the sum. Where that is 144 below, nothing is left of it.
  __device__ __forceinline__ TwoParts<float> ScaleBelow(float own) const {
    const float inverse = 1.0F / sum;
    const TwoParts<float> reciprocal{inverse, inverse * fmaf(-inverse, rest, fmaf(-inverse, sum, 1.0F))};
    const TwoParts<float> below = SumInTwo(own, -reference);  // of a part beside another reference it is inexact
    const float apart = own == reference ? 0.0F : fmaxf(below.value, -80.0F - kStep);
    const bool far = apart < -kStep;
    TwoParts<float> factor = ExpInTwo(far ? apart + kStep : apart);
    factor.rest = fmaf(factor.value, below.value > -80.0F - kStep ? below.rest : 0.0F, factor.rest);
    const TwoParts<float> scale = ProductInTwo(factor, reciprocal);
    return ProductInTwo(scale, {far ? kStepDown.value : 1.0F, far ? kStepDown.rest : 0.0F});  // last: it may underflow
  }

 private:
  /// Of infinities 1.
  static __device__ __forceinline__ TwoParts<float> FromReference(float maximum, float reference) {
    return ExpInTwo(maximum == reference ? 0.0F : maximum - reference);
  }
};

/// As above.
template <typename Out>
__device__ __forceinline__ TwoPartSoftmax Merge(const TwoPartSoftmax& a, const TwoPartSoftmax& b) {
  constexpr TwoParts<float> kStepDown = TwoPartSoftmax::kStepDown;
  const float apart = fabsf(a.reference - b.reference);  // NaN where both are the same infinity
  const float factor = apart == TwoPartSoftmax::kStep ? kStepDown.value : apart > TwoPartSoftmax::kStep ? 0.0F : 1.0F;
  const float factor_rest = apart == TwoPartSoftmax::kStep ? kStepDown.rest : 0.0F;
  const bool a_leads = a.reference >= b.reference;
  const float low_sum = a_leads ? b.sum : a.sum;
  const float product = RoundedProduct(low_sum, factor);
  const TwoParts<float> sum = SumInTwo(a_leads ? a.sum : b.sum, product);
  const float lost = fmaf(low_sum, factor_rest, fmaf(low_sum, factor, -product));
  const float rest = fmaf(a_leads ? b.rest : a.rest, factor, a_leads ? a.rest : b.rest);
  return {fmaxf(a.maximum, b.maximum), a_leads ? a.reference : b.reference, sum.value, rest + (lost + sum.rest)};
}

/// Merge of statistics in two parts. Those of one reference, and those of nothing but -infinity, need no factor.
struct SoftmaxMerge {
  class Quick {
   public:
    __device__ __forceinline__ explicit Quick(const TwoPartSoftmax& one) : reference_(one.reference) {}
    __device__ __forceinline__ bool Takes(const TwoPartSoftmax& part) const {
      return part.reference == reference_ || part.reference == kMinusInfinity<float>;
    }
    __device__ __forceinline__ TwoPartSoftmax operator()(const TwoPartSoftmax& a, const TwoPartSoftmax& b) const {
      const TwoParts<float> sum = SumInTwo(a.sum, b.sum);
      return {fmaxf(a.maximum, b.maximum), reference_, sum.value, __fadd_rn(a.rest + b.rest, sum.rest)};
    }

   private:
    float reference_;
  };

  __device__ __forceinline__ TwoPartSoftmax operator()(const TwoPartSoftmax& a, const TwoPartSoftmax& b) const {
    return Merge<float>(a, b);
  }
};

/// Adds `count` elements to `running`: their maximum first, then their exponentials. Unrolled; `x` stays in registers.
template <typename Out, int kCount, typename Acc>
__device__ __forceinline__ void AddElements(const Acc (&x)[kCount], RunningSoftmax<Acc>& running) {
  Acc maximum = running.maximum;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    maximum = fmax(maximum, x[i]);
  }
  const Acc offset = SoftmaxOffset(maximum);
  Acc sum{0};
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    sum += ScaledExp<Out>(x[i] - offset);
  }
  sum *= static_cast<Acc>(1.0F / kExpScale<Out>);
  // After +infinity the old maximum may equal the offset: inf - inf is the NaN that is due.
  const Acc factor = SoftmaxExp<Out>(running.maximum - offset);
  running.sum = fma(running.sum, static_cast<double>(factor), static_cast<double>(sum));
  running.maximum = maximum;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_RUNNING_SOFTMAX_CUH_

// Mean and variance of a row, by the threads that share it.
//
// Moments are centred, and corrected: a first mean is taken, then the sum and the sum of squares of what is left when
// it is subtracted. The first mean may be off, and the sum of the rest tells by how much. That of a few elements is
// near enough for most rows, and takes no reduction; where it is not, so that squares would cancel, the mean that has
// been found is the next first one, and it is right to its rounding (mean 1e4, deviation 1e-2). Short 16-bit rows have
// their mean found before anything is subtracted. Source: T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for
// computing the sample variance", 1983.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/rounded_product.cuh"
#include "kernels/primitives/row_beginning.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_moments.h"
#include "kernels/primitives/row_reduce.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {

/// Sum and sum of squares of deviations from a first mean; their parts add up.
template <typename Acc>
struct Deviations {
  Acc sum;
  Acc squares;
};

/// Of lanes' shares of FP32 rows: `rest` is what roundings have left out of `sum`. A first mean may be off by some of
/// the deviation, and the sum tells by how much: results would show its digits.
struct DeviationsInTwo {
  float sum;
  float rest;
  float squares;
};

struct SumOfDeviations {
  __device__ __forceinline__ DeviationsInTwo operator()(const DeviationsInTwo& a, const DeviationsInTwo& b) const {
    const TwoParts<float> sum = SumInTwo(a.sum, b.sum);
    return {sum.value, __fadd_rn(__fadd_rn(a.rest, b.rest), sum.rest), __fadd_rn(a.squares, b.squares)};
  }
  template <typename Acc>
  __device__ __forceinline__ Deviations<Acc> operator()(const Deviations<Acc>& a, const Deviations<Acc>& b) const {
    return {a.sum + b.sum, a.squares + b.squares};
  }
};

template <typename Group, typename Acc, int kStretches>
__device__ __forceinline__ Deviations<Acc> TotalOf(Group& group, const RowParts<Deviations<Acc>, kStretches>& parts) {
  return group.Reduce(parts, Deviations<Acc>{0, 0}, SumOfDeviations{});
}

struct MeanAndVariance;

/// The mean in two parts, of which the second is the rounding of the first or, where that makes no difference to
/// results, how far off a first mean was; and the variance.
template <typename Acc>
struct Moments {
  Acc first_mean;
  Acc correction;
  Acc variance;
  bool is_close;  // the first mean was near enough, by `most_off`: squares did not cancel

  /// `mean` gives that of a sum. `stays`: the first mean is not replaced by a better one, so that what has been
  /// subtracted from elements need not be subtracted anew.
  template <typename Sum, typename Mean>
  __device__ __forceinline__ Moments(Acc first, const Deviations<Sum>& total, const Mean& mean, float most_off,
                                     bool stays) {
    const Sum centre = mean(total.sum);
    const auto off = static_cast<Acc>(centre);
    variance = static_cast<Acc>(mean(fma(-total.sum, centre, total.squares)));
    is_close = off * off <= static_cast<Acc>(most_off) * variance;  // not of a NaN
    variance = variance < Acc{0} ? Acc{0} : variance;
    first_mean = first;
    correction = off;
    if (!stays) {
      first_mean = first + off;
      const Acc moved = first_mean - first;
      correction = (first - (first_mean - moved)) + (off - moved);  // Knuth's sum of two
    }
  }

  __device__ __forceinline__ explicit Moments(const MeanAndVariance& moments);
  /// Where the mean was known before the squares were taken.
  __device__ __forceinline__ Moments(Acc mean, Acc rest, Acc its_variance)
      : first_mean(mean), correction(rest), variance(its_variance), is_close(true) {}

  __device__ __forceinline__ Acc Mean() const { return first_mean + correction; }
  /// What elements of T are multiplied by.
  template <typename T>
  __device__ __forceinline__ RowFactor<T, Acc> InvStdDev(const NormEpsilon& epsilon) const {
    return InverseRootFor<T>(variance + epsilon.As<Acc>());
  }
  __device__ __forceinline__ bool LeaveF32(const NormEpsilon& epsilon) const {
    return std::is_same_v<Acc, float> && MomentsLeaveF32(Mean(), variance, epsilon.As<Acc>());
  }
};

/// The same in f64, of a row or a part of one. Those of parts merge: Deviations from a first mean add up.
struct MeanAndVariance {
  double mean;
  double variance;

  /// Of `count` elements that have these, from `first_mean`.
  __device__ __forceinline__ Deviations<double> From(double first_mean, double count) const {
    const double off = mean - first_mean;
    return {RoundedProduct(count, off), RoundedProduct(count, fma(off, off, variance))};
  }
  /// Of `width` elements with `total` deviations from `first_mean`.
  static __device__ __forceinline__ MeanAndVariance Of(const Deviations<double>& total, double first_mean,
                                                       std::int64_t width) {
    const double inverse = ReciprocalOfCount(width);
    const double off = RoundedProduct(total.sum, inverse);
    const double variance = RoundedProduct(fma(-total.sum, off, total.squares), inverse);
    return {first_mean + off, variance < 0.0 ? 0.0 : variance};
  }
  template <typename Acc>
  static __device__ __forceinline__ MeanAndVariance Of(const Moments<Acc>& moments) {
    return {static_cast<double>(moments.first_mean) + static_cast<double>(moments.correction),
            static_cast<double>(moments.variance)};
  }
};

template <typename Acc>
__device__ __forceinline__ Moments<Acc>::Moments(const MeanAndVariance& moments)
    : first_mean(static_cast<Acc>(moments.mean)),
      correction(static_cast<Acc>(moments.mean - static_cast<double>(first_mean))),
      variance(static_cast<Acc>(moments.variance)),
      is_close(true) {}

/// By how much of the deviation a first mean may be off (squared).
template <typename T>
inline constexpr float kMostOff = sizeof(T) == 2 ? 2.0F : 0.5F;

/// This thread's part of the deviations of stretch `s`. `kWhole`: the row goes on beyond the stretch. What is held
/// beyond the row's end are zeros, and deviate from zero.
template <bool kWhole, typename Acc, typename Held, typename Group>
__device__ __forceinline__ Deviations<Acc> DeviationsOfStretch(const Group& group, const Held& held, int s, int count,
                                                               Acc mean) {
  // Threads of a block that have no vector pass by. 16-bit rows the branches would cost more registers than there are.
  constexpr bool kPassesBy =
      !kWhole && Held::kLength > 2 && std::is_same_v<Group, BlockGroup> && sizeof(typename Held::Element) != 2;
  Acc sums[2] = {};
  Acc squares[2] = {};
#pragma unroll
  for (int v = s * Held::kVectorsOfStretch; v < Held::EndOfStretch(s); ++v) {
    const bool whole = kWhole || v < Held::template kFirstThatEnds<Group>;
    const int left = count - Held::IndexOf(group, v);
    if (kPassesBy && !whole && left <= 0) {
      continue;
    }
    Acc values[Held::kLength];
    Unpack<typename Held::Element>(held.vectors[v], values);
#pragma unroll
    for (int j = 0; j < Held::kLength; ++j) {
      const Acc deviation = values[j] - (whole || left > j / Held::kGrain * Held::kGrain ? mean : Acc{0});
      const int chain = (v * Held::kLength + j) % 2;
      sums[chain] += deviation;
      squares[chain] = fma(deviation, deviation, squares[chain]);
    }
  }
  return {sums[0] + sums[1], squares[0] + squares[1]};
}

/// Whether a mean is found before squares are taken: of 16-bit rows that lanes share. Two reductions of a number each
/// take as many shuffles as one of two numbers, no first mean has to be found, and what squares are taken of is what
/// results are made of. FP32 rows would have to know more of their sums, blocks would wait twice, and so would more
/// than a few lanes, or with more than a few words each.
template <typename Held, typename Group>
inline constexpr bool kInTwoPasses = sizeof(typename Held::Element) == 2 && !std::is_same_v<Group, BlockGroup> &&
                                     (std::is_same_v<typename Held::Unit, Granule> || Group::kLanes == 1 ||
                                      (Group::kLanes <= 8 && Held::kVectors <= 12));

/// Whether stretches that a row fills have code of their own. What lanes have in vectors ends in the last of them, and
/// what has been unpacked for the first of two passes serves the second, where no branch lies between.
template <typename Held, typename Group>
inline constexpr bool kAsksForEnd = std::is_same_v<Group, BlockGroup> ||
                                    (!std::is_same_v<typename Held::Unit, Granule> && !kInTwoPasses<Held, Group>);

/// This thread's part of the deviations of `count` elements.
template <typename Acc, typename Held, typename Group>
__device__ __forceinline__ RowParts<Deviations<Acc>, Held::kStretches> DeviationsOf(const Group& group,
                                                                                    const Held& held, int count,
                                                                                    Acc mean) {
  RowParts<Deviations<Acc>, Held::kStretches> parts;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    parts.of_stretch[s] = kAsksForEnd<Held, Group> && Held::HasWhole(group, s, count)
                              ? DeviationsOfStretch<true>(group, held, s, count, mean)
                              : DeviationsOfStretch<false>(group, held, s, count, mean);
  }
  return parts;
}

/// Moments of a row of `width` elements from what a thread has of its deviations from `first_mean`.
template <typename T, typename Acc, typename Group, int kStretches, typename Mean>
__device__ __forceinline__ Moments<Acc> MomentsFrom(Group& group, const RowParts<Deviations<Acc>, kStretches>& parts,
                                                    int width, Acc first_mean, const Mean& mean) {
  if constexpr (!std::is_same_v<T, float> || !std::is_same_v<Acc, float>) {
    return Moments<Acc>(first_mean, TotalOf(group, parts), mean, kMostOff<T>, sizeof(T) == 2);
  } else {
    Deviations<float> total;
    float rest = 0.0F;
    if constexpr (std::is_same_v<Group, BlockGroup>) {
      total = TotalOf(group, parts);
    } else {
      const Deviations<float>& own = parts.of_stretch[0];
      const RowParts<DeviationsInTwo, 1> in_two{{{own.sum, 0.0F, own.squares}}};
      const auto sums = group.Reduce(in_two, DeviationsInTwo{0.0F, 0.0F, 0.0F}, SumOfDeviations{});
      total = {sums.sum, sums.squares};
      rest = sums.rest;
    }
    Moments<float> moments(first_mean, total, mean, kMostOff<T>, false);
    const auto of = static_cast<float>(width);
    const float left = fmaf(-mean(total.sum), of, total.sum) + rest;
    moments.correction += isnan(left) ? 0.0F : __fdividef(left, of);  // of an infinite sum nothing is left
    return moments;
  }
}

/// Moments in two passes. The mean is rounded once: elements that are all equal have no deviation, and their sums are
/// exact. (Sums of others are rounded where elements differ so much that it makes no difference to their deviations.)
template <typename Acc, typename Held, typename Group, typename Mean>
__device__ __forceinline__ Moments<Acc> MomentsInTwoPasses(Group& group, Held& held, int width, const Mean& mean) {
  const auto of = static_cast<Acc>(width);
  const Acc own = DeviationsOf(group, held, width, Acc{0}).of_stretch[0].sum;
  const Acc sum = RowSum(group, RowParts<Acc, 1>{{own}});
  // ptxas would keep FP16 elements unpacked until the second pass, for which the longest rows leave no registers.
  if constexpr (std::is_same_v<typename Held::Element, __half> && Group::kLanes == 32 && Held::kVectors == 4) {
    held.StayPacked();
  }
  const Acc about = mean(sum);
  const Acc centre = about + mean(fma(-about, of, sum));
  const Acc rest = mean(fma(-centre, of, sum));
  const Acc squares = DeviationsOf(group, held, width, centre).of_stretch[0].squares;
  return {centre, rest, mean(RowSum(group, RowParts<Acc, 1>{{squares}}))};
}

/// The moments of a held row of `width` elements, where deviations_from(first_mean) is what a thread has of its
/// deviations; `mean` gives the mean of a sum. Called by all of the group.
template <typename Acc, typename Held, typename Group, typename Mean, typename DeviationsFrom>
__device__ __forceinline__ Moments<Acc> MomentsOfHeld(Group& group, Held& held, int width, Acc first_mean,
                                                      const Mean& mean, const DeviationsFrom& deviations_from) {
#pragma unroll 1
  for (bool again = false;; again = true) {
    const auto moments =
        MomentsFrom<typename Held::Element>(group, deviations_from(first_mean), width, first_mean, mean);
    if (again) {
      return moments;
    }
    if constexpr (Held::kStoresTogether) {
      group.PartIf(!moments.is_close);
    }
    if (moments.is_close) {  // alike in the whole group
      return moments;
    }
    group.GoAlone();
    held.StayPacked();
    first_mean = moments.Mean();
  }
}

template <typename Acc, typename Held, typename Group, typename Beginning, typename Mean>
__device__ __forceinline__ Moments<Acc> MomentsOf(Group& group, Held& held, const Beginning& beginning, int width,
                                                  const Mean& mean) {
  if constexpr (kInTwoPasses<Held, Group>) {
    return MomentsInTwoPasses<Acc>(group, held, width, mean);
  } else {
    return MomentsOfHeld(group, held, width, FirstMean<Acc>(group, held, beginning, width), mean,
                         [&](Acc first_mean) { return DeviationsOf(group, held, width, first_mean); });
  }
}

/// For the rare row whose moments f32 cannot hold: x is read again, in the order of held rows.
template <typename Held, typename Group, typename Row>
__device__ __noinline__ Moments<double> MomentsInF64(Group group, const Row row) {
  constexpr int kHeldOfStretch = Held::kVectorsOfStretch * Held::kLength;
  const Group before = group;
  group.GoAlone();
  const int width = row.x.count;
  const auto index_of = [&](int i) { return Held::IndexOf(group, i / Held::kLength) + i % Held::kLength; };
  RowParts<double, Held::kStretches> sums{};
#pragma unroll 1
  for (int i = 0; i < Held::kHeld; ++i) {
    const int index = index_of(i);
    sums.of_stretch[i / kHeldOfStretch] += index < width ? Widen<double>(row.x.data[index]) : 0.0;
  }
  const double first_mean = RowSum(group, sums) / width;
  RowParts<Deviations<double>, Held::kStretches> parts{};
#pragma unroll 1
  for (int i = 0; i < Held::kHeld; ++i) {
    const int index = index_of(i);
    const double deviation = index < width ? Widen<double>(row.x.data[index]) - first_mean : 0.0;
    Deviations<double>& part = parts.of_stretch[i / kHeldOfStretch];
    part = {part.sum + deviation, fma(deviation, deviation, part.squares)};
  }
  const Deviations<double> total = TotalOf(group, parts);
  ReturnTo(before, group);
  return {first_mean, total, [&](double sum) { return sum / width; }, 0.0F, false};
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_CUH_

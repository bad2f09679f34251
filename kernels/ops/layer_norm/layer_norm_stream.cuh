// Rows of layer_norm that registers do not hold, and results of another type than x.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_STREAM_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_STREAM_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/ops/layer_norm/layer_norm_moments.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_stream.cuh"

namespace kernelwire {

/// The moments of a part of a row, a stretch at a time; a thread adds its stretches in f64.
template <bool kPlain, typename Acc, typename T>
__device__ Moments<Acc> StreamMoments(BlockGroup& group, const RowSource<T>& x, const RowPart& part, Granule* place) {
  const std::int64_t width = part.end - part.first;
  const auto mean = [&](Acc sum) { return sum / static_cast<Acc>(width); };
  RowBeginning<T, false> beginning;
  beginning.Load(x.data + part.first, width);
  Acc first_mean = beginning.template Mean<Acc>();
#pragma unroll 1
  for (bool again = false;; again = true) {
    Deviations<double> own{0.0, 0.0};
    ForEachStretch<T>(group, part, [&](std::int64_t first, int count) {
      const auto held = LoadStretch<FillZero, kPlain>(group, x, part.width, first, count, place);
      const Deviations<Acc> of_stretch = DeviationsOf(group, held, count, first_mean).of_stretch[0];
      own = {own.sum + static_cast<double>(of_stretch.sum), own.squares + static_cast<double>(of_stretch.squares)};
    });
    const RowParts<Deviations<Acc>, 1> parts{{{static_cast<Acc>(own.sum), static_cast<Acc>(own.squares)}}};
    const Moments<Acc> moments(first_mean, TotalOf(group, parts), mean, kMostOff<T>, false);
    if (again || moments.is_close) {  // alike in the whole group
      return moments;
    }
    first_mean = moments.Mean();
  }
}

/// The same in f64, out of line: for rare rows.
template <bool kPlain, typename T>
__device__ __noinline__ MeanAndVariance StreamMomentsInF64(BlockGroup group, const RowSource<T> x, const RowPart part,
                                                           Granule* place) {
  const BlockGroup before = group;
  const auto moments = StreamMoments<kPlain, double>(group, x, part, place);
  ReturnTo(before, group);
  return MeanAndVariance::Of(moments);
}

/// The same, in f64 where they leave f32.
template <bool kPlain, typename Acc, typename T>
__device__ MeanAndVariance StreamMeanAndVariance(BlockGroup& group, const RowSource<T>& x, const RowPart& part,
                                                 const NormEpsilon& epsilon, Granule* place) {
  const auto moments = StreamMoments<kPlain, Acc>(group, x, part, place);
  return moments.LeaveF32(epsilon) ? StreamMomentsInF64<kPlain>(group, x, part, place) : MeanAndVariance::Of(moments);
}

/// Mean and variance of a row from those of its parts: their deviations from the first part's mean add up.
template <typename T>
__device__ MeanAndVariance MergeMoments(BlockGroup& group, const PartTotals<MeanAndVariance>& totals,
                                        const StreamedParts& parts, std::int64_t width) {
  const double first_mean = totals.At(0).mean;
  const auto deviations = [&](const MeanAndVariance& of_part, int index) {
    const RowPart part = RowPartAt<T>(parts, width, index, 1);
    const auto count = static_cast<double>(part.end - part.first);
    const double off = of_part.mean - first_mean;
    return Deviations<double>{count * off, count * fma(off, off, of_part.variance)};
  };
  const auto add = [](const Deviations<double>& a, const Deviations<double>& b) {
    return Deviations<double>{a.sum + b.sum, a.squares + b.squares};
  };
  const auto total = totals.Merge(group, Deviations<double>{0.0, 0.0}, deviations, add);
  const double inverse = ReciprocalOfCount(width);
  const double off = RoundedProduct(total.sum, inverse);
  const double variance = RoundedProduct(fma(-total.sum, off, total.squares), inverse);
  return {first_mean + off, variance < 0.0 ? 0.0 : variance};
}

/// y of a part of a plain row, with parameters of its type.
template <typename T, typename Acc>
__device__ __forceinline__ void StoreNormalisedPlainPart(const BlockGroup& group, const LayerNormRow<T, T>& row,
                                                         const RowPart& part, const Moments<Acc>& moments,
                                                         Acc inv_std_dev) {
  using Held = StreamVectors<T, true>;
  ForEachStretchBackwards<T>(group, part, [&](std::int64_t first, int count) {
    StretchParameter<T, Acc> weight(row.weight_word, static_cast<const T*>(row.weight) + first, Acc{1});
    StretchParameter<T, Acc> bias(row.bias_word, static_cast<const T*>(row.bias) + first, Acc{0});
    weight.Prefetch(group, count);
    bias.Prefetch(group, count);
    const Held held = LoadStretch<FillZero, true>(group, row.x, part.width, first, count, nullptr);
    Held::Store(group, row.y + first, count, nullptr, [&](int v, int) {
      Acc values[Held::kLength];
      Acc weights[Held::kLength];
      Acc biases[Held::kLength];
      Unpack<T>(held.vectors[v], values);
      weight.FetchedValues(v, weights);
      bias.FetchedValues(v, biases);
      Normalise(moments, inv_std_dev, weights, biases, values);
      return Pack<T>(values);
    });
  });
}

/// Statistics and y of a part of a row, a stretch at a time; the first part writes the statistics.
template <bool kPlain, typename Acc, typename T, typename Out>
__device__ __forceinline__ void StoreNormalisedPart(const BlockGroup& group, const LayerNormRow<T, Out>& row,
                                                    const RowPart& part, const Moments<Acc>& moments,
                                                    const NormEpsilon& epsilon,
                                                    const StreamSpace<T, kPlain, 1>& space) {
  const Acc inv_std_dev = moments.InvStdDev(epsilon);
  if (part.index == 0) {
    StoreStatistics(group, row, moments, inv_std_dev);
  }
  if (row.y == nullptr) {
    return;
  }
  if constexpr (kPlain && std::is_same_v<Acc, AccumulatorOf<T>>) {
    if (StretchParameter<T, Acc>(row.weight_word, row.weight, Acc{1}).IsOfSameType() &&
        StretchParameter<T, Acc>(row.bias_word, row.bias, Acc{0}).IsOfSameType()) {
      StoreNormalisedPlainPart(group, row, part, moments, inv_std_dev);
      return;
    }
  }
  const StreamedParameter<T, Acc, kPlain> weight(row.weight_word, row.weight, Acc{1});
  const StreamedParameter<T, Acc, kPlain> bias(row.bias_word, row.bias, Acc{0});
  const auto compute = [&](std::int64_t at, Acc(&values)[kElementsOfGranule<T>]) {
    Acc weights[kElementsOfGranule<T>];
    Acc biases[kElementsOfGranule<T>];
    weight.Values(at, part.width, weights);
    bias.Values(at, part.width, biases);
    Normalise(moments, inv_std_dev, weights, biases, values);
  };
  ForEachStretchBackwards<T>(group, part, [&](std::int64_t first, int count) {
    const auto held = LoadStretch<FillZero, kPlain>(group, row.x, part.width, first, count, space.In(0));
    StoreStretch<Acc>(group, held, first, count, row.y, space.Out(), compute);
  });
}

/// The same in f64, out of line.
template <bool kPlain, typename T, typename Out>
__device__ __noinline__ void StoreNormalisedPartInF64(const BlockGroup group, const LayerNormRow<T, Out> row,
                                                      const RowPart part, const MeanAndVariance moments,
                                                      const NormEpsilon epsilon,
                                                      const StreamSpace<T, kPlain, 1> space) {
  StoreNormalisedPart(group, row, part, Moments<double>(moments), epsilon, space);
}

/// Rows of any width, and results of any type: x is read twice or, where the first elements of a part tell little of
/// it, three times. A row of no elements has statistics, which are NaN.
template <typename T, typename Out, bool kPlain, StreamPass kOnly>
__global__ void __launch_bounds__(kMostThreadsOfStream<kPlain>, kStreamsAtATime<kPlain>)
    LayerNormStreamKernel(const __grid_constant__ LayerNormArguments arguments, StreamPass asked) {
  AwaitEarlierWork(arguments);
  const StreamPass pass = PassOf<kOnly>(asked);
  using Acc = AccumulatorOf<T, Out>;
  const StreamedParts& parts = arguments.tuning.parts;
  BlockGroup group(1);
  const StreamSpace<T, kPlain, 1> space;
  ForEachRange<T>(pass, parts, arguments.total_rows, arguments.width, [&](std::int64_t index, const RowPart& range) {
    const auto row = LayerNormRowAt<T, Out>(arguments, index);
    const auto moments_of = [&](const RowPart& part) {
      return StreamMeanAndVariance<kPlain, Acc>(group, row.x, part, arguments.epsilon, space.In(0));
    };
    const PartTotals<MeanAndVariance> totals(arguments.table, index, parts);
    if (pass == StreamPass::kTotals) {
      ForEachPart<T>(parts, range, [&](const RowPart& part) { totals.Leave(part, moments_of(part)); });
      return;
    }
    if (pass == StreamPass::kResults) {
      FetchPart(group, row.x.data, range);
    }
    const auto of_row =
        pass == StreamPass::kResults ? MergeMoments<T>(group, totals, parts, range.width) : moments_of(range);
    const Moments<Acc> moments(of_row);
    if (moments.LeaveF32(arguments.epsilon)) {
      StoreNormalisedPartInF64<kPlain>(group, row, range, of_row, arguments.epsilon, space);
    } else {
      StoreNormalisedPart(group, row, range, moments, arguments.epsilon, space);
    }
  });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_STREAM_CUH_

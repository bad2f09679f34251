// Rows of layer_norm that registers do not hold, and results of another type than x.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_STREAM_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_STREAM_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/row_beginning.cuh"
#include "kernels/primitives/row_moments.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_parts.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_stream_store.cuh"

namespace kernelwire {

/// The moments of a part of a row, a stretch at a time; a thread adds its stretches in f64. read(first, count) gives a
/// stretch, read_again the same where the first mean was not near enough.
template <typename Acc, typename T, typename Read, typename ReadAgain>
__device__ __forceinline__ Moments<Acc> StreamMoments(BlockGroup& group, const T* x, const RowPart& part,
                                                      const Read& read, const ReadAgain& read_again) {
  const std::int64_t width = part.end - part.first;
  const auto mean = [&](Acc sum) { return sum / static_cast<Acc>(width); };
  RowBeginning<T, false> beginning;
  beginning.Load(x + part.first, width);
  Acc first_mean = beginning.template Mean<Acc>();
#pragma unroll 1
  for (bool again = false;; again = true) {
    Deviations<double> own{0.0, 0.0};
    ForEachStretch<T>(group, part, [&](std::int64_t first, int count) {
      const auto held = again ? read_again(first, count) : read(first, count);
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
template <typename Source>
__device__ __noinline__ MeanAndVariance StreamMomentsInF64(BlockGroup group, const Source source, const RowPart part) {
  const BlockGroup before = group;
  const auto read = [&](std::int64_t first, int count) { return ReadStretch(group, source, part, first, count); };
  const auto moments = StreamMoments<double>(group, source.x.data, part, read, read);
  ReturnTo(before, group);
  return MeanAndVariance::Of(moments);
}

/// The same, in f64 where they leave f32.
template <typename Acc, typename Source>
__device__ __forceinline__ MeanAndVariance StreamMeanAndVariance(BlockGroup& group, const Source& source,
                                                                 StretchesAhead<Source>& ahead, const RowPart& range,
                                                                 const RowPart& part, const NormEpsilon& epsilon) {
  const auto moments = StreamMoments<Acc>(
      group, source.x.data, part,
      [&](std::int64_t first, int count) { return ahead.template Next<true>(group, source, range, first, count); },
      [&](std::int64_t first, int count) { return ReadStretch(group, source, part, first, count); });
  return moments.LeaveF32(epsilon) ? StreamMomentsInF64(group, source, part) : MeanAndVariance::Of(moments);
}

/// Mean and variance of a row from those of its parts, about the first part's mean.
template <typename T>
__device__ MeanAndVariance MergeMoments(BlockGroup& group, const PartTotals<MeanAndVariance>& totals,
                                        const StreamedParts& parts, std::int64_t width) {
  totals.Await();
  const double first_mean = totals.At(0).mean;
  const auto deviations = [&](const MeanAndVariance& of_part, int index) {
    const RowPart part = RowPartAt<T>(parts, width, index, 1);
    return of_part.From(first_mean, static_cast<double>(part.end - part.first));
  };
  const auto total = totals.Merge(group, Deviations<double>{0.0, 0.0}, deviations, SumOfDeviations{});
  totals.Depart();
  return MeanAndVariance::Of(total, first_mean, width);
}

/// y of a range of a row with parameters of its type; its first stretch has been asked for.
template <typename Acc, typename Source, typename T, typename Factor>
__device__ __forceinline__ void StoreNormalisedAhead(const BlockGroup& group, const Source& source,
                                                     StretchesAhead<Source>& ahead, const LayerNormRow<T, T>& row,
                                                     const RowPart& range,
                                                     const Normalisation<Acc, Factor>& normalisation,
                                                     CachePriority priority) {
  using Held = typename Source::Held;
  ForEachStretch<T>(group, range, [&](std::int64_t first, int count) {
    StretchParameter<Held, Acc> weight(row.weight_word, static_cast<const T*>(row.weight) + first, Acc{1});
    StretchParameter<Held, Acc> bias(row.bias_word, static_cast<const T*>(row.bias) + first, Acc{0});
    weight.Prefetch(group, count);
    bias.Prefetch(group, count);  // of one that was left out nothing: its elements stay zeros
    const Held held = ahead.template Next<false>(group, source, range, first, count);
    const auto result_of = [&](int v, int) {
      Acc values[Held::kLength];
      Acc weights[Held::kLength];
      Acc biases[Held::kLength];
      Unpack<T>(held.vectors[v], values);
      weight.FetchedValues(v, weights);
      bias.FetchedValues(v, biases);
      Normalise(normalisation, weights, biases, values);
      return Pack<T>(values);
    };
    Held::Store(group, row.y + first, count, nullptr, result_of, priority);
  });
}

/// y of a range of a row, a stretch at a time. `out`: see StoreStretch.
template <typename Acc, typename Source, typename T, typename Out, typename Factor>
__device__ __forceinline__ void StoreNormalisedRange(const BlockGroup& group, const Source& source,
                                                     const LayerNormRow<T, Out>& row, const RowPart& range,
                                                     const Normalisation<Acc, Factor>& normalisation, Granule* out) {
  using Held = typename Source::Held;
  if constexpr (std::is_same_v<typename Held::Unit, Word>) {
    StoreElements<Acc>(group, source, range, row.y, [&](std::int64_t at, Acc value) {
      Acc values[] = {value};
      const Acc weights[] = {ParameterAt(row.weight_word, row.weight, at, Acc{1})};
      const Acc biases[] = {ParameterAt(row.bias_word, row.bias, at, Acc{0})};
      Normalise(normalisation, weights, biases, values);
      return values[0];
    });
  } else {
    const StreamedParameter<T, Acc, Held::kPlain> weight(row.weight_word, row.weight, Acc{1});
    const StreamedParameter<T, Acc, Held::kPlain> bias(row.bias_word, row.bias, Acc{0});
    const auto compute = [&](std::int64_t at, Acc(&values)[Held::kLength]) {
      Acc weights[Held::kLength];
      Acc biases[Held::kLength];
      weight.Values(at, range.width, weights);
      bias.Values(at, range.width, biases);
      Normalise(normalisation, weights, biases, values);
    };
    ForEachStretchBackwards<T>(group, range, [&](std::int64_t first, int count) {
      StoreStretch<Acc>(group, ReadStretch(group, source, range, first, count), first, count, row.y, out, compute);
    });
  }
}

/// Statistics and y of a range of a row; the row's first writes the statistics. store(normalisation) writes y.
template <typename T, typename Acc, typename Row, typename Store>
__device__ __forceinline__ void FinishNormalised(const BlockGroup& group, const Row& row, const RowPart& range,
                                                 const Moments<Acc>& moments, const NormEpsilon& epsilon,
                                                 const Store& store) {
  const auto inv_std_dev = moments.template InvStdDev<T>(epsilon);
  if (range.index == 0) {
    StoreStatistics(group, row, moments, inv_std_dev);
  }
  if (row.y != nullptr) {
    store(Normalisation<Acc, std::decay_t<decltype(inv_std_dev)>>(moments, inv_std_dev));
  }
}

/// The same in f64, out of line.
template <typename Source, typename Row>
__device__ __noinline__ void FinishNormalisedInF64(const BlockGroup group, const Source source, const Row row,
                                                   const RowPart range, const MeanAndVariance of_row,
                                                   const NormEpsilon epsilon, Granule* out) {
  FinishNormalised<typename Source::Element>(group, row, range, Moments<double>(of_row), epsilon,
                                             [&](const Normalisation<double, double>& normalisation) {
                                               StoreNormalisedRange(group, source, row, range, normalisation, out);
                                             });
}

/// Statistics and y of a range of a row whose moments are known.
template <typename Acc, typename Source, typename T, typename Out>
__device__ __forceinline__ void NormaliseRange(const BlockGroup& group, const Source& source,
                                               StretchesAhead<Source>& ahead, const LayerNormRow<T, Out>& row,
                                               const RowPart& range, const MeanAndVariance& of_row,
                                               const NormEpsilon& epsilon, CachePriority priority, Granule* out) {
  const Moments<Acc> in_acc(of_row);
  if (in_acc.LeaveF32(epsilon)) {
    FinishNormalisedInF64(group, source, row, range, of_row, epsilon, out);
    return;
  }
  FinishNormalised<T>(group, row, range, in_acc, epsilon, [&](const auto& normalisation) {
    if constexpr (Source::kAhead) {
      using Parameter = StretchParameter<typename Source::Held, Acc>;
      const Parameter bias(row.bias_word, row.bias, Acc{0});
      if (Parameter(row.weight_word, row.weight, Acc{1}).IsOfSameType() && (bias.IsOfSameType() || bias.IsAbsent())) {
        StoreNormalisedAhead(group, source, ahead, row, range, normalisation, priority);
        return;
      }
    }
    StoreNormalisedRange(group, source, row, range, normalisation, out);
  });
}

/// Rows of any width, and results of any type: x is read twice or, where the first elements of a part tell little of
/// it, three times. A row of no elements has statistics, which are NaN.
template <typename T, typename Out, StreamAccess kAccess>
__global__ void __launch_bounds__(kMostThreadsOfStream<kAccess>, StreamsAtATime<kAccess>(3, 2))
    LayerNormStreamKernel(const __grid_constant__ LayerNormArguments arguments, const StreamedRows rows) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T, Out>;
  using Source = StreamedRow<T, FillZero, kAccess>;
  const RowTuning& tuning = arguments.tuning;
  BlockGroup group(1);
  const StreamSpace<T, kAccess, 1> space;
  ForEachRange<T, Source::kAhead>(
      tuning.parts, rows, arguments.width, [&](std::int64_t index, const RowPart& range, StreamPass pass) {
        const auto row = LayerNormRowAt<T, Out>(arguments, index);
        const Source source{row.x, space.In(0), PriorityOfReads(tuning, pass)};
        StretchesAhead<Source> ahead;
        ahead.Begin(group, source, range);
        const auto moments_of = [&](const RowPart& part) {
          return StreamMeanAndVariance<Acc>(group, source, ahead, range, part, arguments.epsilon);
        };
        const PartTotals<MeanAndVariance> totals(arguments.table, arguments.tickets, tuning.parts, rows, index);
        if (pass == StreamPass::kTotals) {
          ForEachPart<T>(tuning.parts, range, [&](const RowPart& part) { totals.Put(part, moments_of(part)); });
          totals.Arrive();
          return;
        }
        const auto of_row = Source::kAhead || pass == StreamPass::kResults
                                ? MergeMoments<T>(group, totals, tuning.parts, range.width)
                                : moments_of(range);
        NormaliseRange<Acc>(group, source, ahead, row, range, of_row, arguments.epsilon, PriorityOfResults(tuning),
                            space.Out());
      });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_STREAM_CUH_

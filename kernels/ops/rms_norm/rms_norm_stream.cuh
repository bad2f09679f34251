// Rows of rms_norm, and of add_rms_norm, that registers do not hold, and results of another type than x.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_STREAM_CUH_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_STREAM_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/ops/rms_norm/rms_norm_row.cuh"
#include "kernels/ops/rms_norm/rms_norm_squares.cuh"
#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/rounded_product.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_parts.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_stream_store.cuh"

namespace kernelwire {

/// This thread's part of the sum of squares of a part of a row, in f64. Out of line: it serves rare rows.
template <typename Source>
__device__ __noinline__ double SquaresInF64(const BlockGroup group, const Source source, const RowPart part) {
  double partial = 0.0;
  ForEachStretch<typename Source::Element>(group, part, [&](std::int64_t first, int count) {
    partial += SumOfSquares<double>(ReadStretch(group, source, part, first, count)).of_stretch[0];
  });
  return partial;
}

/// The sum of squares of a part of a range of a row, a stretch at a time; a thread adds its stretches in f64. `source`:
/// a StreamedRow, or like one; Passed says to it whether its row has been read before. Squares that leave f32 are
/// summed again in f64.
template <typename Acc, typename Source>
__device__ __forceinline__ double SumOfSquaresOf(BlockGroup& group, Source& source, StretchesAhead<Source>& ahead,
                                                 const RowPart& range, const RowPart& part,
                                                 const NormEpsilon& epsilon) {
  using T = typename Source::Element;
  double partial = 0.0;
  source.Passed(false);
  ForEachStretch<T>(group, part, [&](std::int64_t first, int count) {
    const auto held = ahead.template Next<true>(group, source, range, first, count);
    partial += static_cast<double>(SumOfSquares<Acc>(held).of_stretch[0]);
  });
  source.Passed(true);
  const double sum = TotalOfSquares<T>(group, RowParts<Acc, 1>{{static_cast<Acc>(partial)}});
  if (!std::is_same_v<Acc, float> ||
      !MeanSquareLeavesF32(static_cast<Acc>(sum) / static_cast<Acc>(part.end - part.first), epsilon.As<Acc>())) {
    return sum;
  }
  return RowSum(group, RowParts<double, 1>{{SquaresInF64(group, source, part)}});
}

/// What is normalised, in one row; `written`: with the totals, so that it is not there before they are.
template <typename T, StreamAccess kAccess>
struct StreamedX : StreamedRow<T, FillZero, kAccess> {
  bool written;

  __device__ __forceinline__ void Passed(bool /*passed*/) {}
};

/// y of a part of a row, a stretch at a time.
template <typename Acc, typename Source, typename Factor, typename Out>
__device__ __forceinline__ void StoreScaledPart(const BlockGroup& group, const Source& source, const RowPart& part,
                                                const Factor& factor, Out* y, const void* weight_data,
                                                std::int64_t weight_word, Granule* out) {
  using T = typename Source::Element;
  using Held = typename Source::Held;
  if constexpr (std::is_same_v<typename Held::Unit, Word>) {
    StoreElements<Acc>(group, source, part, y, [&](std::int64_t at, Acc value) {
      return Times(value, factor) * ParameterAt(weight_word, weight_data, at, Acc{1});
    });
  } else {
    const StreamedParameter<T, Acc, Held::kPlain> weight(weight_word, weight_data, Acc{1});
    const auto compute = [&](std::int64_t at, Acc(&values)[Held::kLength]) {
      Acc weights[Held::kLength];
      weight.Values(at, part.width, weights);
      Scale(factor, weights, values);
    };
    ForEachStretchBackwards<T>(group, part, [&](std::int64_t first, int count) {
      StoreStretch<Acc>(group, ReadStretch(group, source, part, first, count), first, count, y, out, compute);
    });
  }
}

/// The same in f64, out of line.
template <typename Source, typename Out>
__device__ __noinline__ void StoreScaledPartInF64(const BlockGroup group, const Source source, const RowPart part,
                                                  double mean_square, double epsilon, Out* y, const void* weight_data,
                                                  std::int64_t weight_word, Granule* out) {
  StoreScaledPart<double>(group, source, part, InverseRoot(mean_square + epsilon), y, weight_data, weight_word, out);
}

/// y of a range of a row whose mean square is known.
template <typename Acc, typename Source, typename Row>
__device__ __forceinline__ void StoreScaledRange(const BlockGroup& group, const Source& source, const Row& row,
                                                 const RowPart& range, double mean_square, const NormEpsilon& epsilon,
                                                 Granule* out) {
  const RmsFactor<typename Source::Element, Acc> scale(static_cast<Acc>(mean_square), epsilon);
  if (scale.leaves_f32) {
    StoreScaledPartInF64(group, source, range, mean_square, epsilon.f64, row.y, row.weight, row.weight_word, out);
  } else {
    StoreScaledPart<Acc>(group, source, range, scale.factor, row.y, row.weight, row.weight_word, out);
  }
}

/// The same with a weight of the row's type, where x and the first of the weight have been asked for. Returns whether
/// it is of such a kind.
template <typename Acc, typename Source, typename Row>
__device__ __forceinline__ bool StoreScaledAhead(const BlockGroup& group, const Source& source,
                                                 StretchesAhead<Source>& ahead,
                                                 StretchParameter<typename Source::Held, Acc>& weight, const Row& row,
                                                 const RowPart& range, double mean_square, const NormEpsilon& epsilon,
                                                 CachePriority priority) {
  using T = typename Source::Element;
  using Held = typename Source::Held;
  const RmsFactor<T, Acc> scale(static_cast<Acc>(mean_square), epsilon);
  if (scale.leaves_f32 || !weight.IsOfSameType()) {
    return false;
  }
  ForEachStretch<T>(group, range, [&](std::int64_t first, int count) {
    if (first > range.first) {
      weight = {row.weight_word, static_cast<const T*>(row.weight) + first, Acc{1}};
      weight.Prefetch(group, count);
    }
    const Held held = ahead.template Next<true>(group, source, range, first, count);
    const auto result_of = [&](int v, int) {
      Acc weights[Held::kLength];
      Acc values[Held::kLength];
      weight.FetchedValues(v, weights);
      Unpack<T>(held.vectors[v], values);
      Scale(scale.factor, weights, values);
      return Pack<T>(values);
    };
    Held::Store(group, row.y + first, count, nullptr, result_of, priority);
  });
  return true;
}

/// The totals of a range of parts of a row.
template <typename Acc, typename Source>
__device__ __forceinline__ void LeaveSquares(BlockGroup& group, Source& source, const RowPart& range,
                                             const StreamedParts& parts, const PartTotals<double>& totals,
                                             const NormEpsilon& epsilon) {
  StretchesAhead<Source> ahead;
  ahead.Begin(group, source, range);
  ForEachPart<typename Source::Element>(parts, range, [&](const RowPart& part) {
    totals.Put(part, SumOfSquaresOf<Acc>(group, source, ahead, range, part, epsilon));
  });
  totals.Arrive();
}

/// The sum of a row's squares from those of its parts.
__device__ __forceinline__ double MergeSquares(BlockGroup& group, const PartTotals<double>& totals) {
  const double sum = totals.Merge(group, 0.0, [](double a, double b) { return a + b; });
  totals.Depart();
  return sum;
}

/// y of a range of a row in parts, when its totals are there. What does not depend on them is asked for before.
template <typename Acc, typename Source, typename Row>
__device__ __forceinline__ void ScaleAhead(BlockGroup& group, const Source& source, const Row& row,
                                           const RowPart& range, const PartTotals<double>& totals,
                                           const NormEpsilon& epsilon, CachePriority priority) {
  using T = typename Source::Element;
  StretchesAhead<Source> ahead;
  StretchParameter<typename Source::Held, Acc> weight(row.weight_word, static_cast<const T*>(row.weight) + range.first,
                                                      Acc{1});
  weight.Prefetch(group, static_cast<int>(min(LengthOfStretch<T>(group), range.end - range.first)));
  if (!source.written) {
    ahead.Begin(group, source, range);
  }
  totals.Await();
  if (source.written) {
    ahead.Begin(group, source, range);
  }
  const double mean_square = RoundedProduct(MergeSquares(group, totals), ReciprocalOfCount(range.width));
  if (row.y != nullptr && !StoreScaledAhead(group, source, ahead, weight, row, range, mean_square, epsilon, priority)) {
    StoreScaledRange<Acc>(group, source, row, range, mean_square, epsilon, nullptr);
  }
}

/// What is to be done with a range of parts of a row in this pass. `row` has y and a weight. `out`: see StoreStretch.
template <typename Acc, typename Source, typename Row>
__device__ __forceinline__ void StreamRmsNorm(BlockGroup& group, Source& source, const Row& row, const RowPart& range,
                                              StreamPass pass, const RowTuning& tuning,
                                              const PartTotals<double>& totals, const NormEpsilon& epsilon,
                                              Granule* out) {
  if (pass == StreamPass::kTotals) {
    LeaveSquares<Acc>(group, source, range, tuning.parts, totals, epsilon);
  } else if constexpr (Source::kAhead) {
    ScaleAhead<Acc>(group, source, row, range, totals, epsilon, PriorityOfResults(tuning));
  } else {
    double sum = 0.0;
    if (pass == StreamPass::kResults) {
      totals.Await();
      sum = MergeSquares(group, totals);
    } else {
      StretchesAhead<Source> none;
      sum = SumOfSquaresOf<Acc>(group, source, none, range, range, epsilon);
    }
    if (row.y != nullptr) {
      const double mean_square = RoundedProduct(sum, ReciprocalOfCount(range.width));
      StoreScaledRange<Acc>(group, source, row, range, mean_square, epsilon, out);
    }
  }
}

/// Rows of any width, and results of any type: x is read twice.
template <typename T, typename Out, StreamAccess kAccess>
__global__ void __launch_bounds__(kMostThreadsOfStream<kAccess>, StreamsAtATime<kAccess>(3, 3))
    RmsNormStreamKernel(const __grid_constant__ RmsNormArguments arguments, const StreamedRows rows) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T, Out>;
  const RowTuning& tuning = arguments.tuning;
  BlockGroup group(1);
  const StreamSpace<T, kAccess, 1> space;
  ForEachRange<T, kAsksAhead<kAccess>>(
      tuning.parts, rows, arguments.width, [&](std::int64_t index, const RowPart& range, StreamPass pass) {
        const auto row = RmsNormRowAt<T, Out>(arguments, index);
        StreamedX<T, kAccess> source{{row.x, space.In(0), PriorityOfReads(tuning, pass)}, false};
        const PartTotals<double> totals(arguments.table, arguments.tickets, tuning.parts, rows, index);
        StreamRmsNorm<Acc>(group, source, row, range, pass, tuning, totals, arguments.epsilon, space.Out());
      });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_STREAM_CUH_

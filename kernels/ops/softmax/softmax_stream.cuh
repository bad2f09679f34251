// Rows of softmax and log_softmax that registers do not hold, and results of another type than x.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_STREAM_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_STREAM_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/ops/softmax/softmax_exponentials.cuh"
#include "kernels/ops/softmax/softmax_result.cuh"
#include "kernels/ops/softmax/softmax_row.cuh"
#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/rounded_product.cuh"
#include "kernels/primitives/row_parts.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_stream_store.cuh"
#include "kernels/primitives/running_softmax.cuh"

namespace kernelwire {

/// The statistics of all threads together. They agree on the maximum first, so that each sum is rescaled once: merged
/// in steps, it would be rounded at each.
template <typename Out, typename Acc>
__device__ __forceinline__ RunningSoftmax<Acc> Together(BlockGroup& group, const RunningSoftmax<Acc>& own) {
  const Acc maximum =
      group.Reduce(RowParts<Acc, 1>{{own.maximum}}, kMinusInfinity<Acc>, [](Acc a, Acc b) { return fmax(a, b); });
  const Acc factor = SoftmaxExp<Out>(own.maximum - SoftmaxOffset(maximum));
  return {maximum, RowSum(group, RowParts<double, 1>{{RoundedProduct(own.sum, static_cast<double>(factor))}})};
}

/// The statistics of a part of a row in one pass: each thread keeps a running maximum and sum, and the threads' are
/// merged. `ahead` goes over the range that the part is of.
template <typename Out, typename Acc, typename Source>
__device__ __forceinline__ RunningSoftmax<Acc> OnlineStatistics(BlockGroup& group, const Source& source,
                                                                StretchesAhead<Source>& ahead, const RowPart& range,
                                                                const RowPart& part) {
  using Held = typename Source::Held;
  using Statistics = RunningSoftmax<Acc>;
  Statistics running = Statistics::Empty();
  ForEachStretch<typename Source::Element>(group, part, [&](std::int64_t first, int count) {
    const auto held = ahead.template Next<true>(group, source, range, first, count);
    Acc values[Held::kHeld];
    ForEachElement<Acc>(held, 0, [&](int i, Acc value) { values[i] = value; });
    AddElements<Out>(values, running);
  });
  return Together<Out>(group, running);
}

/// The same in two passes: the maximum, then the sum.
template <typename Out, typename Acc, typename Source>
__device__ __forceinline__ RunningSoftmax<Acc> SafeStatistics(BlockGroup& group, const Source& source,
                                                              StretchesAhead<Source>& ahead, const RowPart& range,
                                                              const RowPart& part) {
  using T = typename Source::Element;
  Acc maximum = kMinusInfinity<Acc>;
  ForEachStretch<T>(group, part, [&](std::int64_t first, int count) {
    maximum = fmax(maximum, MaximumOf<Acc>(ahead.template Next<true>(group, source, range, first, count), 0));
  });
  maximum = group.Reduce(RowParts<Acc, 1>{{maximum}}, kMinusInfinity<Acc>, [](Acc a, Acc b) { return fmax(a, b); });
  double sum = 0.0;
  ForEachStretch<T>(group, part, [&](std::int64_t first, int count) {
    const auto held = ReadStretch(group, source, part, first, count);
    Exponentials<Out, Acc, typename Source::Held> exponentials;
    sum += static_cast<double>(exponentials.Compute(held, 0, maximum));
  });
  return {maximum, group.Reduce(RowParts<double, 1>{{sum}}, 0.0, [](double a, double b) { return a + b; })};
}

/// The statistics of a row from those of its parts.
template <typename Out, typename Acc>
__device__ __forceinline__ RunningSoftmax<Acc> MergeStatistics(BlockGroup& group,
                                                               const PartTotals<RunningSoftmax<Acc>>& totals) {
  using Statistics = RunningSoftmax<Acc>;
  totals.Await();
  const Statistics share = totals.ShareOf(
      Statistics::Empty(), [](const Statistics& of_part, int) { return of_part; },
      [](const Statistics& a, const Statistics& b) { return Merge<Out>(a, b); });
  totals.Depart();
  return Together<Out>(group, share);
}

/// The results of a range of a row. Where it asks ahead, `ahead` has the range's first stretch. `out`: see
/// StoreStretch.
template <typename Source, typename Out, typename Result>
__device__ __forceinline__ void StoreProbabilities(const BlockGroup& group, const Source& source,
                                                   StretchesAhead<Source>& ahead, const RowPart& range, Out* y,
                                                   const Result& result, CachePriority priority, Granule* out) {
  using T = typename Source::Element;
  using Held = typename Source::Held;
  using Acc = AccumulatorOf<T, Out>;
  const auto compute = [&](std::int64_t, Acc(&values)[Held::kLength]) {
#pragma unroll
    for (Acc& value : values) {
      value = result(value);
    }
  };
  if constexpr (Source::kAhead) {
    ForEachStretch<T>(group, range, [&](std::int64_t first, int count) {
      const Held held = ahead.template Next<true>(group, source, range, first, count);
      const auto result_of = [&](int v, int) {
        Acc values[Held::kLength];
        Unpack<T>(held.vectors[v], values);
        compute(first, values);
        return Pack<T>(values);
      };
      Held::Store(group, y + first, count, nullptr, result_of, priority);
    });
  } else {
    ForEachStretchBackwards<T>(group, range, [&](std::int64_t first, int count) {
      StoreStretch<Acc>(group, ReadStretch(group, source, range, first, count), first, count, y, out, compute);
    });
  }
}

/// Rows of any width, a stretch at a time, and results of any type: read twice, or three times when the safe algorithm
/// is asked for.
template <typename T, bool kLog, typename Out, StreamAccess kAccess>
__global__ void __launch_bounds__(kMostThreadsOfStream<kAccess>, StreamsAtATime<kAccess>(4, 3))
    SoftmaxStreamKernel(const __grid_constant__ SoftmaxArguments arguments, const StreamedRows rows) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T, Out>;
  using Source = StreamedRow<T, FillMinusInfinity, kAccess>;
  using Result = SoftmaxResult<kLog, Out, Acc, std::is_same_v<Out, float>>;
  const RowTuning& tuning = arguments.tuning;
  BlockGroup group(1);
  const StreamSpace<T, kAccess, 1> space;
  ForEachRange<T, Source::kAhead>(
      tuning.parts, rows, arguments.width, [&](std::int64_t index, const RowPart& range, StreamPass pass) {
        const auto row = SoftmaxRowAt<T, Out>(arguments, index);
        const Source source{row.x, space.In(0), PriorityOfReads(tuning, pass)};
        StretchesAhead<Source> ahead;
        ahead.Begin(group, source, range);
        const auto statistics_of = [&](const RowPart& part) {
          return arguments.algorithm == SoftmaxAlgorithm::kSafe
                     ? SafeStatistics<Out, Acc>(group, source, ahead, range, part)
                     : OnlineStatistics<Out, Acc>(group, source, ahead, range, part);
        };
        const PartTotals<RunningSoftmax<Acc>> totals(arguments.table, arguments.tickets, tuning.parts, rows, index);
        if (pass == StreamPass::kTotals) {
          ForEachPart<T>(tuning.parts, range, [&](const RowPart& part) { totals.Put(part, statistics_of(part)); });
          totals.Arrive();
          return;
        }
        const auto statistics =
            Source::kAhead || pass == StreamPass::kResults ? MergeStatistics<Out>(group, totals) : statistics_of(range);
        StoreProbabilities(group, source, ahead, range, row.y, Result(statistics), PriorityOfResults(tuning),
                           space.Out());
      });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_STREAM_CUH_

// softmax and log_softmax on the device: one kernel for rows that registers hold, one for longer rows and for results
// of another type than x, and the launch of these and of that for interleaved rows (softmax_interleaved.cuh).
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/ops/softmax/softmax_interleaved.cuh"
#include "kernels/ops/softmax/softmax_row.cuh"
#include "kernels/primitives/half_pairs.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/running_softmax.cuh"

namespace kernelwire {

/// The maximum of what a thread holds of stretch `s`. A NaN may get lost: it makes the sum NaN.
template <typename Acc, typename Held>
__device__ __forceinline__ Acc MaximumOf(const Held& held, int s) {
  using T = typename Held::Element;
  if constexpr (kIsHalf<T>) {
    unsigned largest = held.vectors[s * Held::kVectorsOfStretch].words[0];
#pragma unroll
    for (int i = 1; i < Held::kVectorsOfStretch * 4; ++i) {
      largest = LargerHalves<T>(largest, held.vectors[s * Held::kVectorsOfStretch + i / 4].words[i % 4]);
    }
    return Widen<Acc>(PairOfWord<T>(LargerHalves<T>(largest, SwapHalves(largest))).x);
  } else {
    Acc maximum = kMinusInfinity<Acc>;
    ForEachElement<Acc>(held, s, [&](int, Acc value) { maximum = fmax(maximum, value); });
    return maximum;
  }
}

/// The exponentials of what a thread holds, those of a stretch below the same maximum; see ScaledExp.
template <typename Out, typename Acc, typename Held>
struct Exponentials {
  using Statistics = RunningSoftmax<Acc, Acc>;
  Acc values[Held::kHeld];

  /// Fills in stretch `s`, and returns its statistics; the sum runs in four chains.
  __device__ __forceinline__ Statistics Compute(const Held& held, int s, Acc maximum) {
    const Acc offset = SoftmaxOffset(maximum);
    Acc sums[4] = {};
#pragma unroll
    for (int v = s * Held::kVectorsOfStretch; v < (s + 1) * Held::kVectorsOfStretch; ++v) {
      Acc elements[Held::kLength];
      Unpack<typename Held::Element>(held.vectors[v], elements);
#pragma unroll
      for (int j = 0; j < Held::kLength; ++j) {
        const int i = v * Held::kLength + j;
        values[i] = ScaledExp<Out>(elements[j] - offset);
        sums[i % 4] += values[i];
      }
    }
    return {maximum, ((sums[0] + sums[1]) + (sums[2] + sums[3])) * static_cast<Acc>(1.0F / kExpScale<Out>)};
  }
};

/// What a thread knows when its group has agreed on a row: the row's statistics, and the maxima that its own
/// exponentials were taken below.
template <typename Acc, int kStretches>
struct AgreedRow {
  RunningSoftmax<Acc, Acc> row;
  Acc own_maxima[kStretches];
};

/// Lanes agree on a stretch's maximum first, and then on its sum. A block agrees once, on both: each stretch sums below
/// its own maximum, and the merge rescales.
template <typename Out, typename Acc, typename Held, typename Group>
__device__ __forceinline__ AgreedRow<Acc, Held::kStretches> Agree(Group& group, Held& held,
                                                                  Exponentials<Out, Acc, Held>& exponentials) {
  using Statistics = RunningSoftmax<Acc, Acc>;
  AgreedRow<Acc, Held::kStretches> agreed;
  RowParts<Statistics, Held::kStretches> parts;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    agreed.own_maxima[s] = group.ReduceWarp(MaximumOf<Acc>(held, s), [](Acc a, Acc b) { return fmax(a, b); });
  }
  held.StayPacked();
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    parts.of_stretch[s] = exponentials.Compute(held, s, agreed.own_maxima[s]);
    Acc& sum = parts.of_stretch[s].sum;
    sum = group.ReduceWarp(sum, [](Acc a, Acc b) { return a + b; });
  }
  if constexpr (std::is_same_v<Group, BlockGroup>) {
    agreed.row = group.ReduceStretches(parts, Statistics::Empty(),
                                       [](const Statistics& a, const Statistics& b) { return Merge<Out>(a, b); });
  } else {
    agreed.row = parts.of_stretch[0];
  }
  return agreed;
}

/// Rows that registers hold: each is read once, and written after all of it has been read.
template <typename T, bool kLog, typename Shape, RowAccess kAccess>
__global__ void __launch_bounds__(Shape::BlockThreads(kAccess), Shape::ResidentBlocks(kAccess))
    SoftmaxResidentKernel(const __grid_constant__ SoftmaxArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Held = HeldRow<T, Shape, kAccess>;
  using Loads = RowLoads<Held, FillMinusInfinity>;
  const int blocks = arguments.tuning.cluster_blocks;
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks);
  const HeldSpace<T, Shape, kAccess, 1> space;
  const Loads begin(space.In(0));
  const auto row_at = [&](std::int64_t index) {
    if constexpr (kInUsualLaunch<kAccess>) {
      return UsualSoftmaxRowAt<T>(arguments, index);
    } else {
      return SoftmaxRowAt<T, T>(arguments, index);
    }
  };
  ForEachRow<Shape::kLooksAhead>(
      group, blocks, arguments.pieces, row_at, space, begin, [&](const auto& row, Loads& loads, const auto& /*again*/) {
        Exponentials<T, Acc, Held> exponentials;
        const auto agreed = Agree(group, loads.x, exponentials);
        const SoftmaxResult<kLog, T, Acc> result(agreed.row);
        Acc factors[Held::kStretches];
#pragma unroll
        for (int s = 0; s < Held::kStretches; ++s) {
          // Where the row is nothing but -infinity, 0 * (1 / 0) gives the NaN that is due.
          factors[s] = SoftmaxExp<T>(agreed.own_maxima[s] - SoftmaxOffset(agreed.row.maximum));
          factors[s] = sizeof(T) == 2 ? factors[s] * result.last : factors[s];
        }
        Held::Store(group, row.y, row.x.count, space.Out(), [&](int v, int) {
          Acc values[Held::kLength];
          Unpack<T>(loads.x.vectors[v], values);
#pragma unroll
          for (int j = 0; j < Held::kLength; ++j) {
            const Acc exponential = exponentials.values[v * Held::kLength + j] * factors[v / Held::kVectorsOfStretch];
            values[j] = kLog ? result(values[j]) : sizeof(T) == 2 ? exponential : result.Quotient(exponential);
          }
          return Pack<T>(values);
        });
      });
}

/// The statistics of all threads together. They agree on the maximum first, so that each sum is rescaled once: merged
/// in steps, it would be rounded at each.
template <typename Out, typename Acc>
__device__ __forceinline__ RunningSoftmax<Acc> Together(BlockGroup& group, const RunningSoftmax<Acc>& own) {
  const Acc maximum =
      group.Reduce(RowParts<Acc, 1>{{own.maximum}}, kMinusInfinity<Acc>, [](Acc a, Acc b) { return fmax(a, b); });
  const Acc factor = SoftmaxExp<Out>(own.maximum - SoftmaxOffset(maximum));
  return {maximum, RowSum(group, RowParts<double, 1>{{own.sum * static_cast<double>(factor)}})};
}

/// The statistics of a part of a row in one pass: each thread keeps a running maximum and sum, and the threads' are
/// merged.
template <typename Out, typename Acc, bool kPlain, typename T>
__device__ RunningSoftmax<Acc> OnlineStatistics(BlockGroup& group, const RowSource<T>& x, const RowPart& part,
                                                Granule* place) {
  using Held = StreamVectors<T, kPlain>;
  using Statistics = RunningSoftmax<Acc>;
  Statistics running = Statistics::Empty();
  ForEachStretch<T>(group, part, [&](std::int64_t first, int count) {
    const auto held = LoadStretch<FillMinusInfinity, kPlain>(group, x, part.width, first, count, place);
    Acc values[Held::kHeld];
    ForEachElement<Acc>(held, 0, [&](int i, Acc value) { values[i] = value; });
    AddElements<Out>(values, running);
  });
  return Together<Out>(group, running);
}

/// The same in two passes: the maximum, then the sum.
template <typename Out, typename Acc, bool kPlain, typename T>
__device__ RunningSoftmax<Acc> SafeStatistics(BlockGroup& group, const RowSource<T>& x, const RowPart& part,
                                              Granule* place) {
  Acc maximum = kMinusInfinity<Acc>;
  ForEachStretch<T>(group, part, [&](std::int64_t first, int count) {
    const auto held = LoadStretch<FillMinusInfinity, kPlain>(group, x, part.width, first, count, place);
    maximum = fmax(maximum, MaximumOf<Acc>(held, 0));
  });
  maximum = group.Reduce(RowParts<Acc, 1>{{maximum}}, kMinusInfinity<Acc>, [](Acc a, Acc b) { return fmax(a, b); });
  double sum = 0.0;
  ForEachStretch<T>(group, part, [&](std::int64_t first, int count) {
    const auto held = LoadStretch<FillMinusInfinity, kPlain>(group, x, part.width, first, count, place);
    Exponentials<Out, Acc, StreamVectors<T, kPlain>> exponentials;
    sum += static_cast<double>(exponentials.Compute(held, 0, maximum).sum);
  });
  return {maximum, group.Reduce(RowParts<double, 1>{{sum}}, 0.0, [](double a, double b) { return a + b; })};
}

/// Rows of any width, a stretch at a time, and results of any type: read twice, or three times when the safe algorithm
/// is asked for.
template <typename T, bool kLog, typename Out, bool kPlain, StreamPass kOnly>
__global__ void __launch_bounds__(kMostThreadsOfStream<kPlain>, kPlain ? 4 : 1)  // without parameters it needs no more
    SoftmaxStreamKernel(const __grid_constant__ SoftmaxArguments arguments, StreamPass asked) {
  AwaitEarlierWork(arguments);
  const StreamPass pass = PassOf<kOnly>(asked);
  using Acc = AccumulatorOf<T, Out>;
  using Statistics = RunningSoftmax<Acc>;
  const StreamedParts& parts = arguments.tuning.parts;
  BlockGroup group(1);
  const StreamSpace<T, kPlain, 1> space;
  ForEachRange<T>(pass, parts, arguments.pieces, arguments.width, [&](std::int64_t index, const RowPart& range) {
    const auto row = SoftmaxRowAt<T, Out>(arguments, index);
    const auto statistics_of = [&](const RowPart& part) {
      return arguments.algorithm == SoftmaxAlgorithm::kSafe
                 ? SafeStatistics<Out, Acc, kPlain>(group, row.x, part, space.In(0))
                 : OnlineStatistics<Out, Acc, kPlain>(group, row.x, part, space.In(0));
    };
    const PartTotals<Statistics> totals(arguments.table, index, parts);
    if (pass == StreamPass::kTotals) {
      ForEachPart<T>(parts, range, [&](const RowPart& part) { totals.Leave(part, statistics_of(part)); });
      return;
    }
    if (pass == StreamPass::kResults) {
      FetchPart(group, row.x.data, range);
    }
    const auto statistics =
        pass == StreamPass::kResults
            ? Together<Out>(group, totals.ShareOf(
                                       Statistics::Empty(), [](const Statistics& of_part, int) { return of_part; },
                                       [](const Statistics& a, const Statistics& b) { return Merge<Out>(a, b); }))
            : statistics_of(range);
    const SoftmaxResult<kLog, Out, Acc> result(statistics);
    const auto compute = [&](std::int64_t, Acc(&values)[kElementsOfGranule<T>]) {
#pragma unroll
      for (Acc& value : values) {
        value = result(value);
      }
    };
    ForEachStretchBackwards<T>(group, range, [&](std::int64_t first, int count) {
      const auto held = LoadStretch<FillZero, kPlain>(group, row.x, range.width, first, count, space.In(0));
      StoreStretch<Acc>(group, held, first, count, row.y, space.Out(), compute);
    });
  });
}

template <typename T, bool kLog>
struct SoftmaxKernels {
  static constexpr int kInputs = 1;
  static constexpr bool kUsual = sizeof(T) <= 4;
  template <typename Shape, RowAccess kAccess>
  static constexpr auto kHeld = &SoftmaxResidentKernel<T, kLog, Shape, kAccess>;
  template <typename Out, bool kPlain, StreamPass kOnly>
  static constexpr auto kStreamed = &SoftmaxStreamKernel<T, kLog, Out, kPlain, kOnly>;
};

/// Launches rows of type T with results of any type.
template <typename T, bool kLog>
cudaError_t LaunchSoftmaxRows(DataType y_type, RowAccess access, const SoftmaxArguments& arguments,
                              cudaStream_t stream) {
  if (arguments.inner > 1) {
    return LaunchInterleavedSoftmax<T, kLog>(y_type, arguments, stream);
  }
  return LaunchRowsOf<T, SoftmaxKernels<T, kLog>>(RowWork::kSoftmax, y_type, access, arguments.pieces, arguments,
                                                  stream);
}

/// From the plan to the kernels of its type.
template <bool kLog>
int LaunchSoftmaxFamily(const Launch& launch, CUstream_st* stream) {
  const auto params = launch.plan->Params<SoftmaxParams>();
  const SoftmaxArguments arguments{TableOf(launch), launch.total_rows, params.width,
                                   params.inner,    params.algorithm,  {}};
  const RowAccess access =
      AccessOf(launch, params.x_type, params.width, {{false, 0, kRowStrideX}, {true, 0, kRowStrideY}}, {});
  return WithFloatType(params.x_type, [&](auto tag) {
    return LaunchSoftmaxRows<typename decltype(tag)::Type, kLog>(params.y_type, access, arguments, stream);
  });
}

// A file each, so that they compile side by side.
#define KERNELWIRE_SOFTMAX_ROWS(T, kLog) \
  extern template cudaError_t LaunchSoftmaxRows<T, kLog>(DataType, RowAccess, const SoftmaxArguments&, cudaStream_t)
KERNELWIRE_SOFTMAX_ROWS(__half, false);
KERNELWIRE_SOFTMAX_ROWS(__nv_bfloat16, false);
KERNELWIRE_SOFTMAX_ROWS(float, false);
KERNELWIRE_SOFTMAX_ROWS(double, false);
KERNELWIRE_SOFTMAX_ROWS(__half, true);
KERNELWIRE_SOFTMAX_ROWS(__nv_bfloat16, true);
KERNELWIRE_SOFTMAX_ROWS(float, true);
KERNELWIRE_SOFTMAX_ROWS(double, true);
#undef KERNELWIRE_SOFTMAX_ROWS

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_

// softmax and log_softmax on the device: one kernel for rows that registers hold, one for longer rows and for results
// of another type than x, one for interleaved rows (an axis that is not the last), and the launch of each.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/running_softmax.cuh"
#include "kernels/primitives/segment_table.cuh"

namespace kernelwire {

struct SoftmaxArguments {
  SegmentTable table;
  std::int64_t pieces;  // see SoftmaxParams
  std::int64_t width;
  std::int64_t inner;
  SoftmaxAlgorithm algorithm;
  RowTuning tuning;
};

/// Where one row, or one piece of interleaved rows, of one request lies.
template <typename T, typename Out>
struct SoftmaxRow {
  RowSource<T> x;
  Out* y;
};

template <typename T, typename Out>
__device__ __forceinline__ SoftmaxRow<T, Out> SoftmaxRowAt(const SoftmaxArguments& arguments, std::int64_t row) {
  return arguments.table.PickOf(row, [&](const Segment& segment) -> SoftmaxRow<T, Out> {
    const std::int64_t index = row - segment.first_row;
    return {RowSourceAt<T>(segment.inputs[0], index, segment.rows, segment.extents[kRowStrideX], arguments.width),
            static_cast<Out*>(segment.outputs[0]) + index * segment.extents[kRowStrideY]};
  });
}

/// From a row's statistics to its results: probabilities, or (kLog) their logarithms.
template <bool kLog, typename Out, typename Acc>
struct SoftmaxResult {
  Acc maximum;
  Acc sum;
  Acc last;  // 1 / sum, or log(sum)

  template <typename Sum>
  __device__ __forceinline__ explicit SoftmaxResult(const RunningSoftmax<Acc, Sum>& row)
      : maximum(row.maximum),
        sum(static_cast<Acc>(row.sum)),
        last(kLog ? static_cast<Acc>(log(row.sum)) : static_cast<Acc>(Sum{1} / row.sum)) {}

  __device__ __forceinline__ Acc operator()(Acc x) const {
    return kLog ? (x - maximum) - last : Quotient(SoftmaxExp<Out>(x - maximum));
  }

  /// A probability from its exponential. A product with 1 / sum would round twice, which only 16 bits hide.
  __device__ __forceinline__ Acc Quotient(Acc exponential) const {
    const Acc product = exponential * last;
    return sizeof(Out) == 2 ? product : fma(fma(-product, sum, exponential), last, product);
  }
};

/// The maximum of what a thread holds of stretch `s`.
template <typename Acc, typename Held>
__device__ __forceinline__ Acc MaximumOf(const Held& held, int s) {
  Acc maximum = kMinusInfinity<Acc>;
  ForEachElement<Acc>(held, s, [&](int, Acc value) { maximum = fmax(maximum, value); });
  return maximum;
}

/// The exponentials of what a thread holds, those of a stretch below the same maximum.
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
        values[i] = SoftmaxExp<Out>(elements[j] - offset);
        sums[i % 4] += values[i];
      }
    }
    return {maximum, (sums[0] + sums[1]) + (sums[2] + sums[3])};
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
    agreed.own_maxima[s] = ReduceLanes<Group::kLanes>(MaximumOf<Acc>(held, s), [](Acc a, Acc b) { return fmax(a, b); });
  }
  held.StayPacked();
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    parts.of_stretch[s] = exponentials.Compute(held, s, agreed.own_maxima[s]);
    Acc& sum = parts.of_stretch[s].sum;
    sum = ReduceLanes<Group::kLanes>(sum, [](Acc a, Acc b) { return a + b; });
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
template <typename T, bool kLog, typename Shape, bool kPlain>
__global__ void __launch_bounds__(Shape::BlockThreads(kPlain), Shape::ResidentBlocks(kPlain))
    SoftmaxResidentKernel(const __grid_constant__ SoftmaxArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Held = HeldRow<T, Shape, kPlain>;
  using Loads = RowLoads<Held, FillMinusInfinity>;
  const int blocks = arguments.tuning.cluster_blocks;
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks);
  const HeldSpace<T, Shape, kPlain, 1> space;
  const Loads begin(space.In(0));
  const auto row_at = [&](std::int64_t index) { return SoftmaxRowAt<T, T>(arguments, index); };
  ForEachRow<Shape::template kLooksAhead<kPlain>>(
      group, blocks, arguments.pieces, row_at, begin, [&](const auto& row, Loads& loads, const auto& /*again*/) {
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
  using Merged = RunningSoftmax<Acc, Acc>;
  const Merged merged =
      group.Reduce(RowParts<Merged, 1>{{{running.maximum, static_cast<Acc>(running.sum)}}}, Merged::Empty(),
                   [](const Merged& a, const Merged& b) { return Merge<Out>(a, b); });
  return {merged.maximum, static_cast<double>(merged.sum)};
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
            ? totals.Merge(group, Statistics::Empty(),
                           [](const Statistics& a, const Statistics& b) { return Merge<Out>(a, b); })
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

/// A block's share of interleaved rows: 32 neighbours, each worked on by one lane of each of 16 warps, so that a warp
/// reads 32 elements that lie side by side.
struct InterleavedTile {
  static constexpr int kRows = 32;
  static constexpr int kParts = 16;
  static constexpr int kThreads = kRows * kParts;
  static constexpr int kHeld = 8;  // elements that a thread has in flight
};

/// This thread's part of the statistics of one interleaved row: elements part, part + kParts, ...
template <typename Out, typename Acc, typename T>
__device__ RunningSoftmax<Acc> InterleavedStatistics(const T* x, std::int64_t width, std::int64_t inner, int part) {
  constexpr int kHeld = InterleavedTile::kHeld;
  auto running = RunningSoftmax<Acc>::Empty();
  for (std::int64_t first = part; first < width; first += InterleavedTile::kParts * kHeld) {
    Acc values[kHeld];
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const std::int64_t at = first + i * InterleavedTile::kParts;
      values[i] = at < width ? Widen<Acc>(x[at * inner]) : kMinusInfinity<Acc>;
    }
    AddElements<Out>(values, running);
  }
  return running;
}

/// Interleaved rows, always online: read twice. The parts of a row are merged in one order by all its threads.
template <typename T, bool kLog, typename Out>
__global__ void __launch_bounds__(InterleavedTile::kThreads)
    SoftmaxInterleavedKernel(const __grid_constant__ SoftmaxArguments arguments, std::int64_t tiles_of_piece) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T, Out>;
  __shared__ RunningSoftmax<Acc> parts[InterleavedTile::kParts][InterleavedTile::kRows];
  const int lane = static_cast<int>(threadIdx.x) % InterleavedTile::kRows;
  const int part = static_cast<int>(threadIdx.x) / InterleavedTile::kRows;
  const std::int64_t tiles = arguments.pieces * tiles_of_piece;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const auto piece = SoftmaxRowAt<T, Out>(arguments, tile / tiles_of_piece);
    const std::int64_t row = tile % tiles_of_piece * InterleavedTile::kRows + lane;
    const std::int64_t width = row < arguments.inner ? arguments.width : 0;
    const T* const x = piece.x.data + row;
    parts[part][lane] = InterleavedStatistics<Out, Acc>(x, width, arguments.inner, part);
    __syncthreads();
    RunningSoftmax<Acc> statistics = parts[0][lane];
#pragma unroll
    for (int i = 1; i < InterleavedTile::kParts; ++i) {
      statistics = Merge<Out>(statistics, parts[i][lane]);
    }
    __syncthreads();  // before the next tile overwrites the parts
    const SoftmaxResult<kLog, Out, Acc> result(statistics);
    for (std::int64_t i = part; i < width; i += InterleavedTile::kParts) {
      piece.y[row + i * arguments.inner] = Narrow<Out>(result(Widen<Acc>(x[i * arguments.inner])));
    }
  }
}

template <typename T, bool kLog>
cudaError_t LaunchInterleavedSoftmax(DataType y_type, const SoftmaxArguments& arguments, cudaStream_t stream) {
  constexpr std::int64_t kMostBlocks = 2147483647;
  const std::int64_t tiles = (arguments.inner + InterleavedTile::kRows - 1) / InterleavedTile::kRows;
  LaunchShape shape;
  shape.blocks = std::min(arguments.pieces * tiles, kMostBlocks);
  shape.threads = InterleavedTile::kThreads;
  return WithFloatType(y_type, [&](auto tag) {
    using Out = typename decltype(tag)::Type;
    return LaunchKernel(&SoftmaxInterleavedKernel<T, kLog, Out>, shape, stream, arguments, tiles);
  });
}

template <typename T, bool kLog>
struct SoftmaxKernels {
  static constexpr int kInputs = 1;
  template <typename Shape, bool kPlain>
  static constexpr auto kHeld = &SoftmaxResidentKernel<T, kLog, Shape, kPlain>;
  template <typename Out, bool kPlain, StreamPass kOnly>
  static constexpr auto kStreamed = &SoftmaxStreamKernel<T, kLog, Out, kPlain, kOnly>;
};

/// Launches rows of type T with results of any type.
template <typename T, bool kLog>
cudaError_t LaunchSoftmaxRows(DataType y_type, bool plain, const SoftmaxArguments& arguments, cudaStream_t stream) {
  if (arguments.inner > 1) {
    return LaunchInterleavedSoftmax<T, kLog>(y_type, arguments, stream);
  }
  return LaunchRowsOf<T, SoftmaxKernels<T, kLog>>(RowWork::kSoftmax, y_type, plain, arguments.pieces, arguments,
                                                  stream);
}

/// From the plan to the kernels of its type.
template <bool kLog>
int LaunchSoftmaxFamily(const Launch& launch, CUstream_st* stream) {
  const auto params = launch.plan->Params<SoftmaxParams>();
  const SoftmaxArguments arguments{TableOf(launch), launch.total_rows, params.width,
                                   params.inner,    params.algorithm,  {}};
  const bool plain =
      RowsArePlain(launch, params.x_type, params.width, {{false, 0, kRowStrideX}, {true, 0, kRowStrideY}}, {});
  return WithFloatType(params.x_type, [&](auto tag) {
    return LaunchSoftmaxRows<typename decltype(tag)::Type, kLog>(params.y_type, plain, arguments, stream);
  });
}

// A file each, so that they compile side by side.
#define KERNELWIRE_SOFTMAX_ROWS(T, kLog) \
  extern template cudaError_t LaunchSoftmaxRows<T, kLog>(DataType, bool, const SoftmaxArguments&, cudaStream_t)
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

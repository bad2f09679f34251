// softmax and log_softmax on the device: the kernel for rows that registers hold, and the launch of this one, of that
// for longer rows and results of another type than x (softmax_stream.cuh), and of those for interleaved rows
// (softmax_interleaved.cuh).
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/ops/softmax/softmax_exponentials.cuh"
#include "kernels/ops/softmax/softmax_interleaved.cuh"
#include "kernels/ops/softmax/softmax_result.cuh"
#include "kernels/ops/softmax/softmax_row.cuh"
#include "kernels/ops/softmax/softmax_stream.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_staged.cuh"
#include "kernels/primitives/row_words_unmoved.cuh"
#include "kernels/primitives/running_softmax.cuh"

namespace kernelwire {

/// Whether results show what merges of stretches round: FP32 rows of blocks have sums in two parts then, and so is
/// what their exponentials are multiplied by.
template <typename T, typename Group>
inline constexpr bool kShowsMerges = sizeof(T) == 4 && std::is_same_v<Group, BlockGroup>;

/// What a warp adds a stretch's sums in: FP32 results would show what is lost where lanes meet, most beside one large
/// exponential.
template <typename T, typename Acc>
using SumOfLanes = std::conditional_t<sizeof(T) == 4, double, Acc>;

/// What a thread knows when its group has agreed on a row: the row's statistics, and the maxima that its own
/// exponentials were taken below.
template <typename Statistics, typename Acc, int kStretches>
struct AgreedRow {
  Statistics row;
  Acc own_maxima[kStretches];
};

/// The statistics of a row of a block, of FP32 in two parts. Lanes divide the stretches of a warp, which take what is
/// not done once for each element; where there are three, a quarter of the lanes has none.
template <int kStretches>
__device__ __forceinline__ TwoPartSoftmax AgreeOnMerges(BlockGroup& group, const float (&own_maxima)[kStretches],
                                                        double (&own_sums)[kStretches]) {
  constexpr int kParts = kStretches == 3 ? 4 : kStretches;
  double sums[kParts] = {};
  float maxima[kParts];
#pragma unroll
  for (int s = 0; s < kParts; ++s) {
    sums[s] = s < kStretches ? own_sums[s] : 0.0;
    maxima[s] = s < kStretches ? own_maxima[s] : kMinusInfinity<float>;
  }
  const double sum = ReduceWarpInParts(sums, [](double a, double b) { return a + b; });
  TwoPartSoftmax own = TwoPartSoftmax::Of(PartOfLane(maxima), sum);
#pragma unroll
  for (int offset = 32 / kParts; offset < 32; offset *= 2) {
    own = Merge<float>(own, ShuffleXor(group.members(), own, offset));
  }
  return group.ReduceStretches(RowParts<TwoPartSoftmax, 1>{{own}}, TwoPartSoftmax::Empty(), SoftmaxMerge{});
}

/// The same of others.
template <typename Out, typename Acc, typename Sum, int kStretches, typename Group>
__device__ __forceinline__ RunningSoftmax<Acc, Sum> AgreeOnSums(Group& group, const Acc (&own_maxima)[kStretches],
                                                                const Sum (&own_sums)[kStretches]) {
  using Statistics = RunningSoftmax<Acc, Sum>;
  RowParts<Statistics, kStretches> parts;
#pragma unroll
  for (int s = 0; s < kStretches; ++s) {
    parts.of_stretch[s] = {own_maxima[s], group.ReduceWarp(own_sums[s], [](Sum a, Sum b) { return a + b; })};
  }
  if constexpr (std::is_same_v<Group, BlockGroup>) {
    return group.ReduceStretches(parts, Statistics::Empty(),
                                 [](const Statistics& a, const Statistics& b) { return Merge<Out>(a, b); });
  } else {
    return parts.of_stretch[0];
  }
}

/// Lanes agree on a stretch's maximum first, and then on its sum. A block agrees once, on both: each stretch sums below
/// its own maximum, and the merge rescales.
template <typename Out, typename Acc, typename Held, typename Group>
__device__ __forceinline__ auto Agree(Group& group, Held& held, Exponentials<Out, Acc, Held>& exponentials) {
  using Sum = SumOfLanes<Out, Acc>;
  constexpr bool kMerges = kShowsMerges<Out, Group>;
  AgreedRow<std::conditional_t<kMerges, TwoPartSoftmax, RunningSoftmax<Acc, Sum>>, Acc, Held::kStretches> agreed;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    agreed.own_maxima[s] = MaximumOf<Acc>(held, s);
    if constexpr (std::is_same_v<Group, BlockGroup>) {
      agreed.own_maxima[s] = LargestOfWarp(agreed.own_maxima[s]);
    } else {
      agreed.own_maxima[s] = group.ReduceWarp(agreed.own_maxima[s], [](Acc a, Acc b) { return fmax(a, b); });
    }
  }
  held.StayPacked();
  Sum own_sums[Held::kStretches];
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    own_sums[s] = static_cast<Sum>(exponentials.Compute(held, s, agreed.own_maxima[s]));
  }
  if constexpr (kMerges) {
    agreed.row = AgreeOnMerges(group, agreed.own_maxima, own_sums);
  } else {
    agreed.row = AgreeOnSums<Out>(group, agreed.own_maxima, own_sums);
  }
  return agreed;
}

/// The probabilities of each vector, from the exponentials that the sum was made of.
template <typename Out, typename Acc, typename Held, typename Statistics, int kStretches>
__device__ __forceinline__ auto KeptProbabilities(const AgreedRow<Statistics, Acc, kStretches>& agreed,
                                                  const Held& held, const Exponentials<Out, Acc, Held>& kept) {
  const StretchScales<Out, Acc, Statistics, kStretches> scales(agreed.row, agreed.own_maxima);
  // A share in shared memory is read in vectors to be summed, and in words for its results.
  constexpr int kOfStretch = Held::kInShared ? Held::kVectors / kStretches : Held::kVectorsOfStretch;
  return [&agreed, &held, &kept, scales](int v, int) {
    const int s = v / kOfStretch;
    Acc values[Held::kLength];
    kept.Of(held, v, agreed.own_maxima[s], values);
#pragma unroll
    for (Acc& value : values) {
      value = scales.Scaled(value, s);
    }
    return Pack<Out>(values);
  };
}

/// The results of a row whose statistics are known.
template <bool kLog, typename Out, typename Acc, typename Held, typename Group, typename Row, typename Agreed>
__device__ __forceinline__ void StoreResults(const Group& group, const Held& held, const Row& row, const Agreed& agreed,
                                             const Exponentials<Out, Acc, Held>& kept, Granule* out) {
  if constexpr (kLog) {
    const SoftmaxResult<kLog, Out, Acc, sizeof(Out) == 4> result(agreed.row);
    Held::Store(group, row.y, row.x.count, out, [&](int v, int) {
      Acc values[Held::kLength];
      Unpack<Out>(held.vectors[v], values);
#pragma unroll
      for (Acc& value : values) {
        value = result(value);
      }
      return Pack<Out>(values);
    });
  } else {
    Held::Store(group, row.y, row.x.count, out, KeptProbabilities(agreed, held, kept));
  }
}

/// What a thread holds of a row. 16-bit rows that come by shared memory in words stay as they lie there.
template <typename T, typename Shape, RowAccess kAccess>
using HeldOfSoftmax =
    std::conditional_t<Shape::kStaged && Shape::kOfWords && sizeof(T) == 2,
                       StagedRow<UnmovedWords<T, Shape::kBytes / 4, 0>>, HeldRow<T, Shape, kAccess, 1>>;

/// Rows that registers hold: each is read once, and written after all of it has been read.
template <typename T, bool kLog, typename Shape, RowAccess kAccess>
__global__ void __launch_bounds__(Shape::BlockThreads(kAccess), Shape::ResidentBlocks(kAccess))
    SoftmaxResidentKernel(const __grid_constant__ SoftmaxArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Held = HeldOfSoftmax<T, Shape, kAccess>;
  using Loads = RowLoads<Held, FillMinusInfinity>;
  const int blocks = arguments.tuning.cluster_blocks;
  TicketsOf<Shape> tickets(arguments.tickets, blocks);
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks, Shape::kWholeBlocks);
  const HeldSpace<T, Shape, kAccess, 1> space;
  const Loads begin(space.In(0));
  const auto row_at = [&](std::int64_t index) {
    if constexpr (kInUsualLaunch<kAccess>) {
      return UsualSoftmaxRowAt<T>(arguments, index);
    } else {
      return SoftmaxRowAt<T, T>(arguments, index);
    }
  };
  const auto work_on = [&](const auto& row, Loads& loads, const auto& /*again*/) {
    Exponentials<T, Acc, Held> exponentials;
    const auto agreed = WithSummed<Shape>(group, loads, row, [&](auto& summed) {
      if constexpr (kSumsVectors<Shape>) {
        Exponentials<T, Acc, SummedRow<Shape, Held>> of_vectors;
        return Agree(group, summed, of_vectors);
      } else {
        return Agree(group, summed, exponentials);
      }
    });
    tickets.Tell(group);
    StoreResults<kLog>(group, loads.x, row, agreed, exponentials, space.Out());
  };
  ForEachRow<Shape::kLooksAhead, kAccess>(group, tickets, arguments.tuning, arguments.pieces, row_at, space, begin,
                                          work_on);
}

template <typename T, bool kLog>
struct SoftmaxKernels {
  static constexpr RowWork kWork = kLog ? RowWork::kLogSoftmax : RowWork::kSoftmax;
  static constexpr int kInputs = 1;
  static constexpr bool kUsual = sizeof(T) <= 4;
  template <typename Shape, RowAccess kAccess>
  static constexpr auto kHeld = &SoftmaxResidentKernel<T, kLog, Shape, kAccess>;
  template <typename Out, StreamAccess kAccess>
  static constexpr auto kStreamed = &SoftmaxStreamKernel<T, kLog, Out, kAccess>;
};

/// Launches rows of type T with results of any type. `access`: see SoftmaxAccessOf.
template <typename T, bool kLog>
cudaError_t LaunchSoftmaxRows(DataType y_type, RowAccess access, const SoftmaxArguments& arguments,
                              cudaStream_t stream) {
  if (arguments.inner > 1) {
    return LaunchInterleavedSoftmax<T, kLog>(y_type, InVectors(access), arguments, stream);
  }
  return LaunchRowsOf<T, SoftmaxKernels<T, kLog>>(y_type, access, arguments.pieces, arguments, stream);
}

inline constexpr RowPlaces kSoftmaxPlaces{{{false, 0, kRowStrideX}, {true, 0, kRowStrideY}}};

/// How kernels reach the rows of a launch. Interleaved ones: in vectors if InterleavedRowsArePaired.
inline RowAccess SoftmaxAccessOf(const Launch& launch, const SoftmaxParams& params) {
  if (params.inner > 1) {
    return InterleavedRowsArePaired(launch, params.inner) ? RowAccess::kPlain : RowAccess::kShifted;
  }
  return AccessOf(launch, params.x_type, params.width, kSoftmaxPlaces);
}

/// From the plan to the kernels of its type.
template <bool kLog>
int LaunchSoftmaxFamily(const Launch& launch, CUstream_st* stream) {
  const auto params = launch.plan->Params<SoftmaxParams>();
  const SoftmaxArguments arguments{TableOf(launch),
                                   launch.tickets,
                                   launch.total_rows,
                                   params.width,
                                   params.inner,
                                   params.algorithm,
                                   EarlyReadsOf(launch, params.x_type, params.width * params.inner, kSoftmaxPlaces),
                                   {}};
  const RowAccess access = SoftmaxAccessOf(launch, params);
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

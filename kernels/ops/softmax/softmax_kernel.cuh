// softmax and log_softmax on the device: one kernel for rows that registers hold, one for longer rows and for results
// of another type than x, and the launch of these and of that for interleaved rows (softmax_interleaved.cuh).
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
#include "kernels/primitives/running_softmax.cuh"

namespace kernelwire {

/// Whether results show what merges of stretches round: FP32 rows of blocks have sums in two parts then, and their
/// exponentials are taken anew below the row's maximum, where a factor would round once more.
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

/// Lanes agree on a stretch's maximum first, and then on its sum. A block agrees once, on both: each stretch sums below
/// its own maximum, and the merge rescales.
template <typename Out, typename Acc, typename Held, typename Group>
__device__ __forceinline__ auto Agree(Group& group, Held& held, Exponentials<Out, Acc, Held>& exponentials) {
  using Sum = SumOfLanes<Out, Acc>;
  using Statistics = std::conditional_t<kShowsMerges<Out, Group>, TwoPartSoftmax, RunningSoftmax<Acc, Sum>>;
  AgreedRow<Statistics, Acc, Held::kStretches> agreed;
  RowParts<Statistics, Held::kStretches> parts;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    agreed.own_maxima[s] = group.ReduceWarp(MaximumOf<Acc>(held, s), [](Acc a, Acc b) { return fmax(a, b); });
  }
  held.StayPacked();
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    const auto own = static_cast<Sum>(exponentials.Compute(held, s, agreed.own_maxima[s]));
    const Sum sum = group.ReduceWarp(own, [](Sum a, Sum b) { return a + b; });
    if constexpr (kShowsMerges<Out, Group>) {
      parts.of_stretch[s] = TwoPartSoftmax::Of(agreed.own_maxima[s], sum);
    } else {
      parts.of_stretch[s] = {agreed.own_maxima[s], sum};
    }
  }
  if constexpr (std::is_same_v<Group, BlockGroup>) {
    agreed.row = group.ReduceStretches(parts, Statistics::Empty(),
                                       [](const Statistics& a, const Statistics& b) { return Merge<Out>(a, b); });
  } else {
    agreed.row = parts.of_stretch[0];
  }
  return agreed;
}

/// The probabilities of each vector, from the exponentials that the sum was made of.
template <typename Out, typename Acc, typename Held, typename Agreed, bool kWhole>
__device__ __forceinline__ auto KeptProbabilities(const Agreed& agreed, const Held& held,
                                                  const Exponentials<Out, Acc, Held>& kept,
                                                  const Probabilities<Out, Acc, kWhole>& result) {
  struct Factors {
    Acc of_stretch[Held::kStretches];
  } factors;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    // Where the row is nothing but -infinity, 0 * (1 / 0) gives the NaN that is due.
    const Acc factor = SoftmaxExp<Out>(agreed.own_maxima[s] - SoftmaxOffset(agreed.row.maximum));
    factors.of_stretch[s] = sizeof(Out) == 2 ? factor * result.last : factor;
  }
  return [&agreed, &held, &kept, factors, result](int v, int) {
    const int s = v / Held::kVectorsOfStretch;
    Acc values[Held::kLength];
    kept.Of(held, v, agreed.own_maxima[s], values);
#pragma unroll
    for (Acc& value : values) {
      value *= factors.of_stretch[s];
      value = sizeof(Out) == 2 ? value : result.Quotient(value);
    }
    return Pack<Out>(values);
  };
}

/// The results of a row whose statistics are known.
template <bool kLog, typename Out, typename Acc, typename Held, typename Group, typename Row, typename Agreed>
__device__ __forceinline__ void StoreResults(const Group& group, const Held& held, const Row& row, const Agreed& agreed,
                                             const Exponentials<Out, Acc, Held>& kept, Granule* out) {
  const SoftmaxResult<kLog, Out, Acc, sizeof(Out) == 4> result(agreed.row);
  if constexpr (kLog || kShowsMerges<Out, Group>) {
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
    Held::Store(group, row.y, row.x.count, out, KeptProbabilities(agreed, held, kept, result));
  }
}

/// Rows that registers hold: each is read once, and written after all of it has been read.
template <typename T, bool kLog, typename Shape, RowAccess kAccess>
__global__ void __launch_bounds__(Shape::BlockThreads(kAccess), Shape::ResidentBlocks(kAccess))
    SoftmaxResidentKernel(const __grid_constant__ SoftmaxArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Held = HeldRow<T, Shape, kAccess, 1>;
  using Loads = RowLoads<Held, FillMinusInfinity>;
  const int blocks = arguments.tuning.cluster_blocks;
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
    StoreResults<kLog>(group, loads.x, row, agreed, exponentials, space.Out());
  };
  ForEachRow<Shape::kLooksAhead, kAccess>(group, arguments.tuning, arguments.pieces, row_at, space, begin, work_on);
}

template <typename T, bool kLog>
struct SoftmaxKernels {
  static constexpr RowWork kWork = RowWork::kSoftmax;
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

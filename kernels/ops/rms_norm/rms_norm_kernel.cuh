// rms_norm on the device: the kernel for rows that registers hold, and the launch of this one and of that for all
// others (rms_norm_stream.cuh). add_rms_norm is made of the same parts, so that both give the same bits.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/ops/rms_norm/rms_norm_row.cuh"
#include "kernels/ops/rms_norm/rms_norm_squares.cuh"
#include "kernels/ops/rms_norm/rms_norm_stream.cuh"
#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/row_again.cuh"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_mean.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_parameter_wide.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// y = (x * factor) * weight of a held row, where `weights_of(v, weights)` finds those of its vector `v`.
template <typename Acc, typename Held, typename Group, typename Factor, typename Weights>
__device__ __forceinline__ void StoreScaledBy(const Group& group, const Held& held, const Factor& factor,
                                              typename Held::Element* y, int width, Granule* out,
                                              const Weights& weights_of) {
  using T = typename Held::Element;
  // Vectors of blocks are out of the compiler's reach anyway: those divide on the way here (RowMean).
  constexpr bool kAgain = !std::is_same_v<Group, BlockGroup> || std::is_same_v<typename Held::Unit, Word>;
  const unsigned zero = kAgain ? UnknownZero() : 0;
  Held::Store(group, y, width, out, [&](int v, int) {
    Acc weights[Held::kLength];
    weights_of(v, weights);
    Acc values[Held::kLength];
    if constexpr (kAgain) {
      UnpackAgain<T>(held.vectors[v], zero, values);
    } else {
      Unpack<T>(held.vectors[v], values);
    }
    Scale(factor, weights, values);
    return Pack<T>(values);
  });
}

/// With weights of its type. `kFetched`: the first of them were asked for before the row's reduction. Registers hold no
/// more than 4 vectors of them beside the row.
template <bool kFetched, typename Acc, typename Held, typename Group, typename Parameter, typename Factor>
__device__ __forceinline__ void StoreScaled(const Group& group, const Held& held, Parameter& weight,
                                            const Factor& factor, typename Held::Element* y, int width, Granule* out) {
  const auto store = [&](auto full) {
    StoreScaledBy<Acc>(group, held, factor, y, width, out, [&](int v, Acc(&weights)[Held::kLength]) {
      if (v % Parameter::kTogether == 0) {
        if (!kFetched || v > 0) {
          weight.template Fetch<Parameter::kTogether, decltype(full)::value>(group, v, width);
        }
        weight.template FetchRest<Parameter::kTogether>(group, v, width);
      }
      weight.FetchedValues(v, weights);
    });
  };
  // Asked here, so that it takes no branch where weights are read.
  if (Held::IsFull(group, width)) {
    store(std::true_type{});
  } else {
    store(std::false_type{});
  }
}

/// With weights of f32, or one, or none.
template <typename Wide, typename Acc, typename Held, typename Group, typename Row, typename Factor>
__device__ __forceinline__ void StoreScaledByWide(const Group& group, const Held& held, const Row& row,
                                                  const Factor& factor, int width, Granule* out) {
  Wide weight(row.weight_word, row.weight, Acc{1});
  StoreScaledBy<Acc>(group, held, factor, row.y, width, out, [&](int v, Acc(&weights)[Held::kLength]) {
    if (v % Wide::kAtOnce == 0) {
      weight.Fetch(group, v, width);
    }
    weight.FetchedValues(v, weights);
  });
}

/// The same with a weight of any type and kind that begins anywhere, or in f64; `row`: see row_again.cuh. Out of line,
/// and nothing of the held row goes along.
template <typename Held, typename Acc, typename Group, typename Row, typename Factor>
__device__ __noinline__ void ScaleAgain(const Group group, const Row row, typename Held::Element* y, const void* weight,
                                        std::int64_t weight_word, int width, const Factor factor) {
  using T = typename Held::Element;
  const ParameterAgain<T, Acc> parameter(weight_word, weight, Acc{1});
  ForEachAgain<Held, Acc>(group, row, y, width, [&](int index, auto& values) {
    std::remove_reference_t<decltype(values)> weights;
    parameter.Values(index, width, weights);
    Scale(factor, weights, values);
  });
}

/// For the rare row whose squares f32 cannot hold: its factor, from elements that are read again in the order of held
/// rows.
template <typename Held, typename Group, typename Row>
__device__ __noinline__ double FactorInF64(Group group, const Row row, int width, double epsilon) {
  const Group before = group;
  group.GoAlone();
  RowParts<double, Held::kStretches> parts{};
#pragma unroll 1
  for (int i = 0; i < Held::kHeld; ++i) {
    const int index = Held::IndexOf(group, i / Held::kLength) + i % Held::kLength;
    const double value = index < width ? Widen<double>(row.Element(index)) : 0.0;
    double& sum = parts.of_stretch[i / (Held::kVectorsOfStretch * Held::kLength)];
    sum = fma(value, value, sum);
  }
  const double sum = RowSum(group, parts);
  ReturnTo(before, group);
  return InverseRoot(sum / width + epsilon);
}

/// y of a held row, whatever its squares and its weight are; `again`: its elements once more, exactly (row_again.cuh).
/// `Summed`: see SummedRow.
template <typename Summed, bool kFetched, typename Held, typename Group, typename Parameter, typename Acc, typename Row,
          typename Again>
__device__ __forceinline__ void StoreRmsNorm(Group& group, const Held& held, Parameter& weight,
                                             const RmsFactor<typename Held::Element, Acc>& scale, const Row& row,
                                             int width, double epsilon, Granule* out, const Again& again) {
  using Wide = WideParameter<Held, Acc, std::is_same_v<typename Held::Unit, Word> ? 4 : 2>;  // beside the row
  const bool is_wide = kHasWide<Held, Group> && !weight.IsOfSameType() && Wide::Suits(row.weight_word, row.weight);
  if constexpr (Held::kStoresTogether) {
    group.PartUnlessAll(!scale.leaves_f32 && weight.IsOfSameType(), !scale.leaves_f32 && is_wide);
  }
  if (scale.leaves_f32) {
    const double factor = FactorInF64<Summed>(group, again, width, epsilon);
    ScaleAgain<Held, double>(group, again, row.y, row.weight, row.weight_word, width, factor);
  } else if (weight.IsOfSameType()) {
    StoreScaled<kFetched, Acc>(group, held, weight, scale.factor, row.y, width, out);
  } else if (is_wide) {
    StoreScaledByWide<Wide, Acc>(group, held, row, scale.factor, width, out);
  } else {
    ScaleAgain<Held, Acc>(group, again, row.y, row.weight, row.weight_word, width, scale.factor);
  }
}

/// How many threads a multiprocessor has at a time, where lanes have rows. With 25 to 32 words each, a row and what is
/// read of the weight want more registers than those of others (FP32 rows of 897 to 1024 elements up to 1.1 times).
template <typename Shape>
inline constexpr int kRmsNormThreadsOfLanes =
    Shape::kOfWords&& Shape::kBytes > 96 && Shape::kBytes <= 128 ? Shape::template kThreadsOfLanes<true>
                                                                 : Shape::template kThreadsOfLanes<false>;

/// Rows that registers hold: each is read once, and written after all of it has been read.
template <typename T, typename Shape, RowAccess kAccess>
__global__ void __launch_bounds__(Shape::BlockThreads(kAccess),
                                  Shape::ResidentBlocks(kAccess, kRmsNormThreadsOfLanes<Shape>))
    RmsNormResidentKernel(const __grid_constant__ RmsNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Held = HeldRow<T, Shape, kAccess, 1>;
  using Loads = RowLoads<Held, FillZero>;
  // The first 4 vectors: registers hold no more beside the row, nor those beside much else that lanes remember. Where
  // blocks have words, others of them hide the way.
  constexpr bool kFetched =
      !(Shape::kOfWords && Shape::kOfBlocks) && (Shape::kBytes <= 64 || (Held::kPlain && Shape::kOfBlocks));
  const int blocks = arguments.tuning.cluster_blocks;
  const int width = static_cast<int>(arguments.width);
  TicketsOf<Shape> tickets(arguments.tickets, blocks);
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks, Shape::kWholeBlocks);
  const RowMean<T, typename Shape::Group, Acc> mean(arguments.reciprocal, width);
  const HeldSpace<T, Shape, kAccess, 1> space;
  const auto row_at = [&](std::int64_t index) {
    if constexpr (kInUsualLaunch<kAccess>) {
      return UsualRmsNormRowAt<T>(arguments, index);
    } else {
      return RmsNormRowAt<T, T>(arguments, index);
    }
  };
  ForEachRow<Shape::kLooksAhead, kAccess>(
      group, tickets, arguments.tuning, arguments.total_rows, row_at, space, Loads(space.In(0)),
      [&](const auto& row, Loads& loads, const auto& /*again*/) {
        DeviceParameter<Held, Acc, kAccess> weight(row.weight_word, row.weight, Acc{1});
        if (kFetched) {
          weight.Prefetch(group, width);
        }
        const auto sum = WithSummed<Shape>(
            group, loads, row, [&](const auto& summed) { return TotalOfSquares<T>(group, SumOfSquares<Acc>(summed)); });
        tickets.Tell(group);
        loads.x.StayPacked();
        weight.StayPacked();
        const RmsFactor<T, Acc> scale(mean(sum), arguments.epsilon);
        StoreRmsNorm<SummedRow<Shape, Held>, kFetched>(group, loads.x, weight, scale, row, width, arguments.epsilon.f64,
                                                       space.Out(), RowAgain<T>{row.x.data});
      });
}

template <typename T>
struct RmsNormKernels {
  static constexpr RowWork kWork = RowWork::kOneSum;
  static constexpr int kInputs = 1;
  static constexpr bool kUsual = sizeof(T) <= 4;
  template <typename Shape, RowAccess kAccess>
  static constexpr auto kHeld = &RmsNormResidentKernel<T, Shape, kAccess>;
  template <typename Out, StreamAccess kAccess>
  static constexpr auto kStreamed = &RmsNormStreamKernel<T, Out, kAccess>;
};

/// Launches rows of type T with results of any type.
template <typename T>
cudaError_t LaunchRmsNormRows(DataType y_type, RowAccess access, const RmsNormArguments& arguments,
                              cudaStream_t stream) {
  return LaunchRowsOf<T, RmsNormKernels<T>>(y_type, access, arguments.total_rows, arguments, stream);
}

// A file each, so that they compile side by side.
extern template cudaError_t LaunchRmsNormRows<__half>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNormRows<__nv_bfloat16>(DataType, RowAccess, const RmsNormArguments&,
                                                             cudaStream_t);
extern template cudaError_t LaunchRmsNormRows<float>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNormRows<double>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_

// rms_norm on the device: one kernel for rows that registers hold, one for longer rows and for results of another type
// than x, and the launch of either. add_rms_norm is made of the same parts, so that both give the same bits.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/ops/rms_norm/rms_norm_row.cuh"
#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_mean.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// This thread's part of the sum of squares: for each stretch, in four chains.
template <typename Acc, typename Held>
__device__ __forceinline__ RowParts<Acc, Held::kStretches> SumOfSquares(const Held& held) {
  RowParts<Acc, Held::kStretches> parts;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    Acc sums[4] = {};
    ForEachElement<Acc>(held, s, [&](int i, Acc value) { sums[i % 4] = fma(value, value, sums[i % 4]); });
    parts.of_stretch[s] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  return parts;
}

/// What multiplies a row, or says that its squares have left f32 and the row must be computed in f64.
template <typename Acc>
struct RmsFactor {
  Acc factor;
  bool leaves_f32;

  __device__ __forceinline__ RmsFactor(Acc mean_square, const NormEpsilon& epsilon)
      : factor(InverseRoot(mean_square + epsilon.As<Acc>())),
        leaves_f32(std::is_same_v<Acc, float> && MeanSquareLeavesF32(mean_square, epsilon.As<Acc>())) {}
};

/// y = (x * factor) * weight of a held row. `kFetched`: weights were asked for before the row's reduction. Registers
/// hold no more than 4 vectors of them beside the row.
template <bool kFetched, typename Held, typename Group, typename Parameter, typename Acc>
__device__ __forceinline__ void StoreScaled(const Group& group, const Held& held, Parameter& weight, Acc factor,
                                            typename Held::Element* y, int width, Granule* out) {
  using T = typename Held::Element;
  using Values = Acc(&)[Held::kLength];
  constexpr bool kAgain = !std::is_same_v<Group, BlockGroup>;  // those divide on the way here (RowMean)
  const unsigned zero = kAgain ? UnknownZero() : 0;
  // The usual weight has a loop of its own, without a branch for each vector.
  const auto store = [&](const auto& parameter) {
    Held::Store(group, y, width, out, [&](int v, int index) {
      Acc weights[Held::kLength];
      parameter(v, index, weights);
      Acc values[Held::kLength];
      if constexpr (kAgain) {
        UnpackAgain<T>(held.vectors[v], zero, values);
      } else {
        Unpack<T>(held.vectors[v], values);
      }
#pragma unroll
      for (int j = 0; j < Held::kLength; ++j) {
        values[j] = values[j] * factor * weights[j];
      }
      return Pack<T>(values);
    });
  };
  const auto any = [&](int, int index, Values weights) {
    if (index < width) {
      weight.Values(index, width, weights);
    }
  };
  if (!weight.IsOfSameType()) {
    weight.Settle();
    store(any);
    return;
  }
  store([&](int v, int, Values weights) {
    if (v % Parameter::kTogether == 0) {
      if (!kFetched) {
        weight.template Fetch<Parameter::kTogether>(group, v, width);
      }
      weight.template FetchRest<Parameter::kTogether>(group, v, width);
    }
    weight.FetchedValues(v, weights);
  });
}

/// The same one element after another, with parameters of any type that begin anywhere: element(i) is read again. Out
/// of line, and nothing of the held row goes along: the way there may cost, the kernels that hardly ever take it should
/// not.
template <typename Held, typename Acc, typename Group, typename Element, typename Out>
__device__ __noinline__ void ScaleElements(const Group group, const Element element, Out* y, const void* weight,
                                           std::int64_t weight_word, int width, Acc factor) {
#pragma unroll 1
  for (int i = 0; i < Held::kHeld; ++i) {
    const int index = Held::IndexOf(group, i / Held::kLength) + i % Held::kLength;
    if (index < width) {
      const Acc value = static_cast<Acc>(element(index));
      y[index] = Narrow<Out>(value * factor * ParameterAt<Acc>(weight_word, weight, index, Acc{1}));
    }
  }
}

/// For the rare row whose squares f32 cannot hold: its factor, from elements that are read again in the order of held
/// rows.
template <typename Held, typename Group, typename Element>
__device__ __noinline__ double FactorInF64(Group group, const Element element, int width, double epsilon) {
  const Group before = group;
  group.GoAlone();
  RowParts<double, Held::kStretches> parts{};
#pragma unroll 1
  for (int i = 0; i < Held::kHeld; ++i) {
    const int index = Held::IndexOf(group, i / Held::kLength) + i % Held::kLength;
    const double value = index < width ? element(index) : 0.0;
    double& sum = parts.of_stretch[i / (Held::kHeld / Held::kStretches)];
    sum = fma(value, value, sum);
  }
  const double sum = RowSum(group, parts);
  ReturnTo(before, group);
  return InverseRoot(sum / width + epsilon);
}

/// y of a held row, whatever its squares and its weight are; element(i) gives x once more, exactly.
template <bool kFetched, typename Held, typename Group, typename Parameter, typename Acc, typename Row,
          typename Element>
__device__ __forceinline__ void StoreRmsNorm(Group& group, const Held& held, Parameter& weight,
                                             const RmsFactor<Acc>& scale, const Row& row, int width, double epsilon,
                                             Granule* out, const Element& element) {
  if (scale.leaves_f32) {
    const double factor = FactorInF64<Held>(group, element, width, epsilon);
    ScaleElements<Held>(group, element, row.y, row.weight, row.weight_word, width, factor);
  } else if (!weight.IsPlain()) {
    ScaleElements<Held>(group, element, row.y, row.weight, row.weight_word, width, scale.factor);
  } else {
    StoreScaled<kFetched>(group, held, weight, scale.factor, row.y, width, out);
  }
}

/// Rows that registers hold: each is read once, and written after all of it has been read.
template <typename T, typename Shape, RowAccess kAccess>
__global__ void __launch_bounds__(Shape::BlockThreads(kAccess), Shape::ResidentBlocks(kAccess))
    RmsNormResidentKernel(const __grid_constant__ RmsNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Loads = RowLoads<HeldRow<T, Shape, kAccess>, FillZero>;
  const int blocks = arguments.tuning.cluster_blocks;
  const int width = static_cast<int>(arguments.width);
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks);
  const RowMean<T, typename Shape::Group, Acc> mean(arguments.reciprocal, width);
  const HeldSpace<T, Shape, kAccess, 1> space;
  const auto row_at = [&](std::int64_t index) {
    if constexpr (kInUsualLaunch<kAccess>) {
      return UsualRmsNormRowAt<T>(arguments, index);
    } else {
      return RmsNormRowAt<T, T>(arguments, index);
    }
  };
  ForEachRow<Shape::kLooksAhead>(
      group, blocks, arguments.total_rows, row_at, space, Loads(space.In(0)),
      [&](const auto& row, Loads& loads, const auto& /*again*/) {
        DeviceParameter<T, Shape::kVectors, Acc, kAccess> weight(row.weight_word, row.weight, Acc{1});
        if (Shape::kVectors <= 4) {
          weight.Prefetch(group, width);
        }
        const Acc sum = RowSum(group, SumOfSquares<Acc>(loads.x));
        loads.x.StayPacked();
        weight.StayPacked();
        const RmsFactor<Acc> scale(mean(sum), arguments.epsilon);
        StoreRmsNorm<(Shape::kVectors <= 4)>(group, loads.x, weight, scale, row, width, arguments.epsilon.f64,
                                             space.Out(), [x = row.x.data](int i) { return Widen<double>(x[i]); });
      });
}

/// This thread's part of the sum of squares of a part of a row, in f64. Out of line: it serves rare rows.
template <typename Source>
__device__ __noinline__ double SquaresInF64(const BlockGroup group, const Source source, const RowPart part) {
  double partial = 0.0;
  ForEachStretch<typename Source::Element>(group, part, [&](std::int64_t first, int count) {
    partial += SumOfSquares<double>(source.Again(group, part, first, count)).of_stretch[0];
  });
  return partial;
}

/// The sum of squares of a part of a row, a stretch at a time; a thread adds its stretches in f64. `source` has
/// `First(group, part, first, count)`, the stretch as it is read first, `Again(...)`, `Passed`, which says which of
/// them is next, and `Fetch`. Squares that leave f32 are summed again in f64.
template <typename Acc, typename Source>
__device__ double SumOfSquaresOf(BlockGroup& group, Source& source, const RowPart& part, const NormEpsilon& epsilon) {
  using T = typename Source::Element;
  double partial = 0.0;
  source.Passed(false);
  ForEachStretch<T>(group, part, [&](std::int64_t first, int count) {
    partial += static_cast<double>(SumOfSquares<Acc>(source.First(group, part, first, count)).of_stretch[0]);
  });
  source.Passed(true);
  const Acc sum = RowSum(group, RowParts<Acc, 1>{{static_cast<Acc>(partial)}});
  if (!std::is_same_v<Acc, float> ||
      !MeanSquareLeavesF32(sum / static_cast<Acc>(part.end - part.first), epsilon.As<Acc>())) {
    return static_cast<double>(sum);
  }
  return RowSum(group, RowParts<double, 1>{{SquaresInF64(group, source, part)}});
}

/// y of a part of a plain row, with a weight of its type.
template <typename Acc, typename Source, typename T>
__device__ __forceinline__ void StoreScaledPlainPart(const BlockGroup& group, const Source& source, const RowPart& part,
                                                     Acc factor, T* y, const void* weight_data,
                                                     std::int64_t weight_word) {
  using Held = StreamVectors<T, true>;
  ForEachStretchBackwards<T>(group, part, [&](std::int64_t first, int count) {
    StretchParameter<T, Acc> weight(weight_word, static_cast<const T*>(weight_data) + first, Acc{1});
    weight.Prefetch(group, count);
    const Held held = source.Again(group, part, first, count);
    Held::Store(group, y + first, count, nullptr, [&](int v, int) {
      Acc weights[Held::kLength];
      Acc values[Held::kLength];
      weight.FetchedValues(v, weights);
      Unpack<T>(held.vectors[v], values);
#pragma unroll
      for (int j = 0; j < Held::kLength; ++j) {
        values[j] = values[j] * factor * weights[j];
      }
      return Pack<T>(values);
    });
  });
}

/// y of a part of a row, a stretch at a time.
template <typename Acc, typename Source, typename Out>
__device__ __forceinline__ void StoreScaledPart(const BlockGroup& group, const Source& source, const RowPart& part,
                                                Acc factor, Out* y, const void* weight_data, std::int64_t weight_word,
                                                Granule* out) {
  using T = typename Source::Element;
  constexpr int kLength = kElementsOfGranule<T>;
  if constexpr (Source::kPlain && std::is_same_v<Acc, AccumulatorOf<T>>) {
    if (StretchParameter<T, Acc>(weight_word, weight_data, Acc{1}).IsOfSameType()) {
      StoreScaledPlainPart(group, source, part, factor, y, weight_data, weight_word);
      return;
    }
  }
  const StreamedParameter<T, Acc, Source::kPlain> weight(weight_word, weight_data, Acc{1});
  const auto compute = [&](std::int64_t at, Acc(&values)[kLength]) {
    Acc weights[kLength];
    weight.Values(at, part.width, weights);
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      values[j] = values[j] * factor * weights[j];
    }
  };
  ForEachStretchBackwards<T>(group, part, [&](std::int64_t first, int count) {
    StoreStretch<Acc>(group, source.Again(group, part, first, count), first, count, y, out, compute);
  });
}

/// The same in f64, out of line.
template <typename Source, typename Out>
__device__ __noinline__ void StoreScaledPartInF64(const BlockGroup group, const Source source, const RowPart part,
                                                  double mean_square, double epsilon, Out* y, const void* weight_data,
                                                  std::int64_t weight_word, Granule* out) {
  StoreScaledPart(group, source, part, InverseRoot(mean_square + epsilon), y, weight_data, weight_word, out);
}

/// What is to be done with a range of parts of a row in this pass. `row` has y and a weight.
template <typename Acc, typename Source, typename Row>
__device__ __forceinline__ void StreamRmsNorm(BlockGroup& group, Source& source, const Row& row, const RowPart& range,
                                              StreamPass pass, const StreamedParts& parts,
                                              const PartTotals<double>& totals, const NormEpsilon& epsilon,
                                              Granule* out) {
  if (pass == StreamPass::kTotals) {
    ForEachPart<typename Source::Element>(parts, range, [&](const RowPart& part) {
      totals.Leave(part, SumOfSquaresOf<Acc>(group, source, part, epsilon));
    });
    return;
  }
  double sum = 0.0;
  if (pass == StreamPass::kResults) {
    source.Fetch(group, range);
    sum = totals.Merge(group, 0.0, [](double a, double b) { return a + b; });
  } else {
    sum = SumOfSquaresOf<Acc>(group, source, range, epsilon);
  }
  if (row.y == nullptr) {
    return;
  }
  const double mean_square = RoundedProduct(sum, ReciprocalOfCount(range.width));
  const auto in_acc = static_cast<Acc>(mean_square);
  if (std::is_same_v<Acc, float> && MeanSquareLeavesF32(in_acc, epsilon.As<Acc>())) {
    StoreScaledPartInF64(group, source, range, mean_square, epsilon.f64, row.y, row.weight, row.weight_word, out);
  } else {
    StoreScaledPart(group, source, range, InverseRoot(in_acc + epsilon.As<Acc>()), row.y, row.weight, row.weight_word,
                    out);
  }
}

/// x as StreamRmsNorm reads it.
template <typename T, bool kPlainRows>
struct StreamedRow {
  using Element = T;
  static constexpr bool kPlain = kPlainRows;
  RowSource<T> x;
  Granule* place;

  __device__ __forceinline__ StreamVectors<T, kPlain> First(const BlockGroup& group, const RowPart& part,
                                                            std::int64_t first, int count) const {
    return LoadStretch<FillZero, kPlain>(group, x, part.width, first, count, place);
  }
  __device__ __forceinline__ void Passed(bool /*passed*/) {}
  __device__ __forceinline__ void Fetch(const BlockGroup& group, const RowPart& part) const {
    FetchPart(group, x.data, part);
  }
  __device__ __forceinline__ StreamVectors<T, kPlain> Again(const BlockGroup& group, const RowPart& part,
                                                            std::int64_t first, int count) const {
    return First(group, part, first, count);
  }
};

/// Rows of any width, and results of any type: x is read twice.
template <typename T, typename Out, bool kPlain, StreamPass kOnly>
__global__ void __launch_bounds__(kMostThreadsOfStream<kPlain>, kStreamsAtATime<kPlain>)
    RmsNormStreamKernel(const __grid_constant__ RmsNormArguments arguments, StreamPass asked) {
  AwaitEarlierWork(arguments);
  const StreamPass pass = PassOf<kOnly>(asked);
  using Acc = AccumulatorOf<T, Out>;
  const StreamedParts& parts = arguments.tuning.parts;
  BlockGroup group(1);
  const StreamSpace<T, kPlain, 1> space;
  ForEachRange<T>(pass, parts, arguments.total_rows, arguments.width, [&](std::int64_t index, const RowPart& range) {
    const auto row = RmsNormRowAt<T, Out>(arguments, index);
    StreamedRow<T, kPlain> source{row.x, space.In(0)};
    StreamRmsNorm<Acc>(group, source, row, range, pass, parts, PartTotals<double>(arguments.table, index, parts),
                       arguments.epsilon, space.Out());
  });
}

template <typename T>
struct RmsNormKernels {
  static constexpr int kInputs = 1;
  static constexpr bool kUsual = sizeof(T) <= 4;
  template <typename Shape, RowAccess kAccess>
  static constexpr auto kHeld = &RmsNormResidentKernel<T, Shape, kAccess>;
  template <typename Out, bool kPlain, StreamPass kOnly>
  static constexpr auto kStreamed = &RmsNormStreamKernel<T, Out, kPlain, kOnly>;
};

/// Launches rows of type T with results of any type.
template <typename T>
cudaError_t LaunchRmsNormRows(DataType y_type, RowAccess access, const RmsNormArguments& arguments,
                              cudaStream_t stream) {
  return LaunchRowsOf<T, RmsNormKernels<T>>(RowWork::kOneSum, y_type, access, arguments.total_rows, arguments, stream);
}

// A file each, so that they compile side by side.
extern template cudaError_t LaunchRmsNormRows<__half>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNormRows<__nv_bfloat16>(DataType, RowAccess, const RmsNormArguments&,
                                                             cudaStream_t);
extern template cudaError_t LaunchRmsNormRows<float>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNormRows<double>(DataType, RowAccess, const RmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_

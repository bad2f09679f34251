// layer_norm on the device: one kernel for rows that registers hold, one for longer rows and for results of another
// type than x, and the launch of either.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/ops/layer_norm/layer_norm_moments.cuh"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/segment_table.cuh"

namespace kernelwire {

struct LayerNormArguments {
  SegmentTable table;
  std::int64_t total_rows;
  std::int64_t width;
  NormEpsilon epsilon;
  RowTuning tuning;
};

/// Where one row of one request lies, and what scales and shifts it. Outputs that nobody asked for are null.
template <typename T, typename Out>
struct LayerNormRow {
  using Statistic = std::conditional_t<std::is_same_v<T, double>, double, float>;
  RowSource<T> x;
  Out* y;
  Statistic* mean;
  Statistic* inv_std_dev;
  const void* weight;
  std::int64_t weight_word;
  const void* bias;
  std::int64_t bias_word;
};

template <typename T, typename Out>
__device__ __forceinline__ LayerNormRow<T, Out> LayerNormRowAt(const LayerNormArguments& arguments, std::int64_t row) {
  return arguments.table.PickOf(row, [&](const Segment& segment) -> LayerNormRow<T, Out> {
    using Statistic = typename LayerNormRow<T, Out>::Statistic;
    const std::int64_t index = row - segment.first_row;
    const auto output = [&](int output_index, std::int64_t offset, auto* null) {
      using Element = std::remove_pointer_t<decltype(null)>;
      auto* const data = static_cast<Element*>(segment.outputs[output_index]);
      return data == nullptr ? data : data + offset;
    };
    return {
        RowSourceAt<T>(segment.inputs[kLayerNormX], index, segment.rows, segment.extents[kRowStrideX], arguments.width),
        output(kLayerNormY, index * segment.extents[kRowStrideY], static_cast<Out*>(nullptr)),
        output(kLayerNormMean, index, static_cast<Statistic*>(nullptr)),
        output(kLayerNormInvStdDev, index, static_cast<Statistic*>(nullptr)),
        segment.inputs[kLayerNormWeightInput],
        segment.extents[kRowWeight],
        segment.inputs[kLayerNormBiasInput],
        segment.extents[kRowBias]};
  });
}

/// y of one vector, in place: ((x - mean) * inv_std_dev) * weight + bias.
template <int kLength, typename Acc>
__device__ __forceinline__ void Normalise(const Moments<Acc>& moments, Acc inv_std_dev, const Acc (&weights)[kLength],
                                          const Acc (&biases)[kLength], Acc (&values)[kLength]) {
#pragma unroll
  for (int j = 0; j < kLength; ++j) {
    const Acc scaled = fma(values[j] - moments.first_mean, inv_std_dev, -(moments.correction * inv_std_dev));
    values[j] = fma(scaled, weights[j], biases[j]);
  }
}

template <typename Acc, typename Row, typename Group>
__device__ __forceinline__ void StoreStatistics(const Group& group, const Row& row, const Moments<Acc>& moments,
                                                Acc inv_std_dev) {
  using Statistic = typename Row::Statistic;
  if (group.rank() == 0) {
    if (row.mean != nullptr) {
      *row.mean = static_cast<Statistic>(moments.Mean());
    }
    if (row.inv_std_dev != nullptr) {
      *row.inv_std_dev = static_cast<Statistic>(inv_std_dev);
    }
  }
}

/// From moments to outputs of a held row. `kAtOnce`: how many vectors of each parameter are asked for at a time, 0 if
/// all have been asked for already.
template <int kAtOnce, typename Held, typename Group, typename Row, typename Parameter, typename Acc>
__device__ __forceinline__ void StoreNormalised(const Group& group, const Held& held, const Row& row, Parameter& weight,
                                                Parameter& bias, const Moments<Acc>& moments,
                                                const NormEpsilon& epsilon, Granule* out) {
  using T = typename Held::Element;
  const int count = row.x.count;
  const Acc inv_std_dev = moments.InvStdDev(epsilon);
  StoreStatistics(group, row, moments, inv_std_dev);
  if (row.y == nullptr) {
    return;
  }
  // The usual parameters have a loop of their own, without a branch for each vector, so that memory is asked early.
  const auto store = [&](const auto& parameters) {
    Held::Store(group, row.y, count, out, [&](int v, int index) {
      Acc values[Held::kLength];
      Acc weights[Held::kLength];
      Acc biases[Held::kLength];
      Unpack<T>(held.vectors[v], values);
      parameters(v, index, weights, biases);
      Normalise(moments, inv_std_dev, weights, biases, values);
      return Pack<T>(values);
    });
  };
  using Values = Acc(&)[Held::kLength];
  const auto any = [&](int, int index, Values weights, Values biases) {
    if (index < count) {
      weight.Values(index, count, weights);
      bias.Values(index, count, biases);
    }
  };
  if (!weight.IsOfSameType() || !bias.IsOfSameType()) {
    weight.Settle();
    bias.Settle();
    store(any);
  } else if constexpr (kAtOnce == 0) {
    store([&](int v, int, Values weights, Values biases) {
      weight.FetchedValues(v, weights);
      bias.FetchedValues(v, biases);
    });
  } else {
    store([&](int v, int, Values weights, Values biases) {
      if (v % kAtOnce == 0) {
        weight.template Fetch<kAtOnce>(group, v, count);
        bias.template Fetch<kAtOnce>(group, v, count);
        weight.template FetchRest<kAtOnce>(group, v, count);
        bias.template FetchRest<kAtOnce>(group, v, count);
      }
      weight.template FetchedValues<kAtOnce>(v, weights);
      bias.template FetchedValues<kAtOnce>(v, biases);
    });
  }
}

/// The same one element after another, with parameters of any type that begin anywhere: x is read again. Out of line,
/// and nothing of the held row goes along: the way there may cost, the kernels that hardly ever take it should not.
template <typename Held, typename Acc, typename Group, typename Row>
__device__ __noinline__ void NormaliseElements(const Group group, const Row row, const Moments<Acc> moments,
                                               const NormEpsilon epsilon) {
  using Out = std::remove_pointer_t<decltype(row.y)>;
  const Acc inv_std_dev = moments.InvStdDev(epsilon);
  StoreStatistics(group, row, moments, inv_std_dev);
#pragma unroll 1
  for (int i = 0; row.y != nullptr && i < Held::kHeld; ++i) {
    const int index = Held::IndexOf(group, i / Held::kLength) + i % Held::kLength;
    if (index < row.x.count) {
      Acc values[1] = {Widen<Acc>(row.x.data[index])};
      const Acc weights[1] = {ParameterAt<Acc>(row.weight_word, row.weight, index, Acc{1})};
      const Acc biases[1] = {ParameterAt<Acc>(row.bias_word, row.bias, index, Acc{0})};
      Normalise(moments, inv_std_dev, weights, biases, values);
      row.y[index] = Narrow<Out>(values[0]);
    }
  }
}

/// What is read of a row: besides the thread's own part, for blocks, its beginning.
template <typename Held>
struct LayerNormLoads : RowLoads<Held, FillZero> {
  RowBeginning<typename Held::Element, Held::kPlain> beginning;

  using RowLoads<Held, FillZero>::RowLoads;
  template <typename Group, typename Row>
  __device__ __forceinline__ void Begin(const Group& group, const Row& row) {
    if constexpr (std::is_same_v<Group, BlockGroup>) {
      beginning.Load(row.x.data, row.x.count);
    }
    RowLoads<Held, FillZero>::Begin(group, row);
  }
};

/// Rows that registers hold: each is read once, and written after all of it has been read.
///
/// `kFew`: there are too few rows for other warps to hide the way of weights and biases, so they are asked for before
/// the reduction. Where there are many, that would only take the registers that let more warps run, and a row of a
/// block is found again rather than remembered.
template <typename T, typename Shape, bool kPlain, bool kFew>
__global__ void __launch_bounds__(Shape::BlockThreads(kPlain), kFew ? 1 : Shape::ResidentBlocks(kPlain))
    LayerNormResidentKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Held = HeldRow<T, Shape, kPlain>;
  using Loads = LayerNormLoads<Held>;
  using Parameter = DeviceParameter<T, Shape::kVectors, Acc, kPlain>;
  const int blocks = arguments.tuning.cluster_blocks;
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks);
  const HeldSpace<T, Shape, kPlain, 1> space;
  const auto row_at = [&](std::int64_t index) { return LayerNormRowAt<T, T>(arguments, index); };
  constexpr bool kAhead = Shape::template kLooksAhead<kPlain>;
  constexpr bool kFindsAgain = Shape::kOfBlocks && !kAhead && !kFew;
  constexpr int kAtOnce = kFew ? 0 : Shape::kRoomy ? 4 : 2;  // more would take registers from the row
  const auto finish = [&](const auto& begun, Loads& loads, const auto& again) {
    auto row = begun;
    Parameter weight(row.weight_word, row.weight, Acc{1});
    Parameter bias(row.bias_word, row.bias, Acc{0});
    if (kFew) {
      weight.Prefetch(group, row.x.count);
      bias.Prefetch(group, row.x.count);
    }
    const auto moments = MomentsOf<Acc>(group, loads.x, loads.beginning, row.x.count);
    loads.x.StayPacked();
    if constexpr (kFindsAgain) {
      row = again();
      weight = Parameter(row.weight_word, row.weight, Acc{1});
      bias = Parameter(row.bias_word, row.bias, Acc{0});
    }
    if (moments.LeaveF32(arguments.epsilon)) {
      const auto in_f64 = MomentsInF64<Held>(group, row);
      group = in_f64.group;
      NormaliseElements<Held, double>(group, row, in_f64.value, arguments.epsilon);
    } else if (!weight.IsPlain() || !bias.IsPlain()) {
      NormaliseElements<Held, Acc>(group, row, moments, arguments.epsilon);
    } else {
      StoreNormalised<kAtOnce>(group, loads.x, row, weight, bias, moments, arguments.epsilon, space.Out());
    }
  };
  ForEachRow<kAhead>(group, blocks, arguments.total_rows, row_at, Loads(space.In(0)), finish);
}

/// The moments of a row of any width, a stretch at a time.
template <typename Acc, typename T>
__device__ Moments<Acc> StreamMoments(BlockGroup& group, const RowSource<T>& x, std::int64_t width, Granule* place) {
  RowBeginning<T, false> beginning;
  beginning.Load(x.data, width);
  Acc first_mean = beginning.template Mean<Acc>();
#pragma unroll 1
  for (bool again = false;; again = true) {
    Deviations<double> part{0.0, 0.0};
    ForEachStretch<T>(group, width, [&](std::int64_t first, int count) {
      const auto held = LoadStretch<FillZero>(group, x, first, count, place);
      const Deviations<Acc> of_stretch = DeviationsOf(group, held, count, first_mean).of_stretch[0];
      part = {part.sum + static_cast<double>(of_stretch.sum), part.squares + static_cast<double>(of_stretch.squares)};
    });
    const Moments<Acc> moments(first_mean, TotalOf(group, RowParts<Deviations<double>, 1>{{part}}),
                               static_cast<double>(width), kMostOff<T>);
    if (again || moments.is_close) {  // alike in the whole group
      return moments;
    }
    first_mean = moments.Mean();
  }
}

/// A row of any width, a stretch at a time; sums of stretches run in f64. Returns false, and writes nothing, when the
/// moments leave f32.
template <typename Acc, typename T, typename Out>
__device__ bool StreamLayerNorm(BlockGroup& group, const LayerNormRow<T, Out>& row, std::int64_t width,
                                const NormEpsilon& epsilon, Granule* place) {
  const Moments<Acc> moments = StreamMoments<Acc>(group, row.x, width, place);
  if (moments.LeaveF32(epsilon)) {
    return false;
  }
  const Acc inv_std_dev = moments.InvStdDev(epsilon);
  StoreStatistics(group, row, moments, inv_std_dev);
  if (row.y == nullptr) {
    return true;
  }
  const StreamedParameter<T, Acc> weight(row.weight_word, row.weight, Acc{1});
  const StreamedParameter<T, Acc> bias(row.bias_word, row.bias, Acc{0});
  const auto compute = [&](std::int64_t at, Acc(&values)[kElementsOfGranule<T>]) {
    Acc weights[kElementsOfGranule<T>];
    Acc biases[kElementsOfGranule<T>];
    weight.Values(at, width, weights);
    bias.Values(at, width, biases);
    Normalise(moments, inv_std_dev, weights, biases, values);
  };
  ForEachStretchBackwards<T>(group, width, [&](std::int64_t first, int count) {
    StoreStretch<Acc>(group, LoadStretch<FillZero>(group, row.x, first, count, place), first, count, row.y, compute);
  });
  return true;
}

/// Rows of any width, and results of any type: x is read twice or, where its first elements tell little of it, three
/// times. A row of no elements has statistics, which are NaN.
template <typename T, typename Out>
__global__ void __launch_bounds__(RowGrid<BlockGroup>::kBlockThreads)
    LayerNormStreamKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T, Out>;
  using Grid = RowGrid<BlockGroup>;
  const int blocks = arguments.tuning.cluster_blocks;
  BlockGroup group(blocks);
  Granule* const place = StreamSpace<T, 1>().In(0);
  for (std::int64_t index = Grid::FirstRow(blocks); index < arguments.total_rows; index += Grid::RowsOfGrid(blocks)) {
    const auto row = LayerNormRowAt<T, Out>(arguments, index);
    if (!StreamLayerNorm<Acc>(group, row, arguments.width, arguments.epsilon, place)) {
      StreamLayerNorm<double>(group, row, arguments.width, arguments.epsilon, place);
    }
  }
}

template <typename T, bool kFew>
struct LayerNormKernels {
  static constexpr int kInputs = 1;
  template <typename Shape, bool kPlain>
  static constexpr auto kHeld = &LayerNormResidentKernel<T, Shape, kPlain, kFew && kPlain && Shape::kVectors <= 4>;
  template <typename Out>
  static constexpr auto kStreamed = &LayerNormStreamKernel<T, Out>;
};

/// Launches rows of type T with results of any type.
template <typename T>
cudaError_t LaunchLayerNormRows(DataType y_type, bool plain, const LayerNormArguments& arguments, cudaStream_t stream) {
  const std::int64_t rows = arguments.total_rows;
  return plain && AreFewRows(arguments.width * static_cast<std::int64_t>(sizeof(T)), rows)
             ? LaunchRowsOf<T, LayerNormKernels<T, true>>(RowWork::kMoments, y_type, plain, rows, arguments, stream)
             : LaunchRowsOf<T, LayerNormKernels<T, false>>(RowWork::kMoments, y_type, plain, rows, arguments, stream);
}

// A file each, so that they compile side by side.
extern template cudaError_t LaunchLayerNormRows<__half>(DataType, bool, const LayerNormArguments&, cudaStream_t);
extern template cudaError_t LaunchLayerNormRows<__nv_bfloat16>(DataType, bool, const LayerNormArguments&, cudaStream_t);
extern template cudaError_t LaunchLayerNormRows<float>(DataType, bool, const LayerNormArguments&, cudaStream_t);
extern template cudaError_t LaunchLayerNormRows<double>(DataType, bool, const LayerNormArguments&, cudaStream_t);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KERNEL_CUH_

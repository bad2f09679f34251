// layer_norm on the device: one kernel for rows that registers hold, one for longer rows and for results of another
// type than x, and the launch of either.
//
// Moments are centred, and corrected: a first mean is found, then the sum and the sum of squares of what is left when
// it is subtracted. The first mean may be off by the rounding of its sum (mean 1e4, deviation 1e-2); the sum of the
// rest tells by how much. Source: T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample
// variance", 1983.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/segment_table.cuh"

namespace kernelwire {

struct LayerNormArguments {
  SegmentTable table;
  std::int64_t total_rows;
  std::int64_t width;
  double epsilon;
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

/// Sum and sum of squares of deviations from a first mean; their parts add up.
template <typename Acc>
struct Deviations {
  Acc sum;
  Acc squares;
};

template <typename Group, typename Acc, int kStretches>
__device__ __forceinline__ Deviations<Acc> TotalOf(Group& group, const RowParts<Deviations<Acc>, kStretches>& parts) {
  return group.Reduce(parts, Deviations<Acc>{0, 0}, [](const Deviations<Acc>& a, const Deviations<Acc>& b) {
    return Deviations<Acc>{a.sum + b.sum, a.squares + b.squares};
  });
}

/// The mean in two parts, and the deviation's inverse.
template <typename Acc>
struct Moments {
  Acc first_mean;
  Acc correction;
  Acc variance;

  template <typename Sum>
  __device__ __forceinline__ Moments(Acc first, const Deviations<Sum>& total, Sum width)
      : first_mean(first), correction(static_cast<Acc>(total.sum / width)) {
    const Sum centre = total.sum / width;
    variance = static_cast<Acc>(fma(-total.sum, centre, total.squares) / width);
    variance = variance < Acc{0} ? Acc{0} : variance;
  }

  __device__ __forceinline__ Acc Mean() const { return first_mean + correction; }
  __device__ __forceinline__ Acc InvStdDev(double epsilon) const {
    return InverseRoot(variance + static_cast<Acc>(epsilon));
  }
  __device__ __forceinline__ bool LeaveF32(double epsilon) const {
    return std::is_same_v<Acc, float> &&
           MomentsLeaveF32(static_cast<double>(Mean()), static_cast<double>(variance), epsilon);
  }
};

/// This thread's part of the sum: for each stretch, in four chains. Elements beyond the row are 0.
template <typename Acc, typename Held>
__device__ __forceinline__ RowParts<Acc, Held::kStretches> SumOf(const Held& held) {
  RowParts<Acc, Held::kStretches> parts;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    Acc sums[4] = {};
#pragma unroll
    for (int v = 0; v < Held::kVectorsOfStretch; ++v) {
      Acc values[Held::kLength];
      Unpack<typename Held::Element>(held.vectors[s * Held::kVectorsOfStretch + v], values);
#pragma unroll
      for (int j = 0; j < Held::kLength; ++j) {
        sums[(v * Held::kLength + j) % 4] += values[j];
      }
    }
    parts.of_stretch[s] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  return parts;
}

/// All but the first `count` values become `other`.
template <int kLength, typename Acc>
__device__ __forceinline__ void KeepFirst(int count, Acc other, Acc (&values)[kLength]) {
#pragma unroll
  for (int j = 1; j < kLength; ++j) {
    values[j] = j < count ? values[j] : other;
  }
}

/// This thread's part of the deviations of `count` elements.
template <typename Acc, typename Held, typename Group>
__device__ __forceinline__ RowParts<Deviations<Acc>, Held::kStretches> DeviationsOf(const Group& group,
                                                                                    const Held& held, int count,
                                                                                    Acc mean) {
  RowParts<Deviations<Acc>, Held::kStretches> parts;
#pragma unroll
  for (int s = 0; s < Held::kStretches; ++s) {
    Acc sums[2] = {};
    Acc squares[2] = {};
#pragma unroll
    for (int v = s * Held::kVectorsOfStretch; v < (s + 1) * Held::kVectorsOfStretch; ++v) {
      const int left = count - Held::IndexOf(group, v);
      Acc values[Held::kLength];
      Unpack<typename Held::Element>(held.vectors[v], values);
      if (!Held::kPlain && 0 < left && left < Held::kLength) {
        KeepFirst(left, mean, values);
      }
#pragma unroll
      for (int j = 0; j < Held::kLength; ++j) {
        const Acc deviation = 0 < left ? values[j] - mean : Acc{0};
        sums[j % 2] += deviation;
        squares[j % 2] = fma(deviation, deviation, squares[j % 2]);
      }
    }
    parts.of_stretch[s] = {sums[0] + sums[1], squares[0] + squares[1]};
  }
  return parts;
}

/// y of one vector, in place: ((x - mean) * inv_std_dev) * weight + bias.
template <int kLength, typename Acc>
__device__ __forceinline__ void Normalise(const Moments<Acc>& moments, Acc inv_std_dev, const Acc (&weights)[kLength],
                                          const Acc (&biases)[kLength], Acc (&values)[kLength]) {
#pragma unroll
  for (int j = 0; j < kLength; ++j) {
    const Acc centred = (values[j] - moments.first_mean) - moments.correction;
    values[j] = fma(centred * inv_std_dev, weights[j], biases[j]);
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

/// From moments to outputs of a held row. `kPrefetched`: see DeviceParameter.
template <bool kPrefetched, typename Held, typename Group, typename Row, typename Parameter, typename Acc>
__device__ __forceinline__ void StoreNormalised(const Group& group, const Held& held, const Row& row,
                                                const Parameter& weight, const Parameter& bias,
                                                const Moments<Acc>& moments, double epsilon) {
  using T = typename Held::Element;
  const Acc inv_std_dev = moments.InvStdDev(epsilon);
  StoreStatistics(group, row, moments, inv_std_dev);
  if (row.y == nullptr) {
    return;
  }
  Held::Store(group, row.y, row.x.count, [&](int v, int index) {
    Acc values[Held::kLength];
    Unpack<T>(held.vectors[v], values);
    if (index < row.x.count) {
      Acc weights[Held::kLength];
      Acc biases[Held::kLength];
      weight.template Values<kPrefetched>(v, index, row.x.count, weights);
      bias.template Values<kPrefetched>(v, index, row.x.count, biases);
      Normalise(moments, inv_std_dev, weights, biases, values);
    }
    return Pack<T>(values);
  });
}

template <typename Acc, typename Held, typename Group>
__device__ __forceinline__ Moments<Acc> MomentsOf(Group& group, Held& held, int width) {
  const auto count = static_cast<Acc>(width);
  const Acc first_mean = RowSum(group, SumOf<Acc>(held)) / count;
  held.StayPacked();
  return Moments<Acc>(first_mean, TotalOf(group, DeviationsOf(group, held, width, first_mean)), count);
}

/// For the rare row whose moments f32 cannot hold: x is read again, one element at a time, in the order of held rows.
/// Out of line, and nothing of the held row goes along: the way there may cost, the kernels that hardly ever take it
/// should not.
template <typename Held, typename Group, typename Row>
__device__ __noinline__ void LayerNormInF64(Group group, const Row row, double epsilon) {
  using Out = std::remove_pointer_t<decltype(row.y)>;
  constexpr int kHeldOfStretch = Held::kHeld / Held::kStretches;
  const int width = row.x.count;
  const auto index_of = [&](int i) { return Held::IndexOf(group, i / Held::kLength) + i % Held::kLength; };
  RowParts<double, Held::kStretches> sums{};
#pragma unroll 1
  for (int i = 0; i < Held::kHeld; ++i) {
    const int index = index_of(i);
    sums.of_stretch[i / kHeldOfStretch] += index < width ? Widen<double>(row.x.data[index]) : 0.0;
  }
  const double first_mean = RowSum(group, sums) / width;
  RowParts<Deviations<double>, Held::kStretches> parts{};
#pragma unroll 1
  for (int i = 0; i < Held::kHeld; ++i) {
    const int index = index_of(i);
    const double deviation = index < width ? Widen<double>(row.x.data[index]) - first_mean : 0.0;
    Deviations<double>& part = parts.of_stretch[i / kHeldOfStretch];
    part = {part.sum + deviation, fma(deviation, deviation, part.squares)};
  }
  const Moments<double> moments(first_mean, TotalOf(group, parts), static_cast<double>(width));
  const double inv_std_dev = moments.InvStdDev(epsilon);
  StoreStatistics(group, row, moments, inv_std_dev);
#pragma unroll 1
  for (int i = 0; row.y != nullptr && i < Held::kHeld; ++i) {
    const int index = index_of(i);
    if (index < width) {
      double values[1] = {Widen<double>(row.x.data[index])};
      const double weights[1] = {ParameterInF64(row.weight_word, row.weight, index, 1.0)};
      const double biases[1] = {ParameterInF64(row.bias_word, row.bias, index, 0.0)};
      Normalise(moments, inv_std_dev, weights, biases, values);
      row.y[index] = Narrow<Out>(values[0]);
    }
  }
}

/// Rows that registers hold: each is read once, and written after all of it has been read.
///
/// `kFew`: there are too few rows for other warps to hide the way of weights and biases, so they are asked for before
/// the reductions. Where there are many, that would only take the registers that let more warps run.
template <typename T, typename Shape, bool kPlain, bool kFew>
__global__ void __launch_bounds__(Shape::BlockThreads(kPlain), kFew ? 1 : Shape::ResidentBlocks(kPlain))
    LayerNormResidentKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork();
  using Acc = AccumulatorOf<T>;
  using Loads = RowLoads<T, Shape::kVectors, kPlain, FillZero>;
  using Parameter = DeviceParameter<T, Shape::kVectors, Acc, kPlain>;
  const int blocks = arguments.tuning.cluster_blocks;
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks);
  const auto row_at = [&](std::int64_t index) { return LayerNormRowAt<T, T>(arguments, index); };
  ForEachRow<Loads, Shape::kLooksAhead>(
      group, blocks, arguments.total_rows, row_at, [&](const auto& row, Loads& loads) {
        Parameter weight(row.weight_word, row.weight, Acc{1});
        Parameter bias(row.bias_word, row.bias, Acc{0});
        if (kFew) {
          weight.Prefetch(group, 0, row.x.count);
          bias.Prefetch(group, 0, row.x.count);
        }
        const auto moments = MomentsOf<Acc>(group, loads.x, row.x.count);
        loads.x.StayPacked();
        if (moments.LeaveF32(arguments.epsilon)) {
          LayerNormInF64<decltype(loads.x)>(group, row, arguments.epsilon);
        } else {
          StoreNormalised<kFew>(group, loads.x, row, weight, bias, moments, arguments.epsilon);
        }
      });
}

/// A row of any width, a stretch at a time; sums of stretches run in f64. Returns false, and writes nothing, when the
/// moments leave f32.
template <typename Acc, typename T, typename Out>
__device__ bool StreamLayerNorm(BlockGroup& group, const LayerNormRow<T, Out>& row, std::int64_t width,
                                double epsilon) {
  const T* const x = row.x.data;
  double sum = 0.0;
  ForEachStretch<T>(group, width, [&](std::int64_t first, int count) {
    sum +=
        static_cast<double>(SumOf<Acc>(LoadStretch(group, x, width, first, count, FillZero::Value<T>())).of_stretch[0]);
  });
  const auto first_mean = static_cast<Acc>(RowSum(group, RowParts<double, 1>{{sum}}) / static_cast<double>(width));
  Deviations<double> part{0.0, 0.0};
  ForEachStretch<T>(group, width, [&](std::int64_t first, int count) {
    const auto held = LoadStretch(group, x, width, first, count, FillZero::Value<T>());
    const Deviations<Acc> of_stretch = DeviationsOf(group, held, count, first_mean).of_stretch[0];
    part = {part.sum + static_cast<double>(of_stretch.sum), part.squares + static_cast<double>(of_stretch.squares)};
  });
  const Moments<Acc> moments(first_mean, TotalOf(group, RowParts<Deviations<double>, 1>{{part}}),
                             static_cast<double>(width));
  if (moments.LeaveF32(epsilon)) {
    return false;
  }
  const Acc inv_std_dev = moments.InvStdDev(epsilon);
  StoreStatistics(group, row, moments, inv_std_dev);
  if (row.y == nullptr) {
    return true;
  }
  const DeviceParameter<T, 1, Acc, false> weight(row.weight_word, row.weight, Acc{1});
  const DeviceParameter<T, 1, Acc, false> bias(row.bias_word, row.bias, Acc{0});
  const auto compute = [&](std::int64_t at, Acc(&values)[kElementsOfGranule<T>]) {
    Acc weights[kElementsOfGranule<T>];
    Acc biases[kElementsOfGranule<T>];
    weight.template Values<false>(0, at, width, weights);
    bias.template Values<false>(0, at, width, biases);
    Normalise(moments, inv_std_dev, weights, biases, values);
  };
  ForEachStretchBackwards<T>(group, width, [&](std::int64_t first, int count) {
    StreamVectors<T> held;
    held.LoadOwn(group, x + first, count, FillZero::Value<T>());
    StoreStretch<Acc>(group, held, first, count, row.y, compute);
  });
  return true;
}

/// Rows of any width, and results of any type: x is read three times. A row of no elements has statistics, which are
/// NaN.
template <typename T, typename Out>
__global__ void __launch_bounds__(RowGrid<BlockGroup>::kBlockThreads)
    LayerNormStreamKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork();
  using Acc = AccumulatorOf<T, Out>;
  using Grid = RowGrid<BlockGroup>;
  const int blocks = arguments.tuning.cluster_blocks;
  BlockGroup group(blocks);
  for (std::int64_t index = Grid::FirstRow(blocks); index < arguments.total_rows; index += Grid::RowsOfGrid(blocks)) {
    const auto row = LayerNormRowAt<T, Out>(arguments, index);
    if (!StreamLayerNorm<Acc>(group, row, arguments.width, arguments.epsilon)) {
      StreamLayerNorm<double>(group, row, arguments.width, arguments.epsilon);
    }
  }
}

template <typename T, bool kFew>
struct LayerNormKernels {
  template <typename Shape, bool kPlain>
  static constexpr auto kHeld = &LayerNormResidentKernel<T, Shape, kPlain, kFew && kPlain && Shape::kVectors <= 4>;
  template <typename Out>
  static constexpr auto kStreamed = &LayerNormStreamKernel<T, Out>;
};

/// Launches rows of type T with results of any type. `plain`: see RowVectors.
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

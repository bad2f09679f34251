// rms_norm on the device: one kernel for rows that registers hold, one for longer rows and for results of another type
// than x, and the launch of either. add_rms_norm is made of the same parts, so that both give the same bits.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/segment_table.cuh"

namespace kernelwire {

struct RmsNormArguments {
  SegmentTable table;
  std::int64_t total_rows;
  std::int64_t width;
  double epsilon;
  RowTuning tuning;
};

/// Where one row of one request lies, and what scales it.
template <typename T, typename Out>
struct RmsNormRow {
  RowSource<T> x;
  Out* y;
  const void* weight;
  std::int64_t weight_word;
};

template <typename T, typename Out>
__device__ __forceinline__ RmsNormRow<T, Out> RmsNormRowAt(const RmsNormArguments& arguments, std::int64_t row) {
  return arguments.table.PickOf(row, [&](const Segment& segment) -> RmsNormRow<T, Out> {
    const std::int64_t index = row - segment.first_row;
    return {
        RowSourceAt<T>(segment.inputs[kRmsNormX], index, segment.rows, segment.extents[kRowStrideX], arguments.width),
        static_cast<Out*>(segment.outputs[0]) + index * segment.extents[kRowStrideY],
        segment.inputs[kRmsNormWeightInput], segment.extents[kRowWeight]};
  });
}

/// This thread's part of the sum of squares: for each stretch, in four chains.
template <typename Acc, typename Held>
__device__ __forceinline__ RowParts<Acc, Held::kStretches> SumOfSquares(const Held& held) {
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
        Acc& sum = sums[(v * Held::kLength + j) % 4];
        sum = fma(values[j], values[j], sum);
      }
    }
    parts.of_stretch[s] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  return parts;
}

/// What multiplies a row, or says that its squares have left f32 and the row must be computed in f64.
template <typename Acc>
struct RmsFactor {
  Acc factor;
  bool leaves_f32;

  __device__ __forceinline__ RmsFactor(Acc mean_square, double epsilon)
      : factor(InverseRoot(mean_square + static_cast<Acc>(epsilon))),
        leaves_f32(std::is_same_v<Acc, float> && MeanSquareLeavesF32(static_cast<double>(mean_square), epsilon)) {}
};

/// y = (x * factor) * weight of a held row. Weights of up to 4 vectors were asked for before the row's reduction;
/// registers do not hold more beside the row.
template <typename Held, typename Group, typename Parameter, typename Acc>
__device__ __forceinline__ void StoreScaled(const Group& group, const Held& held, Parameter& weight, Acc factor,
                                            typename Held::Element* y, int width) {
  using T = typename Held::Element;
  Held::Store(group, y, width, [&](int v, int index) {
    if (Held::kVectors > 4 && v % Parameter::kTogether == 0) {
      weight.Prefetch(group, v, width);
    }
    Acc values[Held::kLength];
    Unpack<T>(held.vectors[v], values);
    if (index < width) {
      Acc weights[Held::kLength];
      weight.template Values<true>(v, index, width, weights);
#pragma unroll
      for (int j = 0; j < Held::kLength; ++j) {
        values[j] = values[j] * factor * weights[j];
      }
    }
    return Pack<T>(values);
  });
}

/// For the rare row whose squares f32 cannot hold: element(i) is read again, one by one, in the order of held rows. Out
/// of line, and nothing of the held row goes along: the way there may cost, the kernels that hardly ever take it should
/// not.
template <typename Held, typename Out, typename Group, typename Element>
__device__ __noinline__ void RmsNormInF64(Group group, const Element element, Out* y, const void* weight,
                                          std::int64_t weight_word, int width, double epsilon) {
  RowParts<double, Held::kStretches> parts{};
#pragma unroll 1
  for (int i = 0; i < Held::kHeld; ++i) {
    const int index = Held::IndexOf(group, i / Held::kLength) + i % Held::kLength;
    const double value = index < width ? element(index) : 0.0;
    double& sum = parts.of_stretch[i / (Held::kHeld / Held::kStretches)];
    sum = fma(value, value, sum);
  }
  const double factor = InverseRoot(RowSum(group, parts) / width + epsilon);
#pragma unroll 1
  for (int i = 0; i < Held::kHeld; ++i) {
    const int index = Held::IndexOf(group, i / Held::kLength) + i % Held::kLength;
    if (index < width) {
      y[index] = Narrow<Out>(element(index) * factor * ParameterInF64(weight_word, weight, index, 1.0));
    }
  }
}

/// Rows that registers hold: each is read once, and written after all of it has been read.
template <typename T, typename Shape, bool kPlain>
__global__ void __launch_bounds__(Shape::BlockThreads(kPlain), Shape::ResidentBlocks(kPlain))
    RmsNormResidentKernel(const __grid_constant__ RmsNormArguments arguments) {
  AwaitEarlierWork();
  using Acc = AccumulatorOf<T>;
  using Loads = RowLoads<T, Shape::kVectors, kPlain, FillZero>;
  const int blocks = arguments.tuning.cluster_blocks;
  const int width = static_cast<int>(arguments.width);
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks);
  const auto row_at = [&](std::int64_t index) { return RmsNormRowAt<T, T>(arguments, index); };
  ForEachRow<Loads, Shape::kLooksAhead>(
      group, blocks, arguments.total_rows, row_at, [&](const auto& row, Loads& loads) {
        DeviceParameter<T, Shape::kVectors, Acc, kPlain> weight(row.weight_word, row.weight, Acc{1});
        if (Shape::kVectors <= 4) {
          weight.Prefetch(group, 0, width);
        }
        const Acc sum = RowSum(group, SumOfSquares<Acc>(loads.x));
        loads.x.StayPacked();
        weight.StayPacked();
        const RmsFactor<Acc> scale(sum / static_cast<Acc>(width), arguments.epsilon);
        if (scale.leaves_f32) {
          const auto element = [x = row.x.data](int i) { return Widen<double>(x[i]); };
          RmsNormInF64<decltype(loads.x)>(group, element, row.y, row.weight, row.weight_word, width, arguments.epsilon);
        } else {
          StoreScaled(group, loads.x, weight, scale.factor, row.y, width);
        }
      });
}

/// A row of any width, a stretch at a time; sums of stretches run in f64. `source` has `First(group, first, count)` and
/// `Again(...)`: the stretch in the pass that sums, and in the pass that writes y; `Passed` comes between. Returns
/// false, and writes nothing, when the squares leave f32.
template <typename Acc, typename Out, typename Source>
__device__ bool StreamRmsNorm(BlockGroup& group, Source& source, Out* y, const void* weight_data,
                              std::int64_t weight_word, const RmsNormArguments& arguments) {
  using T = typename Source::Element;
  double partial = 0.0;
  ForEachStretch<T>(group, arguments.width, [&](std::int64_t first, int count) {
    partial += static_cast<double>(SumOfSquares<Acc>(source.First(group, first, count)).of_stretch[0]);
  });
  source.Passed();
  const double mean_square = RowSum(group, RowParts<double, 1>{{partial}}) / static_cast<double>(arguments.width);
  if (std::is_same_v<Acc, float> && MeanSquareLeavesF32(mean_square, arguments.epsilon)) {
    return false;
  }
  if (y == nullptr) {
    return true;
  }
  const auto factor = static_cast<Acc>(InverseRoot(mean_square + arguments.epsilon));
  const DeviceParameter<T, 1, Acc, false> weight(weight_word, weight_data, Acc{1});
  ForEachStretchBackwards<T>(group, arguments.width, [&](std::int64_t first, int count) {
    const auto compute = [&](std::int64_t at, Acc(&values)[StreamVectors<T>::kLength]) {
      Acc weights[StreamVectors<T>::kLength];
      weight.template Values<false>(0, at, arguments.width, weights);
#pragma unroll
      for (int j = 0; j < StreamVectors<T>::kLength; ++j) {
        values[j] = values[j] * factor * weights[j];
      }
    };
    StoreStretch<Acc>(group, source.Again(group, first, count), first, count, y, compute);
  });
  return true;
}

/// x as StreamRmsNorm reads it.
template <typename T>
struct StreamedRow {
  using Element = T;
  const T* x;
  std::int64_t width;

  __device__ __forceinline__ StreamVectors<T> First(const BlockGroup& group, std::int64_t first, int count) const {
    return LoadStretch(group, x, width, first, count, FillZero::Value<T>());
  }
  __device__ __forceinline__ void Passed() {}
  __device__ __forceinline__ StreamVectors<T> Again(const BlockGroup& group, std::int64_t first, int count) const {
    StreamVectors<T> held;
    held.LoadOwn(group, x + first, count, FillZero::Value<T>());
    return held;
  }
};

/// Rows of any width, and results of any type: x is read twice.
template <typename T, typename Out>
__global__ void __launch_bounds__(RowGrid<BlockGroup>::kBlockThreads)
    RmsNormStreamKernel(const __grid_constant__ RmsNormArguments arguments) {
  AwaitEarlierWork();
  using Acc = AccumulatorOf<T, Out>;
  using Grid = RowGrid<BlockGroup>;
  const int blocks = arguments.tuning.cluster_blocks;
  BlockGroup group(blocks);
  for (std::int64_t index = Grid::FirstRow(blocks); index < arguments.total_rows; index += Grid::RowsOfGrid(blocks)) {
    const auto row = RmsNormRowAt<T, Out>(arguments, index);
    StreamedRow<T> source{row.x.data, arguments.width};
    if (!StreamRmsNorm<Acc>(group, source, row.y, row.weight, row.weight_word, arguments)) {
      StreamRmsNorm<double>(group, source, row.y, row.weight, row.weight_word, arguments);
    }
  }
}

template <typename T>
struct RmsNormKernels {
  template <typename Shape, bool kPlain>
  static constexpr auto kHeld = &RmsNormResidentKernel<T, Shape, kPlain>;
  template <typename Out>
  static constexpr auto kStreamed = &RmsNormStreamKernel<T, Out>;
};

/// Launches rows of type T with results of any type. `plain`: see RowVectors.
template <typename T>
cudaError_t LaunchRmsNormRows(DataType y_type, bool plain, const RmsNormArguments& arguments, cudaStream_t stream) {
  return LaunchRowsOf<T, RmsNormKernels<T>>(RowWork::kOneSum, y_type, plain, arguments.total_rows, arguments, stream);
}

// A file each, so that they compile side by side.
extern template cudaError_t LaunchRmsNormRows<__half>(DataType, bool, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNormRows<__nv_bfloat16>(DataType, bool, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNormRows<float>(DataType, bool, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNormRows<double>(DataType, bool, const RmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_

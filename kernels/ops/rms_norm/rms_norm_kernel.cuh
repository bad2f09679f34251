// rms_norm on the device: one kernel for rows that fit into registers, one for longer rows and for results of another
// type than x, and the launch of either.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/device/launch.cuh"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_reduce.cuh"
#include "kernels/primitives/row_tile.cuh"
#include "kernels/primitives/segment_lookup.h"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

struct RmsNormArguments {
  const Segment* segments;
  int segment_count;
  std::int64_t total_rows;
  std::int64_t width;
  double epsilon;
};

/// One row of one request: where it lies, and what scales it.
template <typename T, typename Out>
struct RmsNormRow {
  using Acc = AccumulatorOf<T, Out>;
  const T* x;
  Out* y;
  const void* weight;
  RowParameter parameter;  // how the weight is read
  Acc one_weight;

  __device__ RmsNormRow(const RmsNormArguments& arguments, std::int64_t row) {
    const Segment& segment = arguments.segments[FindSegment(arguments.segments, arguments.segment_count, row)];
    const std::int64_t index = row - segment.first_row;
    x = static_cast<const T*>(segment.inputs[kRmsNormX]) + index * segment.extents[kRowStrideX];
    y = static_cast<Out*>(segment.outputs[0]) + index * segment.extents[kRowStrideY];
    weight = segment.inputs[kRmsNormWeightInput];
    parameter = UnpackRowParameter(segment.extents[kRowWeight]);
    one_weight = parameter.kind == RowParameterKind::kOne ? LoadOne<Acc>(parameter.dtype, weight, 0) : Acc{1};
  }
};

/// This thread's part of the sum of squares.
template <typename Acc, typename Tile>
__device__ __forceinline__ Acc SumOfSquares(const Tile& tile) {
  Acc sum{0};
#pragma unroll
  for (int v = 0; v < Tile::kVectors; ++v) {
#pragma unroll
    for (int j = 0; j < Tile::kLength; ++j) {
      const Acc value = Widen<Acc>(tile.vectors[v].values[j]);
      sum = fma(value, value, sum);
    }
  }
  return sum;
}

/// y = (x * factor) * weight for the `count` elements of the tile that begin at element `first` of the row. `Weight` is
/// the weight's type, or void when one weight serves all.
template <typename Weight, typename Tile, typename Out, typename Acc>
__device__ __forceinline__ void StoreScaled(const Tile& tile, const RmsNormRow<typename Tile::Element, Out>& row,
                                            std::int64_t first, std::int64_t count, Acc factor) {
  constexpr int kLength = Tile::kLength;
#pragma unroll
  for (int v = 0; v < Tile::kVectors; ++v) {
    const std::int64_t index = Tile::IndexOf(v);
    if (index < count) {
      Acc weight[kLength];
      if constexpr (!std::is_void_v<Weight>) {
        LoadWidened(static_cast<const Weight*>(row.weight) + first + index, weight);
      }
      Acc result[kLength];
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        const Acc scaled = Widen<Acc>(tile.vectors[v].values[j]) * factor;
        result[j] = scaled * (std::is_void_v<Weight> ? row.one_weight : weight[j]);
      }
      StoreNarrowed(result, row.y + first + index);
    }
  }
}

template <typename Tile, typename Out, typename Acc>
__device__ __forceinline__ void StoreWeighted(const Tile& tile, const RmsNormRow<typename Tile::Element, Out>& row,
                                              std::int64_t first, std::int64_t count, Acc factor) {
  if (row.parameter.kind != RowParameterKind::kRow) {
    StoreScaled<void>(tile, row, first, count, factor);
  } else {
    WithFloatType(row.parameter.dtype,
                  [&](auto tag) { StoreScaled<typename decltype(tag)::Type>(tile, row, first, count, factor); });
  }
}

/// For the rare row whose squares f32 cannot hold; plain and slow. All threads of the row call it.
template <int kThreads, typename T, typename Out>
__device__ __noinline__ void NormaliseInF64(const RmsNormRow<T, Out> row, std::int64_t width, double epsilon) {
  const int lane = static_cast<int>(threadIdx.x) % kThreads;
  double sum = 0.0;
  for (std::int64_t i = lane; i < width; i += kThreads) {
    const auto value = Widen<double>(row.x[i]);
    sum = fma(value, value, sum);
  }
  const double mean_square = RowSum<kThreads>(sum) / static_cast<double>(width);
  const double factor = 1.0 / sqrt(mean_square + epsilon);
  for (std::int64_t i = lane; i < width; i += kThreads) {
    const double weight = row.parameter.kind == RowParameterKind::kRow
                              ? LoadOne<double>(row.parameter.dtype, row.weight, i)
                              : static_cast<double>(row.one_weight);
    row.y[i] = Narrow<Out>(Widen<double>(row.x[i]) * factor * weight);
  }
}

/// Rows that a tile holds whole: each is read once. Threads of rows beyond the last go along with empty tiles, because
/// reductions need the whole block.
template <typename Tile>
__global__ void __launch_bounds__(Tile::kBlockThreads) RmsNormResidentKernel(const RmsNormArguments arguments) {
  using T = typename Tile::Element;
  using Acc = AccumulatorOf<T>;
  const std::int64_t step = std::int64_t{gridDim.x} * Tile::kRowsOfBlock;
  const int row_of_block = static_cast<int>(threadIdx.x) / Tile::kThreads;
  for (std::int64_t first = std::int64_t{blockIdx.x} * Tile::kRowsOfBlock; first < arguments.total_rows;
       first += step) {
    const bool live = first + row_of_block < arguments.total_rows;
    const RmsNormRow<T, T> row(arguments, live ? first + row_of_block : first);
    const std::int64_t count = live ? arguments.width : 0;
    Tile tile;
    tile.Load(row.x, count, Narrow<T>(Acc{0}));
    const Acc sum = RowSum<Tile::kThreads>(SumOfSquares<Acc>(tile));
    const Acc mean_square = sum / static_cast<Acc>(arguments.width);
    if (std::is_same_v<Acc, float> && live &&
        MeanSquareLeavesF32(static_cast<double>(mean_square), arguments.epsilon)) {
      NormaliseInF64<Tile::kThreads>(row, arguments.width, arguments.epsilon);
      continue;
    }
    const Acc factor = Acc{1} / sqrt(mean_square + static_cast<Acc>(arguments.epsilon));
    StoreWeighted(tile, row, 0, count, factor);
  }
}

/// Rows of any width, a block each: read twice, a tile at a time. Sums of tiles run in f64.
template <typename Tile, typename Out>
__global__ void __launch_bounds__(Tile::kBlockThreads) RmsNormStreamingKernel(const RmsNormArguments arguments) {
  using T = typename Tile::Element;
  using Acc = AccumulatorOf<T, Out>;
  for (std::int64_t index = blockIdx.x; index < arguments.total_rows; index += gridDim.x) {
    const RmsNormRow<T, Out> row(arguments, index);
    double partial = 0.0;
    for (std::int64_t first = 0; first < arguments.width; first += Tile::kElements) {
      Tile tile;
      tile.Load(row.x + first, arguments.width - first, Narrow<T>(Acc{0}));
      partial += static_cast<double>(SumOfSquares<Acc>(tile));
    }
    const double mean_square = RowSum<Tile::kThreads>(partial) / static_cast<double>(arguments.width);
    if (std::is_same_v<Acc, float> && MeanSquareLeavesF32(mean_square, arguments.epsilon)) {
      NormaliseInF64<Tile::kThreads>(row, arguments.width, arguments.epsilon);
      continue;
    }
    const auto factor = static_cast<Acc>(1.0 / sqrt(mean_square + arguments.epsilon));
    for (std::int64_t first = 0; first < arguments.width; first += Tile::kElements) {
      Tile tile;
      tile.Load(row.x + first, arguments.width - first, Narrow<T>(Acc{0}));
      StoreWeighted(tile, row, first, arguments.width - first, factor);
    }
  }
}

/// Launches rows of type T with results of type T. The tile, and with it the order of every sum, follows from T and the
/// width.
template <typename T>
cudaError_t LaunchRmsNormSameType(const RmsNormArguments& arguments, cudaStream_t stream) {
  return WithTile<T>(
      arguments.width,
      [&](auto tag) {
        using Tile = typename decltype(tag)::Type;
        return LaunchKernel(&RmsNormResidentKernel<Tile>, ShapeForRows<Tile>(arguments.total_rows), stream, arguments);
      },
      [&](auto tag) {
        using Tile = typename decltype(tag)::Type;
        return LaunchKernel(&RmsNormStreamingKernel<Tile, T>, ShapeForRows<Tile>(arguments.total_rows), stream,
                            arguments);
      });
}

/// Launches rows of type T with results of any type.
template <typename T>
cudaError_t LaunchRmsNorm(DataType y_type, const RmsNormArguments& arguments, cudaStream_t stream) {
  return WithFloatType(y_type, [&](auto tag) {
    using Out = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<T, Out>) {
      return LaunchRmsNormSameType<T>(arguments, stream);
    } else {
      using Tile = RowTile<T, 128, 8, 1>;
      return LaunchKernel(&RmsNormStreamingKernel<Tile, Out>, ShapeForRows<Tile>(arguments.total_rows), stream,
                          arguments);
    }
  });
}

// A file each, so that they compile side by side.
extern template cudaError_t LaunchRmsNorm<__half>(DataType, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNorm<__nv_bfloat16>(DataType, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNorm<float>(DataType, const RmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchRmsNorm<double>(DataType, const RmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_KERNEL_CUH_

// softmax on the device: one kernel for rows that fit into registers, one for longer rows and for results of another
// type than x, one for interleaved rows (an axis that is not the last), and the launch of each.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/device/launch.cuh"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_reduce.cuh"
#include "kernels/primitives/row_tile.cuh"
#include "kernels/primitives/running_softmax.cuh"
#include "kernels/primitives/segment_lookup.h"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

struct SoftmaxArguments {
  const Segment* segments;
  int segment_count;
  std::int64_t pieces;  // see SoftmaxParams
  std::int64_t width;
  std::int64_t inner;
  SoftmaxAlgorithm algorithm;
};

/// Where a piece's elements lie.
template <typename T, typename Out>
struct SoftmaxPiece {
  const T* x;
  Out* y;

  __device__ SoftmaxPiece(const SoftmaxArguments& arguments, std::int64_t piece) {
    const Segment& segment = arguments.segments[FindSegment(arguments.segments, arguments.segment_count, piece)];
    const std::int64_t index = piece - segment.first_row;
    x = static_cast<const T*>(segment.inputs[0]) + index * segment.extents[kRowStrideX];
    y = static_cast<Out*>(segment.outputs[0]) + index * segment.extents[kRowStrideY];
  }
};

/// The elements of a tile that this thread holds, widened.
template <typename Acc, typename Tile>
__device__ __forceinline__ void WidenTile(const Tile& tile, Acc (&x)[Tile::kVectors * Tile::kLength]) {
#pragma unroll
  for (int v = 0; v < Tile::kVectors; ++v) {
#pragma unroll
    for (int j = 0; j < Tile::kLength; ++j) {
      x[v * Tile::kLength + j] = Widen<Acc>(tile.vectors[v].values[j]);
    }
  }
}

/// Writes y = values * factor for what the tile covers of `count` elements at `to`.
template <typename Tile, typename Out, typename Acc>
__device__ __forceinline__ void StoreTile(const Acc (&values)[Tile::kVectors * Tile::kLength], Acc factor,
                                          std::int64_t count, Out* to) {
#pragma unroll
  for (int v = 0; v < Tile::kVectors; ++v) {
    const std::int64_t index = Tile::IndexOf(v);
    if (index < count) {
      Acc results[Tile::kLength];
#pragma unroll
      for (int j = 0; j < Tile::kLength; ++j) {
        results[j] = values[v * Tile::kLength + j] * factor;
      }
      StoreNarrowed(results, to + index);
    }
  }
}

/// Rows that a tile holds whole: each is read once and exponentiated once, the maximum first. Threads of rows beyond
/// the last go along with empty tiles, because reductions need the whole block.
template <typename Tile>
__global__ void __launch_bounds__(Tile::kBlockThreads) SoftmaxResidentKernel(const SoftmaxArguments arguments) {
  using T = typename Tile::Element;
  using Acc = AccumulatorOf<T>;
  constexpr int kHeld = Tile::kVectors * Tile::kLength;
  const std::int64_t step = std::int64_t{gridDim.x} * Tile::kRowsOfBlock;
  const int row_of_block = static_cast<int>(threadIdx.x) / Tile::kThreads;
  for (std::int64_t first = std::int64_t{blockIdx.x} * Tile::kRowsOfBlock; first < arguments.pieces; first += step) {
    const bool live = first + row_of_block < arguments.pieces;
    const SoftmaxPiece<T, T> row(arguments, live ? first + row_of_block : first);
    const std::int64_t count = live ? arguments.width : 0;
    Tile tile;
    tile.Load(row.x, count, Narrow<T>(kMinusInfinity<Acc>));
    Acc values[kHeld];
    WidenTile(tile, values);
    Acc maximum = kMinusInfinity<Acc>;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      maximum = fmax(maximum, values[i]);
    }
    maximum = RowMax<Tile::kThreads>(maximum);
    Acc sum{0};
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      values[i] = SoftmaxExp<T>(values[i] - maximum);
      sum += values[i];
    }
    sum = RowSum<Tile::kThreads>(sum);
    StoreTile<Tile>(values, Acc{1} / sum, count, row.y);
  }
}

/// This thread's part of the sum of exp(x - offset) over a row, tile by tile.
template <typename Tile, typename Out, typename Acc>
__device__ __forceinline__ double SumOfExponentials(const typename Tile::Element* x, std::int64_t width, Acc offset) {
  double partial = 0.0;
  for (std::int64_t first = 0; first < width; first += Tile::kElements) {
    Tile tile;
    tile.Load(x + first, width - first, Narrow<typename Tile::Element>(kMinusInfinity<Acc>));
    Acc values[Tile::kVectors * Tile::kLength];
    WidenTile(tile, values);
    Acc sum{0};
#pragma unroll
    for (int i = 0; i < Tile::kVectors * Tile::kLength; ++i) {
      sum += SoftmaxExp<Out>(values[i] - offset);
    }
    partial += static_cast<double>(sum);
  }
  return partial;
}

/// Two passes: the maximum, then the sum.
template <typename Tile, typename Out, typename Acc>
__device__ RunningSoftmax<Acc> SafeStatistics(const typename Tile::Element* x, std::int64_t width) {
  Acc maximum = kMinusInfinity<Acc>;
  for (std::int64_t first = 0; first < width; first += Tile::kElements) {
    Tile tile;
    tile.Load(x + first, width - first, Narrow<typename Tile::Element>(kMinusInfinity<Acc>));
#pragma unroll
    for (int v = 0; v < Tile::kVectors; ++v) {
#pragma unroll
      for (int j = 0; j < Tile::kLength; ++j) {
        maximum = fmax(maximum, Widen<Acc>(tile.vectors[v].values[j]));
      }
    }
  }
  maximum = RowMax<Tile::kThreads>(maximum);
  const double partial = SumOfExponentials<Tile, Out>(x, width, SoftmaxOffset(maximum));
  return {maximum, RowSum<Tile::kThreads>(partial)};
}

/// One pass: each thread keeps a running maximum and sum, and the threads' are merged.
template <typename Tile, typename Out, typename Acc>
__device__ RunningSoftmax<Acc> OnlineStatistics(const typename Tile::Element* x, std::int64_t width) {
  auto running = RunningSoftmax<Acc>::Empty();
  for (std::int64_t first = 0; first < width; first += Tile::kElements) {
    Tile tile;
    tile.Load(x + first, width - first, Narrow<typename Tile::Element>(kMinusInfinity<Acc>));
    Acc values[Tile::kVectors * Tile::kLength];
    WidenTile(tile, values);
    AddElements<Out>(values, running);
  }
  return RowReduce<Tile::kThreads>(
      running, [](const RunningSoftmax<Acc>& a, const RunningSoftmax<Acc>& b) { return Merge<Out>(a, b); });
}

/// Rows of any width, a block each, a tile at a time: read twice, or three times when the safe algorithm is asked for.
template <typename Tile, typename Out>
__global__ void __launch_bounds__(Tile::kBlockThreads) SoftmaxStreamingKernel(const SoftmaxArguments arguments) {
  using T = typename Tile::Element;
  using Acc = AccumulatorOf<T, Out>;
  for (std::int64_t index = blockIdx.x; index < arguments.pieces; index += gridDim.x) {
    const SoftmaxPiece<T, Out> row(arguments, index);
    const RunningSoftmax<Acc> statistics = arguments.algorithm == SoftmaxAlgorithm::kSafe
                                               ? SafeStatistics<Tile, Out, Acc>(row.x, arguments.width)
                                               : OnlineStatistics<Tile, Out, Acc>(row.x, arguments.width);
    const auto factor = static_cast<Acc>(1.0 / statistics.sum);
    for (std::int64_t first = 0; first < arguments.width; first += Tile::kElements) {
      Tile tile;
      tile.Load(row.x + first, arguments.width - first, Narrow<T>(Acc{0}));
      Acc values[Tile::kVectors * Tile::kLength];
      WidenTile(tile, values);
#pragma unroll
      for (int i = 0; i < Tile::kVectors * Tile::kLength; ++i) {
        values[i] = SoftmaxExp<Out>(values[i] - statistics.maximum);
      }
      StoreTile<Tile>(values, factor, arguments.width - first, row.y + first);
    }
  }
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
template <typename T, typename Out>
__global__ void __launch_bounds__(InterleavedTile::kThreads)
    SoftmaxInterleavedKernel(const SoftmaxArguments arguments, std::int64_t tiles_of_piece) {
  using Acc = AccumulatorOf<T, Out>;
  __shared__ RunningSoftmax<Acc> parts[InterleavedTile::kParts][InterleavedTile::kRows];
  const int lane = static_cast<int>(threadIdx.x) % InterleavedTile::kRows;
  const int part = static_cast<int>(threadIdx.x) / InterleavedTile::kRows;
  const std::int64_t tiles = arguments.pieces * tiles_of_piece;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const SoftmaxPiece<T, Out> piece(arguments, tile / tiles_of_piece);
    const std::int64_t row = tile % tiles_of_piece * InterleavedTile::kRows + lane;
    const std::int64_t width = row < arguments.inner ? arguments.width : 0;
    const T* const x = piece.x + row;
    parts[part][lane] = InterleavedStatistics<Out, Acc>(x, width, arguments.inner, part);
    __syncthreads();
    RunningSoftmax<Acc> statistics = parts[0][lane];
#pragma unroll
    for (int i = 1; i < InterleavedTile::kParts; ++i) {
      statistics = Merge<Out>(statistics, parts[i][lane]);
    }
    __syncthreads();  // before the next tile overwrites the parts
    const auto factor = static_cast<Acc>(1.0 / statistics.sum);
    for (std::int64_t i = part; i < width; i += InterleavedTile::kParts) {
      const Acc value = SoftmaxExp<Out>(Widen<Acc>(x[i * arguments.inner]) - statistics.maximum);
      piece.y[row + i * arguments.inner] = Narrow<Out>(value * factor);
    }
  }
}

/// Launches contiguous rows of type T with results of type T. The tile, and with it the order of every sum, follows
/// from T, the width and the algorithm.
template <typename T>
cudaError_t LaunchSoftmaxSameType(const SoftmaxArguments& arguments, cudaStream_t stream) {
  return WithTile<T>(
      arguments.width,
      [&](auto tag) {
        using Tile = typename decltype(tag)::Type;
        return LaunchKernel(&SoftmaxResidentKernel<Tile>, ShapeForRows<Tile>(arguments.pieces), stream, arguments);
      },
      [&](auto tag) {
        using Tile = typename decltype(tag)::Type;
        return LaunchKernel(&SoftmaxStreamingKernel<Tile, T>, ShapeForRows<Tile>(arguments.pieces), stream, arguments);
      });
}

/// Launches rows of type T with results of any type.
template <typename T>
cudaError_t LaunchSoftmax(DataType y_type, const SoftmaxArguments& arguments, cudaStream_t stream) {
  return WithFloatType(y_type, [&](auto tag) {
    using Out = typename decltype(tag)::Type;
    if (arguments.inner > 1) {
      const std::int64_t tiles = (arguments.inner + InterleavedTile::kRows - 1) / InterleavedTile::kRows;
      return LaunchKernel(&SoftmaxInterleavedKernel<T, Out>,
                          ShapeForGroups(arguments.pieces * tiles, InterleavedTile::kThreads), stream, arguments,
                          tiles);
    }
    if constexpr (std::is_same_v<T, Out>) {
      return LaunchSoftmaxSameType<T>(arguments, stream);
    } else {
      using Tile = RowTile<T, 128, 8, 1>;
      return LaunchKernel(&SoftmaxStreamingKernel<Tile, Out>, ShapeForRows<Tile>(arguments.pieces), stream, arguments);
    }
  });
}

// A file each, so that they compile side by side.
extern template cudaError_t LaunchSoftmax<__half>(DataType, const SoftmaxArguments&, cudaStream_t);
extern template cudaError_t LaunchSoftmax<__nv_bfloat16>(DataType, const SoftmaxArguments&, cudaStream_t);
extern template cudaError_t LaunchSoftmax<float>(DataType, const SoftmaxArguments&, cudaStream_t);
extern template cudaError_t LaunchSoftmax<double>(DataType, const SoftmaxArguments&, cudaStream_t);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_KERNEL_CUH_

// softmax and log_softmax of interleaved rows on the device: an axis that is not the last, without a transpose.
// Neighbouring lanes have neighbouring rows, so that a warp reads what lies side by side. Rows of up to 128 elements
// are held (softmax_interleaved_held.cuh); longer ones are read twice, which many small threads do at least as fast.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_CUH_

#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/device/launch.cuh"
#include "kernels/ops/softmax/softmax_interleaved_held.cuh"
#include "kernels/ops/softmax/softmax_result.cuh"
#include "kernels/ops/softmax/softmax_row.cuh"
#include "kernels/primitives/running_softmax.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

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

/// Other rows, and results of another type: online, read twice. The parts of a row are merged in one order by all its
/// threads.
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

template <typename T, bool kLog, typename Out>
cudaError_t LaunchLongInterleaved(const SoftmaxArguments& arguments, cudaStream_t stream) {
  const std::int64_t tiles = (arguments.inner + InterleavedTile::kRows - 1) / InterleavedTile::kRows;
  LaunchShape shape;
  shape.blocks = std::min(arguments.pieces * tiles, kMostBlocksOfGrid);
  shape.threads = InterleavedTile::kThreads;
  return LaunchKernel(&SoftmaxInterleavedKernel<T, kLog, Out>, shape, stream, arguments, tiles);
}

/// Whether pairs of neighbouring rows of 16-bit elements can be read and written as words.
inline bool InterleavedRowsArePaired(const Launch& launch, std::int64_t inner) {
  bool paired = inner % 2 == 0;
  for (int i = 0; i < launch.segment_count && paired; ++i) {
    const Segment& segment = launch.segments[i];
    paired =
        (reinterpret_cast<std::uintptr_t>(segment.inputs[0]) | reinterpret_cast<std::uintptr_t>(segment.outputs[0])) %
            4 ==
        0;
  }
  return paired;
}

/// `paired`: see InterleavedRowsArePaired.
template <typename T, bool kLog>
cudaError_t LaunchInterleavedSoftmax(DataType y_type, bool paired, const SoftmaxArguments& arguments,
                                     cudaStream_t stream) {
  const auto share = InterleavedShare::Of(arguments.width);
  if (y_type != kDataTypeOf<T> || share.held == 0) {
    return WithFloatType(y_type, [&](auto tag) {
      using Out = typename decltype(tag)::Type;
      return LaunchLongInterleaved<T, kLog, Out>(arguments, stream);
    });
  }
  if constexpr (sizeof(T) == 2) {
    if (paired) {
      return LaunchHeldInterleaved<T, kLog, 2>(share, arguments, stream);
    }
  }
  return LaunchHeldInterleaved<T, kLog, 1>(share, arguments, stream);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_CUH_

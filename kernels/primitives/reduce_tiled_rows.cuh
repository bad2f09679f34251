// Results over rows of at most 16 bytes, of one request: threads have rows to themselves. Those of a block come to
// shared memory in whole granules (tile_copy.cuh), and neighbouring threads have neighbouring results.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TILED_ROWS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TILED_ROWS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/reduce_tuning.h"
#include "kernels/primitives/short_row.cuh"
#include "kernels/primitives/tile_bytes.h"
#include "kernels/primitives/tile_copy.cuh"

namespace kernelwire {

/// Elements that the shortest rows are held in: a word, and two, since where there is one nothing is added to it that
/// would make all NaN alike.
template <typename T>
inline constexpr int kLeastLengthOfTiledRow = sizeof(T) < 2 ? 4 : 2;

/// Rows of at most kLength elements, more than half of that unless it is the least; `turns` of them a thread. The order
/// is that of ReduceShortRowsKernel, whose threads have such a row in one tile: what that has beyond the row changes
/// nothing. Requires: a launch of one request, whose rows lie one after another from a granule on.
template <typename R, int kLength>
__global__ void __launch_bounds__(kShortRowBlock)
    ReduceTiledRowsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, const int turns) {
  AwaitEarlierWork(arguments);
  using T = typename R::Element;
  using Row = Operand<T, kLength, R::kInputs>;
  constexpr int kSure = kLength > kLeastLengthOfTiledRow<T> ? kLength / 2 + 1 : 1;
  __shared__ Granule tiles[R::kInputs][kTileBytes / 16];
  const Segment& only = arguments.table.only;
  const auto width = static_cast<int>(arguments.layout.run);
  const int of_block = kShortRowBlock * turns;
  const std::int64_t first = std::int64_t{blockIdx.x} * of_block;
  const auto count = static_cast<int>(min(arguments.results - first, static_cast<std::int64_t>(of_block)));
#pragma unroll
  for (int i = 0; i < R::kInputs; ++i) {
    FetchTile<kShortRowBlock, kTileBytes / 16>(threadIdx.x, tiles[i],
                                               static_cast<const T*>(only.inputs[i]) + first * width,
                                               count * width * static_cast<int>(sizeof(T)));
  }
  AwaitCopies();
  __syncthreads();
  const Row filled = Row::Filled(reduction.Fill());
#pragma unroll 1
  for (int row = static_cast<int>(threadIdx.x); row < count; row += kShortRowBlock) {
    Row tile[1] = {filled};
    tile[0].present = (1U << width) - 1U;
#pragma unroll
    for (int i = 0; i < R::kInputs; ++i) {
      ReadShortRow<RowLies::kInTile, kSure>(reinterpret_cast<const T*>(tiles[i]) + row * width, width,
                                            tile[0].inputs[i].words);
    }
    const ResultPlace place = ResultPlace::OfOnlyIn(only, first + row);
    if constexpr (kHasTotalOfTile<R>) {
      R::StoreOfTile(arguments, place, tile);
    } else {
      const ElementNumbers numbers{0, kLength, BytesOfPiece(sizeof(T)) / static_cast<std::int64_t>(sizeof(T))};
      reduction.Store(arguments, place, TotalOfTile(reduction, tile, numbers));
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TILED_ROWS_CUH_

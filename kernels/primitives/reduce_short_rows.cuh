// Results over rows that few threads read at once: several of them a block. Each thread has kVectorsInFlight vectors on
// their way, of one row or of several.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SHORT_ROWS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SHORT_ROWS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/reduce_tuning.h"

namespace kernelwire {

/// The total of the `threads` threads, a power of two, that share a row of a block, in each of them if they are of one
/// warp, else in the first. May be called again at once.
template <typename R>
__device__ __forceinline__ typename R::Total CombineRow(const R& reduction, typename R::Total total, int threads) {
  using Total = typename R::Total;
  __shared__ Total of_warps[kShortRowBlock / 32];
  total = CombineLanes(reduction, total, min(threads, 32));
  if (threads > 32) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
      of_warps[warp] = total;
    }
    __syncthreads();
    if ((static_cast<int>(threadIdx.x) & (threads - 1)) == 0) {
      total = CombineList(reduction, of_warps + warp, threads / 32);
    }
    __syncthreads();
  }
  return total;
}

/// How the threads of a block lie over its rows: as numbers that the kernel need not divide by.
struct ShortRowGrid {
  int threads;  // of a row, 2^log_threads; where a thread has several rows, at most 32
  int log_threads;
  int side_by_side;  // rows
  int rows_of_block;
};

/// Rows of at most kVectors vectors a thread; kRows of them a thread, as far apart as there are rows side by side.
template <typename R, RowReads kReads, int kVectors, int kRows>
__global__ void __launch_bounds__(kShortRowBlock, ThreadsOfRows<R, kReads>() / kShortRowBlock)
    ReduceShortRowsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction,
                          const ShortRowGrid grid) {
  AwaitEarlierWork(arguments);
  using Total = typename R::Total;
  using Rows = ResultRows<typename R::Element, R::kInputs, kReads, false>;
  const int threads = grid.threads;
  const int lane = static_cast<int>(threadIdx.x) & (threads - 1);
  const int place = static_cast<int>(threadIdx.x) >> grid.log_threads;
  std::int64_t first = std::int64_t{blockIdx.x} * grid.rows_of_block + place;
#pragma unroll 1
  do {
    typename Rows::Elements tiles[kRows][kVectors];
#pragma unroll
    for (int k = 0; k < kRows; ++k) {  // rows that are not there: the last one again
      const std::int64_t row = min(first + k * grid.side_by_side, arguments.results - 1);
      const Rows rows(arguments, Rows::PlaceOf(arguments, row));
      rows.Load(arguments, 0, lane, threads, static_cast<int>(arguments.vectors), reduction.Fill(), tiles[k]);
    }
    Rows::AskAhead(arguments, first, grid.rows_of_block);
    Total totals[kRows];
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      totals[k] = TotalOfTile(reduction, tiles[k], Rows::template NumbersOf<kVectors>(0, lane, threads));
      totals[k] = CombineRow(reduction, totals[k], threads);
    }
    // Each thread of a row stores one of its results.
#pragma unroll 1
    for (int own = lane; own < kRows; own += threads) {
      Total total = totals[0];
#pragma unroll
      for (int k = 1; k < kRows; ++k) {
        total = own == k ? totals[k] : total;
      }
      const std::int64_t row = first + own * grid.side_by_side;
      if (row < arguments.results) {
        reduction.Store(arguments, Rows::PlaceOf(arguments, row), total);
      }
    }
    first += std::int64_t{gridDim.x} * grid.rows_of_block;
  } while (first - place < arguments.results);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SHORT_ROWS_CUH_

// Columns of so few rows that one thread has them all, and all of them at once. Warps do not wait for each other.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SHORT_COLUMNS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SHORT_COLUMNS_CUH_

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_column_walk.cuh"
#include "kernels/primitives/reduce_columns.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/reduce_tuning.h"

namespace kernelwire {

/// What the threads of a warp have of kLength neighbouring results each, on its way out: in turns of neighbouring
/// threads, so that they write side by side. kAtOnce results of each thread at a time.
template <typename R, int kLength>
class WarpOfResults {
 public:
  using Sum = typename ColumnSumOf<R>::Type;
  using Total = typename R::Total;

  /// `place`: of the thread's first result, if it is `live`. Requires: all threads of the warp call it, and results of
  /// neighbouring threads are neighbours, unless requests differ.
  static __device__ __forceinline__ void Store(const R& reduction, const ReduceArguments& arguments,
                                               const ResultPlace& place, bool live, const Sum (&sums)[kLength]) {
    if constexpr (kLength > 1) {
      const auto y = reinterpret_cast<unsigned long long>(place.y);
      const auto first_y = __shfl_sync(kAll, y, 0);
      if (__all_sync(kAll, live && y == first_y)) {
        StoreTogether(reduction, arguments, place, sums);
        return;
      }
    }
    if (live) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        StoreAt(reduction, arguments, place, place.index + j, sums[j]);
      }
    }
  }

 private:
  static constexpr unsigned kAll = 0xFFFFFFFFU;
  static constexpr int kFit = 16384 / (kColumnBlock * static_cast<int>(sizeof(Sum)));
  static constexpr int kAtOnce = kLength < kFit ? kLength : kFit;
  // Threads that read the same thread's results shall find them in different banks, and beside those the next thread's.
  static constexpr int kPitch = 32 + (kAtOnce == 1 ? 0 : 128 / static_cast<int>(sizeof(Sum)) / kAtOnce);

  static __device__ __forceinline__ void StoreAt(const R& reduction, const ReduceArguments& arguments,
                                                 ResultPlace place, std::int64_t index, const Sum& sum) {
    place.index = index;
    reduction.Store(arguments, place, static_cast<Total>(sum));
  }

  static __device__ __forceinline__ void StoreTogether(const R& reduction, const ReduceArguments& arguments,
                                                       const ResultPlace& place, const Sum (&sums)[kLength]) {
    __shared__ Sum shared[kColumnBlock / 32][kAtOnce * kPitch];
    Sum* const own = shared[threadIdx.x / 32];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t first = place.index - lane * kLength;
#pragma unroll
    for (int from = 0; from < kLength; from += kAtOnce) {
      __syncwarp();
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        own[j * kPitch + lane] = sums[from + j];
      }
      __syncwarp();
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int i = lane + k * 32;
        StoreAt(reduction, arguments, place, first + i / kAtOnce * kLength + from + i % kAtOnce,
                own[i % kAtOnce * kPitch + i / kAtOnce]);
      }
    }
  }
};

/// One run a piece, of at most kVectorsInFlight rows; `vectors_of_run` times kLength columns.
template <typename R, int kLength>
__global__ void __launch_bounds__(kColumnBlock, BlocksOfColumns<R, kLength, ColumnReads::kAligned>())
    ReduceShortColumnsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction,
                             const std::int64_t vectors_of_run) {
  AwaitEarlierWork(arguments);
  using T = typename R::Element;
  using Rows = Operand<T, kLength, R::kInputs>;
  const ReduceLayout& layout = arguments.layout;
  const std::int64_t vectors = arguments.results / kLength;
  const std::int64_t step = std::int64_t{gridDim.x} * kColumnBlock;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kColumnBlock; first < vectors; first += step) {
    const bool live = first + threadIdx.x < vectors;
    const std::int64_t vector = live ? first + threadIdx.x : vectors - 1;
    const std::int64_t run = vector / vectors_of_run;
    const std::int64_t column = (vector - run * vectors_of_run) * kLength;
    const ResultPlace place = ResultPlace::OfPiece(arguments, run, column);
    const T* at[R::kInputs];
#pragma unroll
    for (int i = 0; i < R::kInputs; ++i) {
      at[i] = static_cast<const T*>(place.inputs[i]) + (place.piece * layout.piece + column);
    }
    const auto width = static_cast<int>(layout.width);
    Rows rows[kVectorsInFlight];
#pragma unroll
    for (int u = 0; u < kVectorsInFlight; ++u) {
      rows[u] = Rows::Filled(reduction.Fill());
      if (u < width) {
        rows[u].present = Rows::kAll;
#pragma unroll
        for (int i = 0; i < R::kInputs; ++i) {
          rows[u].inputs[i] = Packed<T, kLength>::Load(at[i]);
          at[i] += layout.run;
        }
      }
    }
    typename ColumnSumOf<R>::Type sums[kLength];
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      sums[j] = ColumnSumOf<R>::Zero();
    }
    AddRows(reduction, rows, 0, 1, sums);
    WarpOfResults<R, kLength>::Store(reduction, arguments, place, live, sums);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SHORT_COLUMNS_CUH_

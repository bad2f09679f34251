// Columns of so few rows that one thread has them all, and all of them at once. Warps do not wait for each other.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SHORT_COLUMNS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SHORT_COLUMNS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_column_walk.cuh"
#include "kernels/primitives/reduce_columns.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/reduce_tuning.h"

namespace kernelwire {

/// What the threads of a warp have of kLength neighbouring results each, on its way out: in turns of neighbouring
/// threads, so that they write side by side. kAtOnce results of each thread at a time. `Value`: what becomes a Total.
template <typename R, int kLength, typename Value>
class WarpOfResults {
 public:
  using Total = typename R::Total;

  /// `place`: of the thread's first result, if it is `live`. Requires: all threads of the warp call it.
  static __device__ __forceinline__ void Store(const R& reduction, const ReduceArguments& arguments,
                                               const ResultPlace& place, bool live, const Value (&values)[kLength]) {
    if constexpr (kLength > 1) {
      const auto y = reinterpret_cast<unsigned long long>(place.y);
      const auto first_y = __shfl_sync(kAll, y, 0);
      if (__all_sync(kAll, live && y == first_y)) {
        StoreTogether(reduction, arguments, place, values);
        return;
      }
    }
    if (live) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        StoreAt(reduction, arguments, place, place.index + j, values[j]);
      }
    }
  }

 private:
  static constexpr unsigned kAll = 0xFFFFFFFFU;
  static constexpr int kFit = 16384 / (kColumnBlock * static_cast<int>(sizeof(Value)));
  static constexpr int kAtOnce = kLength < kFit ? kLength : kFit;
  // Threads that read the same thread's results shall find them in different banks, and beside those the next thread's.
  static constexpr int kPitch = 32 + (kAtOnce == 1 ? 0 : 128 / static_cast<int>(sizeof(Value)) / kAtOnce);

  static __device__ __forceinline__ void StoreAt(const R& reduction, const ReduceArguments& arguments,
                                                 ResultPlace place, std::int64_t index, const Value& value) {
    place.index = index;
    reduction.Store(arguments, place, static_cast<Total>(value));
  }

  /// Requires: all threads of the warp are live, and their results are one request's.
  static __device__ __forceinline__ void StoreTogether(const R& reduction, const ReduceArguments& arguments,
                                                       const ResultPlace& place, const Value (&values)[kLength]) {
    __shared__ Value shared[kColumnBlock / 32][kAtOnce * kPitch];
    Value* const own = shared[threadIdx.x / 32];
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int from = 0; from < kLength; from += kAtOnce) {
      __syncwarp();
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        own[j * kPitch + lane] = values[from + j];
      }
      __syncwarp();
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int i = lane + k * 32;
        const int thread = i / kAtOnce;
        const std::int64_t index = __shfl_sync(kAll, place.index, thread);  // rather than a register for each address
        StoreAt(reduction, arguments, place, index + from + i % kAtOnce, own[i % kAtOnce * kPitch + thread]);
      }
    }
  }
};

/// The rows of kLength neighbouring columns that a thread has, in the tiles that lanes would have (reduce_columns.cuh):
/// row r is row r / kLanes of tile r % kLanes.
template <typename R, int kLength, ColumnReads kReads, int kLanes>
struct ShortColumns {
  using T = typename R::Element;
  using Rows = Operand<T, kLength, R::kInputs>;
  using Sum = typename ColumnSumOf<R>::Type;
  using Value = std::conditional_t<kLanes == 1, Sum, typename R::Total>;

  Rows tiles[kLanes][kVectorsInFlight];

  /// `at`: each input's columns in row 0; goes to the last row. `height`: of the columns, at least 1. `stride`: from
  /// row to row. Where columns begin anywhere, a branch would have reads of several words waited for, so that in place
  /// of rows that are not there the last one is read again.
  __device__ __forceinline__ void Load(const T* (&at)[R::kInputs], int height, std::int64_t stride, T fill) {
#pragma unroll
    for (int row = 0; row < kLanes * kVectorsInFlight; ++row) {
      Rows& rows = tiles[row % kLanes][row / kLanes];
      if constexpr (kReads == ColumnReads::kAligned) {
        rows = Rows::Filled(fill);
        if (row >= height) {
          continue;
        }
      }
      rows.present = Rows::kAll;
#pragma unroll
      for (int i = 0; i < R::kInputs; ++i) {
        rows.inputs[i] = LoadAt(at[i]);
        at[i] += row + 1 < height || kReads == ColumnReads::kAligned ? stride : 0;
      }
    }
    if constexpr (kReads != ColumnReads::kAligned) {
#pragma unroll
      for (int row = 1; row < kLanes * kVectorsInFlight; ++row) {
        if (row >= height) {
          tiles[row % kLanes][row / kLanes] = Rows::Filled(fill);
        }
      }
    }
  }

  __device__ __forceinline__ void Add(const R& reduction, Value (&values)[kLength]) const {
    Sum sums[kLanes][kLength];
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
#pragma unroll
      for (Sum& sum : sums[lane]) {
        sum = ColumnSumOf<R>::Zero();
      }
      AddRows<true>(reduction, tiles[lane], lane, kLanes, sums[lane]);
    }
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      if constexpr (kLanes == 1) {
        values[j] = sums[0][j];
      } else {
        values[j] = TotalOfLanes(reduction, kLanes, [&](int lane) -> const Sum& { return sums[lane][j]; });
      }
    }
  }

 private:
  static __device__ __forceinline__ auto LoadAt(const T* at) {
    if constexpr (kReads == ColumnReads::kAligned) {
      return Packed<T, kLength>::Load(at);
    } else {
      return Packed<T, kLength>::LoadUnaligned(at);
    }
  }
};

/// One run a piece, of at most kLanes * kVectorsInFlight rows; `vectors_of_run` vectors of kLength columns, the last of
/// which reaches back.
template <typename R, int kLength, ColumnReads kReads, int kLanes>
__global__ void __launch_bounds__(kColumnBlock, BlocksOfColumns<R, kLength, kReads, kLanes>())
    ReduceShortColumnsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction,
                             const std::int64_t vectors_of_run, const std::int64_t vectors) {
  AwaitEarlierWork(arguments);
  using Columns = ShortColumns<R, kLength, kReads, kLanes>;
  using T = typename R::Element;
  const ReduceLayout& layout = arguments.layout;
  const std::int64_t step = std::int64_t{gridDim.x} * kColumnBlock;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kColumnBlock; first < vectors; first += step) {
    const bool live = first + threadIdx.x < vectors;
    const std::int64_t vector = live ? first + threadIdx.x : vectors - 1;
    const std::int64_t run = vector / vectors_of_run;
    const std::int64_t column = FirstColumn<kLength, kReads>((vector - run * vectors_of_run) * kLength, layout.run);
    const ResultPlace place = ResultPlace::OfPiece(arguments, run, column);
    const T* at[R::kInputs];
#pragma unroll
    for (int i = 0; i < R::kInputs; ++i) {
      at[i] = static_cast<const T*>(place.inputs[i]) + (place.piece * layout.piece + column);
    }
    Columns columns;
    columns.Load(at, static_cast<int>(layout.width), layout.run, reduction.Fill());
    using Value = typename Columns::Value;
    Value values[kLength];
    columns.Add(reduction, values);
    WarpOfResults<R, kLength, Value>::Store(reduction, arguments, place, live, values);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SHORT_COLUMNS_CUH_

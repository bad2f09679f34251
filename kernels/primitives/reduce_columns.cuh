// Reductions whose neighbours in x belong to neighbouring results: an axis that is not the last. A thread has a few
// neighbouring columns and walks down them; threads of one block share the rows of a part, row r going to lane
// r % lanes. So a result's bits depend neither on how many columns there are nor on which of them it is.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_CUH_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_parts.cuh"
#include "kernels/primitives/reduce_rows.cuh"

namespace kernelwire {

inline constexpr int kColumnBlock = 256;

/// How a block's threads lie over rows and columns. An item of work is a part of a tile of columns of one run;
/// narrow runs leave room for several items in a block.
struct ColumnGrid {
  int lanes;           // threads that share the rows of a part; follows from the width
  int threads_across;  // threads side by side
  int items_of_block;
  std::int64_t tiles;  // of a run
  std::int64_t items;  // of the launch
};

/// `length`: columns of a thread.
inline ColumnGrid LayColumns(const ReduceArguments& arguments, int length) {
  ColumnGrid grid{};
  grid.lanes = 1;
  while (grid.lanes < 16 && grid.lanes * kVectorsInFlight < arguments.layout.width) {
    grid.lanes *= 2;
  }
  const std::int64_t run = arguments.layout.run;
  const std::int64_t across = (run + length - 1) / length;
  const int most = kColumnBlock / grid.lanes;
  grid.threads_across = across < most ? static_cast<int>(across) : most;
  grid.items_of_block = kColumnBlock / (grid.lanes * grid.threads_across);
  grid.tiles = (across + grid.threads_across - 1) / grid.threads_across;
  grid.items = arguments.results / run * grid.tiles * arguments.parts.count;
  return grid;
}

/// Which part of which columns a thread works on.
struct ColumnItem {
  std::int64_t run;  // of the launch
  std::int64_t part;
  std::int64_t column;  // of the run: the first of this item

  __device__ __forceinline__ ColumnItem(const ReduceArguments& arguments, const ColumnGrid& grid, std::int64_t item,
                                        int length) {
    const std::int64_t rest = item / grid.tiles;
    run = rest / arguments.parts.count;
    part = rest - run * arguments.parts.count;
    column = (item - rest * grid.tiles) * grid.threads_across * length;
  }
};

/// Whether a reduction takes kLength columns side by side, as AddColumns(rows, totals), which must give each the same
/// as AddTile does.
template <typename R, int kLength, typename = void>
struct AddsColumns : std::false_type {};
template <typename R, int kLength>
struct AddsColumns<R, kLength,
                   std::void_t<decltype(std::declval<const R&>().AddColumns(
                       std::declval<const Operand<typename R::Element, kLength, R::kInputs> (&)[kVectorsInFlight]>(),
                       std::declval<typename R::Total (&)[kLength]>()))>> : std::true_type {};

/// Columns [column, column + kLength) of one run. `kPlain`: vectors, aligned; the run is the piece's only one.
template <typename R, int kLength, bool kPlain>
class ColumnWalk {
 public:
  using T = typename R::Element;
  using Total = typename R::Total;

  __device__ __forceinline__ ColumnWalk(const ReduceArguments& arguments, const ColumnItem& item, std::int64_t column)
      : arguments_(arguments) {
    const ReduceLayout& layout = arguments.layout;
    const ResultPlace place = ResultPlace::Of(arguments, item.run * layout.run);
    const std::int64_t kept = kPlain ? 0 : layout.kept.Offset(place.result / layout.run);
#pragma unroll
    for (int i = 0; i < R::kInputs; ++i) {
      columns_[i] = static_cast<const T*>(place.inputs[i]) + place.piece * layout.piece + kept + column;
    }
  }

  /// Adds the rows begin, begin + step, ... below `end`.
  __device__ __forceinline__ void Add(const R& reduction, std::int64_t begin, std::int64_t end, int step,
                                      Total (&totals)[kLength]) const {
    const T fill = reduction.Fill();
    for (std::int64_t first = begin; first < end; first += std::int64_t{step} * kVectorsInFlight) {
      Operand<T, kLength, R::kInputs> rows[kVectorsInFlight];
#pragma unroll
      for (int u = 0; u < kVectorsInFlight; ++u) {
        const std::int64_t row = first + u * step;
        rows[u] = row < end ? Load(row) : Operand<T, kLength, R::kInputs>::Filled(fill);
      }
      if constexpr (AddsColumns<R, kLength>::value) {
        reduction.AddColumns(rows, totals);
      } else {
        AddEach(reduction, rows, first, step, totals);
      }
    }
  }

 private:
  /// One column after another.
  __device__ __forceinline__ void AddEach(const R& reduction,
                                          const Operand<T, kLength, R::kInputs> (&rows)[kVectorsInFlight],
                                          std::int64_t first, int step, Total (&totals)[kLength]) const {
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      Operand<T, 1, R::kInputs> column[kVectorsInFlight];
#pragma unroll
      for (int u = 0; u < kVectorsInFlight; ++u) {
        column[u].present = rows[u].present >> j & 1U;
#pragma unroll
        for (int i = 0; i < R::kInputs; ++i) {
          column[u].inputs[i] = Packed<T, 1>::Filled(rows[u].inputs[i].Get(j));
        }
      }
      reduction.AddTile(column, first, step, totals[j]);
    }
  }

  __device__ __forceinline__ Operand<T, kLength, R::kInputs> Load(std::int64_t row) const {
    const std::int64_t offset = kPlain ? row * arguments_.layout.run : arguments_.layout.reduced.Offset(row);
    Operand<T, kLength, R::kInputs> operand;
    operand.present = Operand<T, kLength, R::kInputs>::kAll;
#pragma unroll
    for (int i = 0; i < R::kInputs; ++i) {
      operand.inputs[i] = Packed<T, kLength>::Load(columns_[i] + offset);
    }
    return operand;
  }

  const ReduceArguments& arguments_;
  const T* columns_[R::kInputs];
};

/// The finished result, or the total of a part of it, on its way out.
template <typename R>
__device__ __forceinline__ void EmitColumn(const R& reduction, const ReduceArguments& arguments, std::int64_t index,
                                           std::int64_t part, const typename R::Total& total) {
  const ResultPlace place = ResultPlace::Of(arguments, index);
  if (arguments.parts.count > 1) {
    PartTotal<typename R::Total>(place, part) = total;
  } else {
    reduction.Store(arguments, place, total);
  }
}

/// Merges what the lanes of the block's items hold, lane after lane, kAtOnce columns of each thread at a time: as many
/// as fit into 16 KiB of shared memory.
template <typename R, int kLength>
__device__ __forceinline__ void EmitColumns(const R& reduction, const ReduceArguments& arguments,
                                            const ColumnGrid& grid, std::int64_t first_item,
                                            const typename R::Total (&totals)[kLength]) {
  using Total = typename R::Total;
  constexpr int kFit = 16384 / (kColumnBlock * static_cast<int>(sizeof(Total)));
  constexpr int kAtOnce = kLength < kFit ? kLength : kFit;
  __shared__ Total shared[kAtOnce][kColumnBlock];
#pragma unroll
  for (int from = 0; from < kLength; from += kAtOnce) {
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      shared[j][threadIdx.x] = totals[from + j];
    }
    __syncthreads();
    const int columns = grid.items_of_block * grid.threads_across * kAtOnce;
    for (int i = static_cast<int>(threadIdx.x); i < columns; i += kColumnBlock) {
      const int across = i / kAtOnce % grid.threads_across;
      const int group = i / (kAtOnce * grid.threads_across);
      const std::int64_t number = first_item + group;
      if (number >= grid.items) {
        continue;
      }
      const ColumnItem item(arguments, grid, number, kLength);
      const std::int64_t column = item.column + across * kLength + from + i % kAtOnce;
      if (column < arguments.layout.run) {
        const Total* lane = &shared[i % kAtOnce][group * grid.lanes * grid.threads_across + across];
        Total total = *lane;
        for (int l = 1; l < grid.lanes; ++l) {
          lane += grid.threads_across;
          total = reduction.Combine(total, *lane);
        }
        EmitColumn(reduction, arguments, item.run * arguments.layout.run + column, item.part, total);
      }
    }
  }
}

template <typename R, int kLength, bool kPlain>
__global__ void __launch_bounds__(kColumnBlock)
    ReduceColumnsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, const ColumnGrid grid) {
  AwaitEarlierWork(arguments);
  const int thread = static_cast<int>(threadIdx.x);
  const int across = thread % grid.threads_across;
  const int lane = thread / grid.threads_across % grid.lanes;
  const int group = thread / (grid.threads_across * grid.lanes);
  const std::int64_t step = std::int64_t{gridDim.x} * grid.items_of_block;
  for (std::int64_t first = std::int64_t{blockIdx.x} * grid.items_of_block; first < grid.items; first += step) {
    typename R::Total totals[kLength];
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      totals[j] = R::Identity();
    }
    if (group < grid.items_of_block && first + group < grid.items) {
      const ColumnItem item(arguments, grid, first + group, kLength);
      const std::int64_t column = item.column + across * kLength;
      if (column < arguments.layout.run) {
        const std::int64_t begin = item.part * arguments.parts.length;
        const std::int64_t end = min(begin + arguments.parts.length, arguments.layout.width);
        const ColumnWalk<R, kLength, kPlain> walk(arguments, item, column);
        walk.Add(reduction, begin + lane, end, grid.lanes, totals);
      }
    }
    EmitColumns<R, kLength>(reduction, arguments, grid, first, totals);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_CUH_

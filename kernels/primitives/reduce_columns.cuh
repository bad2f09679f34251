// Reductions whose neighbours in x belong to neighbouring results: an axis that is not the last. A thread has a few
// neighbouring columns and walks down them; threads of one block share the rows of a part, row r going to lane
// r % lanes. So a result's bits depend neither on how many columns there are nor on which of them it is.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_CUH_

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_column_walk.cuh"
#include "kernels/primitives/reduce_parts.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/reduce_tuning.h"

namespace kernelwire {

/// Which part of which columns a thread works on, and which of its item's threads it is. Made without a look at memory.
template <ColumnReads kReads>
struct ColumnItem {
  bool live;         // there is such an item
  int group;         // of the block's items
  int thread;        // of the item's threads
  std::int64_t run;  // of the launch
  std::int64_t part;
  std::int64_t column;  // of the run: the first of the item

  __device__ __forceinline__ ColumnItem(const ReduceArguments& arguments, const ColumnGrid& grid, std::int64_t first,
                                        int length) {
    group = grid.threads.Quotient(static_cast<int>(threadIdx.x));
    thread = static_cast<int>(threadIdx.x) - group * grid.threads.divisor;
    const std::int64_t item = first + group;
    live = group < grid.items_of_block && item < grid.items;
    const std::int64_t parts = arguments.parts.count;
    const std::int64_t rest = grid.tiles == 1 ? item : item / grid.tiles;
    run = parts == 1 ? rest : rest / parts;
    part = rest - run * parts;
    column = (item - rest * grid.tiles) * grid.across.divisor * length;
  }

  /// Of the run's first result.
  __device__ __forceinline__ ResultPlace Place(const ReduceArguments& arguments) const {
    return kReads != ColumnReads::kAny || arguments.layout.kept.axes == 0
               ? ResultPlace::OfPiece(arguments, run, 0)
               : ResultPlace::Of(arguments, run * arguments.layout.run);
  }
};

/// The finished result of a column of a run, or the total of a part of it, on its way out. `place`: of the run's first
/// result.
template <typename R>
__device__ __forceinline__ void EmitColumn(const R& reduction, const ReduceArguments& arguments, ResultPlace place,
                                           std::int64_t column, std::int64_t part, const typename R::Total& total) {
  const std::int64_t fold = arguments.layout.fold;
  const std::int64_t result = fold == 1 ? column : column / fold;
  place.index += result;
  if (arguments.parts.count > 1 || fold > 1) {
    PartTotal<typename R::Total>(place, part * fold + (column - result * fold)) = total;
  } else {
    reduction.Store(arguments, place, total);
  }
}

/// Where a thread reads that has the columns from `column` on: the last one of a run reaches back, so that it has
/// kLength of them, too.
template <int kLength, ColumnReads kReads>
__device__ __forceinline__ std::int64_t FirstColumn(std::int64_t column, std::int64_t run) {
  return kReads == ColumnReads::kAligned ? column : min(column, run - kLength);
}

/// The total of `lanes` lanes of a column, of which at(lane) says what they have. Each half by itself, side by side:
/// one addition in f64 waits for the other.
template <typename R, typename At>
__device__ __forceinline__ typename R::Total TotalOfLanes(const R& reduction, int lanes, const At& at) {
  using Total = typename R::Total;
  if (lanes == 1) {
    return static_cast<Total>(at(0));
  }
  const int half = lanes / 2;
  if constexpr (kHasReference<R>) {
    auto reference = R::Larger(R::ReferenceOf(at(0)), R::ReferenceOf(at(half)));
#pragma unroll 4
    for (int lane = 1; lane < half; ++lane) {
      const auto both = R::Larger(R::ReferenceOf(at(lane)), R::ReferenceOf(at(lane + half)));
      reference = R::Larger(reference, both);
    }
    auto share = reduction.ShareOf(at(0), reference);
    auto other = reduction.ShareOf(at(half), reference);
#pragma unroll 4
    for (int lane = 1; lane < half; ++lane) {
      share = reduction.AddShares(share, reduction.ShareOf(at(lane), reference));
      other = reduction.AddShares(other, reduction.ShareOf(at(lane + half), reference));
    }
    return R::TotalOf(reduction.AddShares(share, other), reference);
  } else {
    auto total = static_cast<Total>(at(0));
    auto other = static_cast<Total>(at(half));
#pragma unroll 4
    for (int lane = 1; lane < half; ++lane) {
      total = reduction.Combine(total, static_cast<Total>(at(lane)));
      other = reduction.Combine(other, static_cast<Total>(at(lane + half)));
    }
    return reduction.Combine(total, other);
  }
}

/// What the lanes of an item hold of each of its columns, merged by as many threads as there are, next to each other.
/// kAtOnce columns of each thread at a time: as many as fit into 16 KiB of shared memory.
template <typename R, int kLength, ColumnReads kReads>
class LaneMerger {
 public:
  using Sum = typename ColumnSumOf<R>::Type;
  using Total = typename R::Total;

  /// `so_far`: with narrow sums, the total of earlier stretches of this thread's only column, unless this is the
  /// `first`. Emits the totals after the `last`. Requires: all threads of the block call it.
  static __device__ __forceinline__ void Merge(const R& reduction, const ReduceArguments& arguments,
                                               const ColumnGrid& grid, const ColumnItem<kReads>& item,
                                               const Sum (&sums)[kLength], bool first, bool last, Total& so_far) {
    __shared__ Sum shared[kAtOnce * kPitch];
#pragma unroll
    for (int from = 0; from < kLength; from += kAtOnce) {
      __syncthreads();
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        shared[j * kPitch + threadIdx.x] = sums[from + j];
      }
      __syncthreads();
      const int count = item.live ? grid.across.divisor * kAtOnce : 0;
      for (int i = item.thread; i < count; i += grid.threads.divisor) {
        const std::int64_t own = item.column + i / kAtOnce * kLength;  // those before are another thread's
        if (own >= arguments.layout.run) {
          break;
        }
        const std::int64_t column = FirstColumn<kLength, kReads>(own, arguments.layout.run) + from + i % kAtOnce;
        if (column < own) {
          continue;
        }
        const Sum* const lanes = &shared[i % kAtOnce * kPitch + item.group * grid.threads.divisor + i / kAtOnce];
        const int step = grid.across.divisor;
        const Total total =
            TotalOfLanes(reduction, grid.lanes, [&](int lane) -> const Sum& { return lanes[lane * step]; });
        so_far = first ? total : reduction.Combine(so_far, total);
        if (last) {
          EmitColumn(reduction, arguments, item.Place(arguments), column, item.part, so_far);
        }
      }
    }
  }

 private:
  static constexpr int kFit = 16384 / (kColumnBlock * static_cast<int>(sizeof(Sum)));
  static constexpr int kAtOnce = kLength < kFit ? kLength : kFit;
  static_assert(!ColumnSumOf<R>::kNarrow || (kAtOnce == kLength && kLength <= kMostColumnLanes));
  // Threads that read the same thread's columns shall find them in different banks, and beside those the next thread's.
  static constexpr int kPitch = kColumnBlock + (kAtOnce == 1 ? 0 : 128 / static_cast<int>(sizeof(Sum)) / kAtOnce);
};

/// All threads of a block, each with its own item.
template <typename R, int kLength, ColumnReads kReads>
__device__ __forceinline__ void ReduceColumnItem(const R& reduction, const ReduceArguments& arguments,
                                                 const ColumnGrid& grid, const ColumnItem<kReads>& item) {
  using Sums = ColumnSumOf<R>;
  const auto longest = static_cast<int>(min(arguments.parts.length, arguments.layout.width));
  const int lane = grid.across.Quotient(item.thread);
  const std::int64_t column = item.column + (item.thread - lane * grid.across.divisor) * kLength;
  ColumnWalk<R, kLength, kReads> walk(arguments, grid.lanes);
  if (item.live && column < arguments.layout.run) {
    const std::int64_t begin = item.part * arguments.parts.length;
    const auto rows = static_cast<int>(min(arguments.parts.length, arguments.layout.width - begin));
    walk.Start(item.Place(arguments), FirstColumn<kLength, kReads>(column, arguments.layout.run), begin, lane, rows);
  }
  constexpr int kTiles = Sums::kNarrow ? kTilesOfColumnSum : 4096;
  const int stretch = grid.lanes * kVectorsInFlight * kTiles;
  typename R::Total so_far = R::Identity();
  for (int from = 0; from < longest; from += stretch) {
    typename Sums::Type sums[kLength];
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      sums[j] = Sums::Zero();
    }
    walk.Add(reduction, kTiles, sums);
    LaneMerger<R, kLength, kReads>::Merge(reduction, arguments, grid, item, sums, from == 0, from + stretch >= longest,
                                          so_far);
  }
}

/// Blocks that a multiprocessor shall have the registers for: what is in flight, where that lies, the sums, and 32
/// others; more with single totals that are costly to combine. Left alone, the compiler takes so many more that a block
/// less fits. `kTiles`: that a thread has in flight.
template <typename R, int kLength, ColumnReads kReads, int kTiles = 1>
constexpr int BlocksOfColumns() {
  using Sum = typename ColumnSumOf<R>::Type;
  constexpr int kMore = kReads != ColumnReads::kAligned && kLength > 1 && sizeof(typename R::Element) < 4 ? 1 : 0;
  constexpr int kWords = (Packed<typename R::Element, kLength>::kWords + kMore) * R::kInputs;
  constexpr int kOffsets = kReads == ColumnReads::kAny ? 2 * kVectorsInFlight : 0;
  constexpr int kSums = kLength * static_cast<int>(sizeof(Sum)) / 4;
  constexpr int kRegisters = 32 + kOffsets + kTiles * kWords * kVectorsInFlight + kSums;
  constexpr bool kFew = kRegisters <= 64 && (kLength > 1 || (sizeof(Sum) <= 8 && kReads != ColumnReads::kAny));
  return kFew ? 4 : kRegisters <= 80 ? 3 : kRegisters <= 128 ? 2 : 1;
}

template <typename R, int kLength, ColumnReads kReads>
__global__ void __launch_bounds__(kColumnBlock, BlocksOfColumns<R, kLength, kReads>())
    ReduceColumnsKernel(const __grid_constant__ ReduceArguments arguments, const R reduction, const ColumnGrid grid) {
  const std::int64_t step = std::int64_t{gridDim.x} * grid.items_of_block;
  std::int64_t first = std::int64_t{blockIdx.x} * grid.items_of_block;
  // It is made of parameters, whose divisions need not wait.
  ColumnItem<kReads> item(arguments, grid, first, kLength);
  AwaitEarlierWork(arguments);
  while (true) {
    ReduceColumnItem<R, kLength>(reduction, arguments, grid, item);
    first += step;
    if (first >= grid.items) {
      break;
    }
    item = ColumnItem<kReads>(arguments, grid, first, kLength);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_CUH_

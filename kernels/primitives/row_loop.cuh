// The rows that a group of threads works on one after another, and when it asks for them.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_LOOP_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_LOOP_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/fetch_ahead.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_tickets.cuh"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// Whether there is code of its own for warps all of whose lanes have a row, which are all but the last, and code for
/// the others: words of short rows would ask at every step. In the usual launch the longer code is slower.
template <typename Group, typename Loads, RowAccess kAccess>
inline constexpr bool kForkTogether =
    Group::kLanes > 1 && Group::kLanes < 32 && decltype(Loads::x)::kStoresTogether&& kAccess == RowAccess::kShifted;

/// Asks for the rows that a block to come begins with, RowTuning::rows_ahead behind those from `index` on. Lanes' rows
/// are known to be neighbours in the usual launch only.
template <RowAccess kAccess, typename Loads, typename Group, typename RowAt>
__device__ __forceinline__ void FetchRowsAhead(const Group& group, const RowTuning& tuning, std::int64_t rows,
                                               const RowAt& row_at, std::int64_t index) {
  constexpr bool kOfBlock = std::is_same_v<Group, BlockGroup>;
  if constexpr (kOfBlock || (kInUsualLaunch<kAccess> && Group::kLanes > 1)) {
    const std::int64_t then = index + tuning.rows_ahead;
    const int count = kOfBlock ? 1 : tuning.rows_of_block;
    if (threadIdx.x == 0 && tuning.rows_ahead > 0 && then + count <= rows) {
      Loads::ForEachSource(row_at(then), [&](const auto& source) {
        const auto row_bytes = source.count * std::int64_t{sizeof(*source.data)};
        if constexpr (kOfBlock) {
          FetchAhead(source.data, row_bytes, group.block(), static_cast<unsigned>(tuning.cluster_blocks));
        } else {
          FetchAhead(source.data, count * row_bytes, 0, 1);
        }
      });
    }
  }
}

/// Calls body(row, loads, again) for each row of the group's, where row = row_at(index), `loads` has what it reads of
/// it, and again() finds the row once more, for kernels that would not have the registers to remember it. A group that
/// looks ahead asks for the next row before it works on this one, so that memory does not rest while threads agree on a
/// sum.
template <bool kLooksAhead, RowAccess kAccess, typename Group, typename RowAt, typename Space, typename Loads,
          typename Body>
__device__ __forceinline__ void ForEachRow(Group& group, const NoTickets& /*none*/, const RowTuning& tuning,
                                           std::int64_t rows, const RowAt& row_at, const Space& /*space*/, Loads next,
                                           const Body& body) {
  using Grid = RowGrid<Group>;
  const int cluster_blocks = tuning.cluster_blocks;
  // Rows that pass through shared memory leave their place before the next one comes there; others are on their way
  // together.
  constexpr bool kTogether = kLooksAhead && Space::kGranules == 0;
  const std::int64_t step = Grid::RowsOfGrid(cluster_blocks);
  std::int64_t index = Grid::FirstRow(cluster_blocks);
  if (kLooksAhead && index < rows) {
    next.Begin(group, row_at(index));
  }
  const auto work_on_row = [&] {
    const auto row = row_at(index);  // found again, where rows are looked ahead to, rather than kept in registers
    if constexpr (!kLooksAhead) {
      FetchRowsAhead<kAccess, Loads>(group, tuning, rows, row_at, index);  // now, when registers hold nothing yet
      next.Begin(group, row);
    }
    Loads loads = next;
    if (!kTogether) {
      loads.Finish(group, row);
    }
    index += step;
    asm volatile("" : "+l"(index));
    if (kLooksAhead && index < rows) {
      next.Begin(group, row_at(index));
    }
    if (kTogether) {
      loads.Finish(group, row);
    }
    body(row, loads, [&] {
      std::int64_t same = index - step;
      asm volatile("" : "+l"(same));
      return row_at(same);
    });
  };
  while (index < rows) {
    Grid::Begin(group, index, rows);
    if constexpr (kForkTogether<Group, Loads, kAccess>) {
      if (group.IsTogether()) {
        group.Begin(true);
        work_on_row();
      } else {
        group.Begin(false);
        work_on_row();
      }
    } else {
      work_on_row();
    }
  }
}

/// The same of a cluster that stays.
template <bool kLooksAhead, RowAccess kAccess, typename RowAt, typename Space, typename Loads, typename Body>
__device__ __forceinline__ void ForEachRow(BlockGroup& group, TicketRows<1>& tickets, const RowTuning& tuning,
                                           std::int64_t rows, const RowAt& row_at, const Space& /*space*/, Loads next,
                                           const Body& body) {
  constexpr bool kStaged = Space::kGranules > 0;  // the next row comes to where this one has lain
  static_assert(kLooksAhead || !kStaged);
  const auto again = [&] { return row_at(tickets.Row()); };
  if constexpr (kLooksAhead) {
    if (tickets.Row() < rows) {
      next.Begin(group, row_at(tickets.Row()));
    }
    for (bool more = tickets.HaveOneBefore(rows); more; more = tickets.HaveOneBefore(rows)) {
      tickets.Ask(group);
      const unsigned then = tickets.NextCode();
      const auto row = row_at(tickets.Row());
      Loads loads = next;
      if constexpr (kStaged) {
        loads.Take(group, row);
      }
      if (tickets.RowOf(then) < rows) {
        next.Begin(group, row_at(tickets.RowOf(then)));
      }
      loads.Finish(group, row);
      body(row, loads, again);
      tickets.GoOnTo(then);
    }
  } else {
    for (; tickets.HaveOneBefore(rows); tickets.GoOn()) {
      tickets.Ask(group);
      const auto row = row_at(tickets.Row());
      const auto fetch_ahead = [&] { FetchRowsAhead<kAccess, Loads>(group, tuning, rows, row_at, tickets.Row()); };
      Loads loads = next;
      if constexpr (kAccess != RowAccess::kDense) {
        fetch_ahead();  // when registers hold nothing yet
      }
      loads.Begin(group, row);
      if constexpr (kAccess == RowAccess::kDense) {
        fetch_ahead();  // here ptxas does not put off the last vectors until the first have come
      }
      loads.Finish(group, row);
      body(row, loads, again);
    }
  }
  tickets.End(group);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_LOOP_CUH_

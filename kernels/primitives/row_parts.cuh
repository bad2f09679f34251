// How the blocks of one launch share long rows. Some leave the totals of a row's parts in the workspace of its request;
// others merge the totals of all its parts, all in the same order, and go on to results. Parts follow from the row's
// bytes alone (PartsOfStreamedRow), and so do the bits.
//
// Blocks for a row's results come a little after those for its totals, while the second-level cache still has what
// these have read: so rows come from memory once, as long as it holds them. They wait for blocks of lower numbers only.
// Those begin before them (decoupled look-back, as in CUB's scans, stands on that, too), so they end, however few
// blocks run at a time.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARTS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARTS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_parts.h"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/segment_table.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// Of a launch that reads much, what is read for results, and the results, are not needed again.
__device__ __forceinline__ CachePriority PriorityOfResults(const RowTuning& tuning) {
  return tuning.reads_much ? CachePriority::kShort : CachePriority::kUsual;
}
__device__ __forceinline__ CachePriority PriorityOfReads(const RowTuning& tuning, StreamPass pass) {
  return pass == StreamPass::kResults ? PriorityOfResults(tuning) : CachePriority::kUsual;
}

/// Calls body(row, range, pass) for what this block does. `kInParts`: rows are, which the host knows.
template <typename T, bool kInParts, typename Body>
__device__ __forceinline__ void ForEachRange(const StreamedParts& parts, const StreamedRows& rows, std::int64_t width,
                                             const Body& body) {
  if (!kInParts && parts.count == 1) {
    for (std::int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
      body(row, RowPart{0, 0, width, width}, StreamPass::kBoth);
    }
    return;
  }
  const auto of_row = static_cast<unsigned>(RangesOfRow(parts));
  const auto task = StreamTask::OfBlock(blockIdx.x, rows.lead, static_cast<unsigned>(rows.count) * of_row);
  const unsigned row = task.range / of_row;
  const auto index = static_cast<int>(task.range - row * of_row) * parts.together;
  body(rows.first + row, RowPartAt<T>(parts, width, index, parts.together), task.pass);
}

/// The totals of a row's parts, in the workspace of its request, and the row's ticket. A block for totals calls Put for
/// each of its parts, and Arrive; one for results Await, then any of At, Merge, ShareOf, and Depart. All of its threads
/// call them.
template <typename Total>
class PartTotals {
 public:
  static_assert(sizeof(Total) <= kStreamedTotalBytes);

  /// Of row `row` of the operator's; `tickets`: the launch's.
  __device__ __forceinline__ PartTotals(const SegmentTable& table, std::uint32_t* tickets, const StreamedParts& parts,
                                        const StreamedRows& rows, std::int64_t row)
      : parts_(parts.count),
        ranges_(static_cast<unsigned>(RangesOfRow(parts))),
        ticket_(tickets + (row - rows.first)),
        totals_(table.PickOf(row, [&](const Segment& segment) {
          return static_cast<Total*>(segment.workspace) + (row - segment.first_row) * parts.count;
        })) {}

  /// That of a part, which all threads have.
  __device__ __forceinline__ void Put(const RowPart& part, const Total& total) const {
    if (threadIdx.x == 0) {
      totals_[part.index] = total;
    }
  }
  /// What the block has written, totals and else, is there for those that have awaited it. Requires: a barrier since
  /// all but totals were written.
  __device__ __forceinline__ void Arrive() const {
    if (threadIdx.x == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(ticket_) : "memory");
    }
  }

  /// Waits until all blocks for the row's totals have arrived.
  __device__ __forceinline__ void Await() const {
    if (threadIdx.x == 0) {
      unsigned arrived = 0;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(arrived) : "l"(ticket_) : "memory");
      } while (arrived < ranges_);
    }
    __syncthreads();
  }
  /// The last of those for its results to come here leaves the ticket as it was.
  __device__ __forceinline__ void Depart() const {
    if (threadIdx.x == 0) {
      asm volatile("red.relaxed.gpu.global.inc.u32 [%0], %1;" ::"l"(ticket_), "r"(2 * ranges_ - 1) : "memory");
    }
  }

  /// The total of part `index`.
  __device__ __forceinline__ Total At(int index) const { return ReadWritten(totals_ + index); }

  /// All parts' totals, combined. `combine` as for BlockGroup::Reduce.
  template <typename Combine>
  __device__ __forceinline__ Total Merge(BlockGroup& group, const Total& identity, const Combine& combine) const {
    return Merge(
        group, identity, [](const Total& of_part, int) { return of_part; }, combine);
  }
  /// The same, after change(total, index) of each.
  template <typename Changed, typename Change, typename Combine>
  __device__ __forceinline__ Changed Merge(BlockGroup& group, const Changed& identity, const Change& change,
                                           const Combine& combine) const {
    return group.Reduce(RowParts<Changed, 1>{{ShareOf(identity, change, combine)}}, identity, combine);
  }

  /// This thread's share of that.
  template <typename Changed, typename Change, typename Combine>
  __device__ __forceinline__ Changed ShareOf(const Changed& identity, const Change& change,
                                             const Combine& combine) const {
    Changed merged = identity;
    for (int i = static_cast<int>(threadIdx.x); i < parts_; i += static_cast<int>(blockDim.x)) {
      merged = combine(merged, change(At(i), i));
    }
    return merged;
  }

 private:
  int parts_;
  unsigned ranges_;
  std::uint32_t* ticket_;
  Total* totals_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARTS_CUH_

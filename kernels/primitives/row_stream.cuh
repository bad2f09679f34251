// Rows that no group holds: a block walks over a row, or over a part of a long one, a stretch at a time, first for the
// row's totals, and then for its results.
//
// A long row's parts are the work of two launches, so that even a single row keeps the whole device busy. In the first
// each part leaves its total in the request's workspace; in the second each merges the totals of all, all in the same
// order, and goes on to its results. Parts follow from the row's bytes alone (PartsOfStreamedRow), and so do the bits.
//
// In-place calls (y where x lies) are right here too: what the lanes of a stretch use of what they read is only what
// they write themselves, afterwards.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/segment_table.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// What a launch does with the parts of its rows.
enum class StreamPass : std::uint8_t {
  kBoth,     // rows are one part: totals, and results
  kTotals,   // totals go to the workspace
  kResults,  // totals come from there
  kAny,      // as the launch says: of a kernel that serves all passes
};

/// What a kernel does that is made for `kOnly`, in a launch for `asked`. Kernels that long plain rows take are made for
/// one pass: what the other would want of registers is theirs.
template <StreamPass kOnly>
__device__ __forceinline__ constexpr StreamPass PassOf(StreamPass asked) {
  return kOnly == StreamPass::kAny ? asked : kOnly;
}

/// For __launch_bounds__.
template <bool kPlain>
inline constexpr int kMostThreadsOfStream = kPlain ? kThreadsOfPart : kMostThreadsOfRowBlock;
template <bool kPlain>
inline constexpr int kStreamsAtATime = kPlain ? 3 : 1;

/// A parameter of plain rows, of which a thread asks for what a stretch of them needs at once.
template <typename T, typename Acc>
using StretchParameter = DeviceParameter<T, 4, Acc, RowAccess::kPlain>;

/// What a thread has of a stretch. `kPlain`: see RowVectors.
template <typename T, bool kPlain>
using StreamVectors = RowVectors<T, 4, kPlain>;

/// Where stretches of kInputs rows lie on their way.
template <typename T, bool kPlain, int kInputs>
using StreamSpace = RowSpace<StreamVectors<T, kPlain>, BlockGroup, kInputs>;

/// Elements [first, end) of a row of `width`: from the row's part `index` on.
struct RowPart {
  int index;
  std::int64_t first;
  std::int64_t end;
  std::int64_t width;
};

/// `count` parts from the `index`-th on, as one.
template <typename T>
__device__ __forceinline__ RowPart RowPartAt(const StreamedParts& parts, std::int64_t width, int index, int count) {
  const std::int64_t elements = parts.bytes / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t first = index * elements;
  return {index, first, min(width, first + count * elements), width};
}

/// How many neighbours of the parts of a row a block has at a time in a pass. Results wait for memory in each part.
__device__ __host__ __forceinline__ int PartsTogether(const StreamedParts& parts, StreamPass pass) {
  return pass == StreamPass::kTotals ? parts.together : 1;
}

/// Calls body(row, range) for the parts of `rows` rows of T that are this block's, as many neighbours at a time as it
/// has. Results begin where totals ended, with what may still be in a cache.
template <typename T, typename Body>
__device__ __forceinline__ void ForEachRange(StreamPass pass, const StreamedParts& parts, std::int64_t rows,
                                             std::int64_t width, const Body& body) {
  const int together = PartsTogether(parts, pass);
  const int of_row = (parts.count + together - 1) / together;
  const std::int64_t count = rows * of_row;
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const std::int64_t at = pass == StreamPass::kResults ? count - 1 - i : i;
    if (pass == StreamPass::kBoth) {
      body(at, RowPart{0, 0, width, width});
    } else {  // parts are so long that 32 bits count them all; a division of 64 would cost as much as a stretch
      const auto row = static_cast<unsigned>(at) / static_cast<unsigned>(of_row);
      const int range = static_cast<int>(static_cast<unsigned>(at) - row * of_row);
      body(row, RowPartAt<T>(parts, width, range * together, together));
    }
  }
}

/// Calls body(part) for the parts of a range.
template <typename T, typename Body>
__device__ __forceinline__ void ForEachPart(const StreamedParts& parts, const RowPart& range, const Body& body) {
#pragma unroll 1
  for (int i = 0; i < parts.together && range.index + i < parts.count; ++i) {
    body(RowPartAt<T>(parts, range.width, range.index + i, 1));
  }
}

/// Calls body(first, count) for the stretches of a part in order: `count` elements from element `first` of the row on.
template <typename T, typename Body>
__device__ __forceinline__ void ForEachStretch(const BlockGroup& group, const RowPart& part, const Body& body) {
  const std::int64_t stretch = std::int64_t{group.size()} * StreamVectors<T, true>::kHeld;
  for (std::int64_t first = part.first; first < part.end; first += stretch) {
    body(first, static_cast<int>(min(stretch, part.end - first)));
  }
}

/// The same from the last stretch to the first, so that what was read last, and is still in a cache, is read first.
template <typename T, typename Body>
__device__ __forceinline__ void ForEachStretchBackwards(const BlockGroup& group, const RowPart& part,
                                                        const Body& body) {
  const std::int64_t stretch = std::int64_t{group.size()} * StreamVectors<T, true>::kHeld;
  for (std::int64_t first = part.first + (part.end - part.first - 1) / stretch * stretch; first >= part.first;
       first -= stretch) {
    body(first, static_cast<int>(min(stretch, part.end - first)));
  }
}

/// Elements [first, first + count) of the row of `width` elements at `row`; beyond them, the fill.
template <typename Fill, bool kPlain, typename T>
__device__ __forceinline__ StreamVectors<T, kPlain> LoadStretch(const BlockGroup& group, const RowSource<T>& row,
                                                                std::int64_t width, std::int64_t first, int count,
                                                                Granule* place) {
  constexpr int kReach = kElementsOfGranule<T> - 1;
  const RowSource<T> source{row.data + first, count, row.has_before || first > 0,
                            row.has_after || width - first - count >= kReach};
  StreamVectors<T, kPlain> held;
  held.template Begin<Fill>(group, source, place);
  held.template Finish<Fill>(group, source, place);
  return held;
}

/// Brings the last stretch of a part near before it is loaded, while threads agree on a total.
template <typename T>
__device__ __forceinline__ void FetchPart(const BlockGroup& group, const T* row, const RowPart& part) {
  const std::int64_t at = part.end - 1 - group.rank() * static_cast<std::int64_t>(64 / sizeof(T));
  if (at >= part.first) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(row + at));
  }
}

/// Writes the elements of a stretch to a row of another type than theirs, rounded once, after compute(at, y) has turned
/// the vector y, which begins at element `at` of the row, into its results.
template <typename Acc, typename Held, typename Out, typename Compute>
__device__ __forceinline__ void StoreConverted(const BlockGroup& group, const Held& held, std::int64_t first, int count,
                                               Out* row, const Compute& compute) {
  constexpr int kLength = Held::kLength;
  const bool whole = reinterpret_cast<std::uintptr_t>(row + first) % (kLength * sizeof(Out)) == 0;
#pragma unroll
  for (int v = 0; v < Held::kVectors; ++v) {
    const int index = Held::IndexOf(group, v);
    if (index < count) {
      Acc results[kLength];
      Unpack<typename Held::Element>(held.vectors[v], results);
      compute(first + index, results);
      if (whole && index + kLength <= count) {
        StoreNarrowed(results, row + first + index);
      } else {
#pragma unroll
        for (int j = 0; j < kLength; ++j) {
          if (index + j < count) {
            row[first + index + j] = Narrow<Out>(results[j]);
          }
        }
      }
    }
  }
}

/// The same to a row of any type; `place`: of a stretch on its way out.
template <typename Acc, typename Held, typename Out, typename Compute>
__device__ __forceinline__ void StoreStretch(const BlockGroup& group, const Held& held, std::int64_t first, int count,
                                             Out* row, Granule* place, const Compute& compute) {
  using T = typename Held::Element;
  if constexpr (std::is_same_v<T, Out>) {
    Held::Store(group, row + first, count, place, [&](int v, int index) {
      Acc results[Held::kLength];
      Unpack<T>(held.vectors[v], results);
      if (index < count) {
        compute(first + index, results);
      }
      return Pack<T>(results);
    });
  } else {
    StoreConverted<Acc>(group, held, first, count, row, compute);
  }
}

/// The totals of a row's parts, in the workspace of its request.
template <typename Total>
class PartTotals {
 public:
  static_assert(sizeof(Total) <= kStreamedTotalBytes);

  /// Of row `row` of the launch.
  __device__ __forceinline__ PartTotals(const SegmentTable& table, std::int64_t row, const StreamedParts& parts)
      : parts_(parts.count), totals_(table.PickOf(row, [&](const Segment& segment) {
          return static_cast<Total*>(segment.workspace) + (row - segment.first_row) * parts.count;
        })) {}

  /// In the pass for totals: that of a part, which all threads of its block have.
  __device__ __forceinline__ void Leave(const RowPart& part, const Total& total) const {
    if (threadIdx.x == 0) {
      totals_[part.index] = total;
    }
  }

  /// In the pass for results: the total of part `index`.
  __device__ __forceinline__ Total At(int index) const { return ReadWritten(totals_ + index); }

  /// In the pass for results: all parts' totals, combined. `combine` as for BlockGroup::Reduce.
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
  Total* totals_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_STREAM_CUH_

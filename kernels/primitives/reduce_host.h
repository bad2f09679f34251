// Running a reduction on the host: what the threads share, and in which phases the work is done. The work itself is in
// reduce_host-inl.h, once for each instruction set.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_HOST_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_HOST_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/core/operator.h"
#include "kernels/primitives/reduce_params.h"
#include "kernels/primitives/row_work.h"

namespace kernelwire {

/// Columns that are walked down side by side, at most; fewer where a launch would be shared among few threads. A
/// multiple of every target's vector. Rows of a tile are as long as that so that memory is read by pages.
inline constexpr std::int64_t kColumnsOfATile = 1024;

/// One launch.
struct HostReduction {
  explicit HostReduction(const Launch& the_launch)
      : launch(the_launch),
        params(the_launch.plan->Params<ReduceParams>()),
        layout(LayOutReduction(params)),
        parts(PartsOf(layout, params.x_type)),
        results(the_launch.total_rows * layout.results) {
    if (!layout.columns) {  // counted in elements here; there are at most as many parts as the plan has room for
      parts = CutIntoParts(layout.width, parts.length * LengthOfVector(params.x_type));
    } else {
      CutIntoTiles();
    }
  }

  const Launch& launch;
  ReduceParams params;
  ReduceLayout layout;
  ReduceParts parts;
  std::int64_t results;    // of the launch
  std::int64_t tiles = 1;  // columns: of a run
  std::int64_t tile = 0;   // columns of each but the last

 private:
  /// Equal tiles, so that no narrow one is left over. A column is walked down in the same way in any of them.
  void CutIntoTiles() {
    constexpr std::int64_t kWanted = 16;
    constexpr std::int64_t kWorthSharing = std::int64_t{256} * 1024;
    constexpr std::int64_t kMultiple = 64;
    const std::int64_t rows_bytes =
        std::min(layout.width, parts.length) * static_cast<std::int64_t>(SizeOf(params.x_type));
    std::int64_t most = kColumnsOfATile;
    while (most > kColumnsOfATile / 4 && results / most * parts.count < kWanted && most * rows_bytes > kWorthSharing) {
      most /= 2;
    }
    tiles = (layout.run + most - 1) / most;
    tile = std::min(most, ((layout.run + tiles - 1) / tiles + kMultiple - 1) / kMultiple * kMultiple);
    tiles = (layout.run + tile - 1) / tile;
  }
};

/// What a range of work is.
enum class ReducePhase : std::uint8_t {
  kRows,     // part by part: number / parts.count is the result
  kColumns,  // tile by tile: number % tiles is the tile, what is left counts parts, and then runs
  kMerge,    // result by result, from the totals of the parts
};

/// A result of the launch: whose it is, and which of that request's.
struct HostPlace {
  const Segment& segment;
  std::int64_t piece;   // of the request
  std::int64_t result;  // of the piece
  std::int64_t index;   // of the request's results
};

inline HostPlace PlaceOf(const HostReduction& job, std::int64_t number) {
  const std::int64_t piece = job.layout.results == 1 ? number : number / job.layout.results;  // short rows notice
  const std::int64_t result = number - piece * job.layout.results;
  const Segment& segment = job.launch.segments[FindSegment(job.launch.segments, job.launch.segment_count, piece)];
  const std::int64_t own = piece - segment.first_row;
  return {segment, own, result, own * job.layout.results + result};
}

/// An element of an input, `offset` elements from the beginning of the place's piece.
inline const std::byte* ElementOf(const HostReduction& job, const HostPlace& place, int input, std::int64_t offset) {
  return static_cast<const std::byte*>(place.segment.inputs[input]) +
         (place.piece * job.layout.piece + offset) * static_cast<std::int64_t>(SizeOf(job.params.x_type));
}

/// Runs `phase_of(job, phase, begin, end)` over all of the launch's work, on several threads where that pays.
template <typename Phase>
absl::Status RunReduction(const HostReduction& job, const Phase& phase_of, ParallelExecutor& threads) {
  struct Range {
    const HostReduction& job;
    const Phase& phase_of;
    ReducePhase phase;
    void Rows(std::int64_t begin, std::int64_t end) const { phase_of(job, phase, begin, end); }
  };
  if (job.results == 0) {
    return absl::OkStatus();
  }
  const auto bytes = static_cast<std::int64_t>(SizeOf(job.params.x_type));
  if (job.layout.columns) {
    const std::int64_t items = job.results / job.layout.run * job.parts.count * job.tiles;
    const std::int64_t rows = std::min(job.layout.width, job.parts.length);
    ForEachPieceOfWork(Range{job, phase_of, ReducePhase::kColumns}, items,
                       rows * std::min(job.layout.run, job.tile) * bytes, threads);
  } else {
    ForEachPieceOfWork(Range{job, phase_of, ReducePhase::kRows}, job.results * job.parts.count,
                       std::min(job.layout.width, job.parts.length) * bytes, threads);
  }
  if (job.parts.count > 1) {
    ForEachPieceOfWork(Range{job, phase_of, ReducePhase::kMerge}, job.results, job.parts.count * kPartBytes, threads);
  }
  return absl::OkStatus();
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_HOST_H_

// Running a reduction on the host: what the threads share, and in which phases the work is done. The work itself is in
// reduce_host-inl.h, once for each instruction set.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_HOST_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_HOST_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/core/operator.h"
#include "kernels/primitives/reduce_params.h"
#include "kernels/primitives/row_work.h"

namespace kernelwire {

/// Columns that are walked down side by side.
inline constexpr std::int64_t kColumnsOfATile = 256;

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
      tiles = (layout.run + kColumnsOfATile - 1) / kColumnsOfATile;
    }
  }

  const Launch& launch;
  ReduceParams params;
  ReduceLayout layout;
  ReduceParts parts;
  std::int64_t results;    // of the launch
  std::int64_t tiles = 1;  // columns: of a run
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
                       rows * std::min(job.layout.run, kColumnsOfATile) * bytes, threads);
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

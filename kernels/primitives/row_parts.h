// Which block of a launch does what with the parts of long rows (row_parts.cuh). Host and device.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARTS_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARTS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/segment_lookup.h"

namespace kernelwire {

/// What a block does with a range of a row.
enum class StreamPass : std::uint8_t {
  kBoth,     // the row is one part: totals, and results
  kTotals,   // totals go to the workspace
  kResults,  // totals come from there
};

/// Blocks that share a row: each has as many neighbouring parts as a block has at a time, a range.
KERNELWIRE_HOST_DEVICE inline int RangesOfRow(const StreamedParts& parts) {
  return (parts.count + parts.together - 1) / parts.together;
}

/// The rows of a launch that are walked over.
struct StreamedRows {
  std::int64_t first;  // of those that the operator has
  std::int64_t count;
  unsigned lead;  // blocks for totals before the first for results; from then on they take turns

  /// Rows in parts have a ticket each.
  static constexpr std::int64_t kMostInParts = kLaunchTickets;

  /// Rows [first, first + count), which are in parts. Requires: count <= kMostInParts, and 31 bits count their blocks,
  /// two for each range.
  static StreamedRows InParts(const StreamedParts& parts, std::int64_t first, std::int64_t count) {
    const std::int64_t of_row = RangesOfRow(parts);
    return {first, count, static_cast<unsigned>(std::min(count * of_row, of_row + parts.ahead))};
  }
};

/// What a block does, and with which of the ranges of a launch. All blocks for a row's totals have lower numbers than
/// those for its results, since as many as a row has come first.
struct StreamTask {
  StreamPass pass;
  unsigned range;

  KERNELWIRE_HOST_DEVICE static StreamTask OfBlock(unsigned block, unsigned lead, unsigned ranges) {
    if (block < lead) {
      return {StreamPass::kTotals, block};
    }
    const unsigned turn = block - lead;
    const unsigned left = ranges - lead;  // for totals
    if (turn >= 2 * left) {
      return {StreamPass::kResults, turn - left};
    }
    return turn % 2 == 0 ? StreamTask{StreamPass::kTotals, lead + turn / 2}
                         : StreamTask{StreamPass::kResults, turn / 2};
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARTS_H_

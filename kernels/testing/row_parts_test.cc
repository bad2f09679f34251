// Which block does what with the parts of long rows: everything is done once, and nobody waits for a later block.
#include "kernels/primitives/row_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/primitives/row_tuning.h"

namespace kernelwire::testing {
namespace {

/// The numbers of the blocks that did something with each range.
struct BlocksOfRanges {
  std::vector<std::int64_t> totals;
  std::vector<std::int64_t> results;
};

void FindBlocks(const StreamedRows& rows, unsigned ranges, BlocksOfRanges* found) {
  *found = {std::vector<std::int64_t>(ranges, -1), std::vector<std::int64_t>(ranges, -1)};
  for (unsigned block = 0; block < 2 * ranges; ++block) {
    const StreamTask task = StreamTask::OfBlock(block, rows.lead, ranges);
    ASSERT_NE(task.pass, StreamPass::kBoth);
    ASSERT_LT(task.range, ranges) << "block " << block;
    auto& blocks = task.pass == StreamPass::kTotals ? found->totals : found->results;
    ASSERT_EQ(blocks[task.range], -1) << "block " << block << " does again what that did";
    blocks[task.range] = block;
  }
}

TEST(StreamTaskTest, ResultsWaitForBlocksOfLowerNumbersOnly) {
  for (const int parts_of_row : {2, 3, 65, 128, 1024}) {
    for (const int together : {1, 2, 4}) {
      for (const int ahead : {0, 1, 256}) {
        const StreamedParts parts{16384, parts_of_row, together, ahead};
        const int of_row = RangesOfRow(parts);
        for (const std::int64_t rows : {1, 2, 3, 7, 40}) {
          const auto some = StreamedRows::InParts(parts, 0, rows);
          SCOPED_TRACE(::testing::Message() << rows << " rows of " << parts_of_row << " parts, " << together
                                            << " together, results " << ahead << " later");
          BlocksOfRanges blocks;
          ASSERT_NO_FATAL_FAILURE(FindBlocks(some, static_cast<unsigned>(rows * of_row), &blocks));
          for (std::int64_t row = 0; row < rows; ++row) {
            const auto last =
                std::max_element(blocks.totals.begin() + row * of_row, blocks.totals.begin() + (row + 1) * of_row);
            const auto first =
                std::min_element(blocks.results.begin() + row * of_row, blocks.results.begin() + (row + 1) * of_row);
            ASSERT_LT(*last, *first) << "row " << row;
          }
        }
      }
    }
  }
}

/// What the second-level cache must keep until results read it again.
TEST(StreamTaskTest, ResultsFollowTheirTotalsSoon) {
  const std::int64_t row_bytes = std::int64_t{2} << 20;
  const auto kept_mib = [&](RowWork work, std::int64_t bytes) {
    const StreamedParts parts = StreamRows(work, bytes, 256, 2).parts;
    return (RangesOfRow(parts) + parts.ahead) * parts.together * parts.bytes >> 20;
  };
  EXPECT_LE(kept_mib(RowWork::kSoftmax, row_bytes), 12);
  EXPECT_LE(kept_mib(RowWork::kOneSum, row_bytes), 10);
  EXPECT_LE(kept_mib(RowWork::kTwoInputs, row_bytes), 6);
  EXPECT_LE(kept_mib(RowWork::kTwoInputs, row_bytes + 2), 10) << "in words";
  const StreamedParts parts = StreamRows(RowWork::kSoftmax, row_bytes, 256, 2).parts;
  const int of_row = RangesOfRow(parts);
  const auto ranges = static_cast<unsigned>(256 * of_row);
  BlocksOfRanges blocks;
  ASSERT_NO_FATAL_FAILURE(FindBlocks(StreamedRows::InParts(parts, 0, 256), ranges, &blocks));
  for (unsigned range = 0; range < ranges; ++range) {
    ASSERT_LE(blocks.results[range] - blocks.totals[range], 2 * (of_row + parts.ahead) + 1) << "range " << range;
  }
}

}  // namespace
}  // namespace kernelwire::testing

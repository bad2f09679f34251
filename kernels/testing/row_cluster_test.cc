// How clusters share rows in whole vectors: none of the choices that there are would keep more of a device busy.
#include "kernels/primitives/row_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace kernelwire::testing {
namespace {

constexpr BlocksOfWarps kAll[] = {kThatLookAhead, kLargeThatLookAhead, kFewStaged, kStaged, kStagedBesideParameters};

/// Warps with something to do in 16 multiprocessors that run `of_multiprocessor` each, where a row of `row_warps` has
/// `blocks` blocks of `warps`.
std::int64_t Filled(std::int64_t row_warps, std::int64_t warps, std::int64_t blocks, std::int64_t of_multiprocessor) {
  std::int64_t rows = 0;
  for (std::int64_t left = 16 * (of_multiprocessor / warps); left >= blocks; left -= blocks) {
    ++rows;
  }
  return rows * row_warps;
}

TEST(RowClusterTest, WarpsOfARowHoldAllOfIt) {
  EXPECT_EQ(WarpsOfRow(1), 1);
  EXPECT_EQ(WarpsOfRow(4096), 1);
  EXPECT_EQ(WarpsOfRow(4097), 2);
  EXPECT_EQ(WarpsOfRow(512 << 10), 128);
}

TEST(RowClusterTest, NoOtherBlocksKeepMoreWarpsBusy) {
  for (const BlocksOfWarps& which : kAll) {
    for (std::int64_t row_warps = 1; row_warps <= 300; ++row_warps) {
      SCOPED_TRACE(::testing::Message() << row_warps << " warps of a row, blocks of " << which.least << " to "
                                        << which.most);
      std::int64_t most = 0;
      for (std::int64_t warps = which.least; warps <= which.most; ++warps) {
        const std::int64_t blocks = (row_warps + warps - 1) / warps;
        if (blocks >= 2 && blocks <= 16) {
          most = std::max(most, Filled(row_warps, warps, blocks, which.of_multiprocessor));
        }
      }
      const ClusterOfWarps found = ShareWarps(row_warps, which);
      EXPECT_EQ(found.filled, most);
      if (most == 0) {
        EXPECT_FALSE(found.Exist());
        continue;
      }
      EXPECT_TRUE(found.Exist());
      EXPECT_EQ(found.filled, Filled(row_warps, found.warps, found.blocks, which.of_multiprocessor));
      EXPECT_GE(found.warps * found.blocks, row_warps) << "all of the row is held";
      EXPECT_LT(found.warps * (found.blocks - 1), row_warps) << "no block has nothing";
    }
  }
}

TEST(RowClusterTest, BlocksAreTheSmallestOfThoseThatAreAsGoodOrLargerWhereThatIsBetter) {
  EXPECT_EQ(ShareWarps(32, kThatLookAhead).warps, 2);
  EXPECT_EQ(ShareWarps(32, kLargeThatLookAhead).warps, 8);
}

TEST(RowClusterTest, AsManyBlocksAsCanBeHaveTheFewestWarps) {
  for (std::int64_t row_warps = 2; row_warps <= 160; ++row_warps) {
    const ClusterOfWarps found = ShareAmongMost(row_warps, kStaged);
    EXPECT_TRUE(found.Exist()) << row_warps;
    EXPECT_GE(found.warps * found.blocks, row_warps);
    EXPECT_LT((found.warps - 1) * 16, row_warps) << "with fewer warps a block there would be too many";
  }
}

}  // namespace
}  // namespace kernelwire::testing

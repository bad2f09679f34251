// Which rows blocks keep the parameters of.
#include "kernels/primitives/row_keeping.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_tunings_test.h"

namespace kernelwire::testing {
namespace {

TEST(RowKeepingTest, BlocksKeepParametersOfLargeTensorsOfRowsInWordsWhereMemoryIsFast) {
  const auto keeps = [&](auto... arguments) { return Tune(arguments...).keeps_parameters; };
  EXPECT_TRUE(keeps(RowWork::kMoments, 1301, 2, 192, true));
  EXPECT_FALSE(keeps(RowWork::kMoments, 1301, 2, 191, true));
  EXPECT_TRUE(keeps(RowWork::kMoments, 4097, 2, 48, true));
  EXPECT_FALSE(keeps(RowWork::kMoments, 4097, 2, 47, true));
  EXPECT_FALSE(keeps(RowWork::kMoments, 4097, 2, 512, false));
  EXPECT_FALSE(keeps(RowWork::kMoments, 4097, 2, 512, true, RowAccess::kShifted)) << "they begin anywhere";
  EXPECT_FALSE(keeps(RowWork::kMoments, 4096, 2, 512, true, RowAccess::kDense)) << "whole vectors";
  EXPECT_FALSE(keeps(RowWork::kMoments, 4097, 4, 2048, true));
  EXPECT_TRUE(keeps(RowWork::kMoments, 16385, 4, 96, true)) << "several blocks each";
  EXPECT_FALSE(keeps(RowWork::kMoments, 16385, 4, 95, true));
  EXPECT_FALSE(keeps(RowWork::kMoments, 16385, 4, 512, false));
  EXPECT_TRUE(keeps(RowWork::kMoments, 131073, 4, 48, true));
  EXPECT_FALSE(keeps(RowWork::kMoments, 131073, 4, 47, true));
  EXPECT_TRUE(keeps(RowWork::kMoments, 150001, 4, 96, true)) << "weights in registers";
  EXPECT_TRUE(keeps(RowWork::kMoments, 4098, 2, 48, true)) << "each begins with a word";
  EXPECT_TRUE(keeps(RowWork::kMoments, 4100, 2, 48, true, RowAccess::kTiled)) << "and ends with half a vector";
  EXPECT_TRUE(keeps(RowWork::kMoments, 85002, 4, 256, true, RowAccess::kTiled));
  EXPECT_TRUE(keeps(RowWork::kMoments, 301, 2, 12, true)) << "two a warp";
  EXPECT_FALSE(keeps(RowWork::kMoments, 301, 2, 11, true));
  EXPECT_FALSE(keeps(RowWork::kMoments, 201, 2, 512, true)) << "four a warp";
  EXPECT_TRUE(keeps(RowWork::kMoments, 20001, 2, 512, true)) << "a large block each";
  EXPECT_TRUE(keeps(RowWork::kMoments, 21505, 2, 24, true)) << "several blocks each";
  EXPECT_FALSE(keeps(RowWork::kMoments, 21505, 2, 23, true));
  EXPECT_TRUE(keeps(RowWork::kMoments, 100001, 2, 64, true));
  EXPECT_FALSE(keeps(RowWork::kMoments, 100001, 2, 63, true));
  EXPECT_TRUE(keeps(RowWork::kMoments, 131073, 2, 24, true));
  EXPECT_FALSE(keeps(RowWork::kMoments, 131073, 2, 23, true));
  EXPECT_FALSE(keeps(RowWork::kMoments, 350001, 2, 512, true)) << "in blocks that are too large";
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax}) {
    EXPECT_FALSE(keeps(work, 1301, 2, 512, true));
  }
  EXPECT_EQ(Tune(RowWork::kMoments, 4097, 2, 512, true).ToString(),
            "128 threads x 80 bytes, 1 blocks a row, 4 times, keeps parameters");
  EXPECT_EQ(Tune(RowWork::kMoments, 65537, 2, 512, true).ToString(),
            "128 threads x 112 bytes, 10 blocks a row, balanced, keeps parameters");
  EXPECT_EQ(Tune(RowWork::kMoments, 163841, 2, 512, true).ToString(),
            "192 threads x 112 bytes, 16 blocks a row, balanced, keeps parameters");
  EXPECT_EQ(Tune(RowWork::kMoments, 200001, 2, 512, true).ToString(),
            "224 threads x 112 bytes, 16 blocks a row, keeps parameters")
      << "two of them a multiprocessor";
  EXPECT_EQ(Tune(RowWork::kMoments, 85001, 4, 512, true).ToString(),
            "192 threads x 112 bytes, 16 blocks a row, looking ahead, balanced, keeps parameters");
  EXPECT_EQ(Tune(RowWork::kMoments, 200001, 4, 512, true).ToString(),
            "256 threads x 200 bytes, 16 blocks a row, in shared memory, looking ahead, balanced, keeps parameters");
}

/// Whatever a block has, its threads are those of a kernel (row_kept.cuh), and hold a row as others do.
TEST(RowKeepingTest, RowsAreHeldAsWithoutParameters) {
  for (std::int64_t width = 257; width < 401'408; width += width < 22000 ? 1 : 253) {
    if (width % 8 == 0 || AreMovedInVectors(RowWork::kMoments, width * 2, 2)) {
      continue;
    }
    const RowTuning kept = Tune(RowWork::kMoments, width, 2, 512, true);
    const RowTuning usual = Tune(RowWork::kMoments, width, 2, 512, false);
    ASSERT_EQ(kept.threads, usual.threads) << width;
    ASSERT_EQ(kept.vectors, usual.vectors) << width;
    ASSERT_EQ(kept.cluster_blocks, usual.cluster_blocks) << width;
    if (kept.keeps_parameters) {
      const bool of_lanes = kept.method == RowTuning::Method::kLanes;
      ASSERT_EQ(kept.rows_of_block, of_lanes ? ThreadsOfKeptBlock(kept.vectors) / kept.threads : 1) << width;
      ASSERT_LE(kept.threads, of_lanes ? 32 : kMostThreadsOfRowBlock) << width;
      ASSERT_TRUE(of_lanes || (kept.turns & (kept.turns - 1)) == 0) << width << ": a power of two";
      ASSERT_TRUE(kept.cluster_blocks == 1 || kept.turns == 1) << width;
      ASSERT_TRUE(kept.cluster_blocks == 1 || kept.threads <= MostThreadsOfKeptCluster(kept.vectors)) << width;
      ASSERT_TRUE(kept.cluster_blocks == 1 || HasKeptClusters(RowWork::kMoments, 2, kept.vectors, kept.threads))
          << width;
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing

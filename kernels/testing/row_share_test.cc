// How blocks share odd rows that they hold in words.
#include "kernels/primitives/row_share.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire::testing {
namespace {

RowTuning TuningOfOdd(RowWork work, std::int64_t width, int element_bytes) {
  return TuneRows(work, element_bytes * width, 1000, element_bytes, RowAccess::kOdd, {true, 227 << 10});
}
/// Its threads, words of each, and blocks.
std::vector<int> ShareOf(RowWork work, std::int64_t width, int element_bytes) {
  const RowTuning tuning = TuningOfOdd(work, width, element_bytes);
  return {tuning.threads, tuning.vectors, tuning.cluster_blocks};
}

TEST(RowShareTest, SmallBlocksShareLongOddRows) {
  const RowDevice device{true, 227 << 10};
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax, RowWork::kMoments}) {
    for (const int element_bytes : {2, 4}) {
      for (std::int64_t row_bytes = 51210; row_bytes < 160 << 10; row_bytes += 1022) {
        const RowTuning tuning = TuneRows(work, row_bytes, 1000, element_bytes, RowAccess::kOdd, device);
        if (tuning.vector_bytes != 4) {
          continue;
        }
        SCOPED_TRACE(std::to_string(row_bytes) + " bytes: " + tuning.ToString());
        if (work == RowWork::kMoments && element_bytes == 2) {
          EXPECT_LE(tuning.threads, 192);
        } else {
          EXPECT_EQ(tuning.threads, 128);
        }
        const std::int64_t of_block = std::int64_t{4} * tuning.threads * tuning.vectors;
        EXPECT_LT(of_block * (tuning.cluster_blocks - 1), row_bytes) << "no block has nothing";
      }
    }
  }
}

/// By blocks of which as many as there is room for fill 16 multiprocessors evenly: 80 of 128 threads with 28 words, 64
/// of 160, or 192 with 24, 48 of 256.
TEST(RowShareTest, BlocksThatShareOddRowsOfLayerNormKeepMultiprocessorsBusy) {
  struct Expected {
    std::int64_t width;
    int threads;
    int words;
    int blocks;
  };
  for (const Expected& its : {Expected{22001, 160, 24, 3}, Expected{33001, 128, 28, 5}, Expected{50257, 128, 28, 8},
                              Expected{57345, 128, 24, 10}, Expected{61441, 160, 28, 7}, Expected{65537, 128, 28, 10},
                              Expected{80001, 160, 28, 9}, Expected{100001, 128, 28, 14}, Expected{120001, 160, 24, 16},
                              Expected{163841, 192, 28, 16}, Expected{190001, 256, 24, 16},
                              Expected{200001, 224, 28, 16}, Expected{270001, 320, 28, 16}}) {
    const RowTuning tuning = TuningOfOdd(RowWork::kMoments, its.width, 2);
    SCOPED_TRACE(std::to_string(its.width) + ": " + tuning.ToString());
    EXPECT_EQ(tuning.threads, its.threads);
    EXPECT_EQ(tuning.vectors, its.words);
    EXPECT_EQ(tuning.cluster_blocks, its.blocks);
  }
}

TEST(RowShareTest, ThreadsHaveManyWordsOfLongOddRowsOfFp32Softmax) {
  const auto share_of = [](RowWork work, std::int64_t width) {
    EXPECT_TRUE(TuningOfOdd(work, width, 4).in_shared) << width;
    return ShareOf(work, width, 4);
  };
  for (const RowWork work : {RowWork::kSoftmax, RowWork::kLogSoftmax}) {
    EXPECT_EQ(share_of(work, 57345), (std::vector<int>{128, 50, 9}));
    EXPECT_EQ(share_of(work, 100001), (std::vector<int>{128, 50, 16}));
    EXPECT_EQ(share_of(work, 127999), (std::vector<int>{160, 50, 16}));
    EXPECT_EQ(share_of(work, 131073), (std::vector<int>{256, 36, 16})) << "larger blocks";
  }
  EXPECT_EQ(share_of(RowWork::kMoments, 110001), (std::vector<int>{192, 36, 16})) << "which keep parameters";
}

TEST(RowShareTest, LongOddRowsOf16BitSoftmaxLeaveFewWordsEmpty) {
  for (const RowWork work : {RowWork::kSoftmax, RowWork::kLogSoftmax}) {
    const auto share_of = [&](std::int64_t width) { return ShareOf(work, width, 2); };
    EXPECT_EQ(share_of(80001), (std::vector<int>{128, 24, 14}));
    EXPECT_EQ(share_of(114687), (std::vector<int>{128, 28, 16}));
    EXPECT_EQ(share_of(119547), (std::vector<int>{160, 24, 16}));
    EXPECT_EQ(share_of(131073), (std::vector<int>{160, 28, 15}));
    EXPECT_EQ(share_of(151643), (std::vector<int>{192, 28, 15})) << "rather than as many more threads with 24";
    EXPECT_EQ(share_of(190001), (std::vector<int>{256, 24, 16}));
    EXPECT_EQ(share_of(210001), (std::vector<int>{256, 28, 15})) << "a whole number of blocks' registers";
    EXPECT_EQ(share_of(222001), (std::vector<int>{256, 28, 16}));
    EXPECT_EQ(share_of(235001), (std::vector<int>{320, 24, 16}));
  }
}

TEST(RowShareTest, LongOddRowsOf16BitNormsAreManyAtATime) {
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs}) {
    const auto share_of = [&](std::int64_t width) { return ShareOf(work, width, 2); };
    EXPECT_EQ(share_of(143359), (std::vector<int>{224, 20, 16}));
    EXPECT_EQ(share_of(143361), (std::vector<int>{256, 36, 8}));
    EXPECT_EQ(share_of(163841), (std::vector<int>{256, 36, 9}));
    EXPECT_EQ(share_of(165889), (std::vector<int>{224, 28, 14}));
    EXPECT_EQ(share_of(200001), (std::vector<int>{224, 28, 16}));
    EXPECT_EQ(share_of(202001), (std::vector<int>{320, 20, 16}));
    EXPECT_EQ(share_of(206001), (std::vector<int>{192, 36, 15}));
    EXPECT_EQ(share_of(390001), (std::vector<int>{448, 28, 16}));
  }
}

TEST(RowShareTest, LongOddRowsOfFp32LayerNormHaveWholeBlocksOfRegisters) {
  for (const std::int64_t width : {100355, 101001, 102398}) {
    const RowTuning tuning = TuningOfOdd(RowWork::kMoments, width, 4);
    EXPECT_EQ(tuning.threads, 256) << width;
    EXPECT_EQ(tuning.vectors, 28) << width;
  }
}

TEST(RowShareTest, OddRowsOfLayerNormEndWhereAWarpHasFew) {
  for (const std::int64_t width : {4097, 5001, 9001, 10501, 11001, 14001, 16385, 18001}) {
    const RowTuning tuning = TuningOfOdd(RowWork::kMoments, width, 2);
    SCOPED_TRACE(std::to_string(width) + ": " + tuning.ToString());
    const std::int64_t of_warp = 64 * tuning.vectors;
    EXPECT_LT((width - 1) % of_warp, of_warp / 3);
    EXPECT_EQ(tuning.cluster_blocks, 1);
  }
}

TEST(RowShareTest, OddRowsOfLayerNormHaveFewWordsAThreadWhereSmallBlocksHoldThem) {
  for (const std::int64_t width : {5401, 5773, 6001, 6357, 7001, 7233, 7671, 8001, 8959}) {
    const RowTuning tuning = TuningOfOdd(RowWork::kMoments, width, 2);
    SCOPED_TRACE(std::to_string(width) + ": " + tuning.ToString());
    EXPECT_LE(tuning.vectors, 20);
    EXPECT_LE(tuning.threads, 224);
    EXPECT_EQ(tuning.cluster_blocks, 1);
  }
}

}  // namespace
}  // namespace kernelwire::testing

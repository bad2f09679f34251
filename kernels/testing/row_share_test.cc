// How blocks share odd rows that they hold in words.
#include "kernels/primitives/row_share.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire::testing {
namespace {

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
        EXPECT_EQ(tuning.threads, 128);
        const std::int64_t of_block = std::int64_t{4} * tuning.threads * tuning.vectors;
        EXPECT_LT(of_block * (tuning.cluster_blocks - 1), row_bytes) << "no block has nothing";
      }
    }
  }
}

TEST(RowShareTest, OddRowsOfLayerNormEndWhereAWarpHasFew) {
  const auto words_of = [](std::int64_t width) {
    return TuneRows(RowWork::kMoments, 2 * width, 1000, 2, RowAccess::kOdd, {true, 227 << 10});
  };
  for (const std::int64_t width : {4097, 5001, 9001, 10501, 11001, 14001, 16385, 18001}) {
    const RowTuning tuning = words_of(width);
    SCOPED_TRACE(std::to_string(width) + ": " + tuning.ToString());
    const std::int64_t of_warp = 64 * tuning.vectors;
    EXPECT_LT((width - 1) % of_warp, of_warp / 3);
    EXPECT_EQ(tuning.cluster_blocks, 1);
  }
}

TEST(RowShareTest, OddRowsOfLayerNormHaveFewWordsAThreadWhereSmallBlocksHoldThem) {
  for (const std::int64_t width : {5401, 5773, 6001, 6357, 7001, 7233, 7671, 8001, 8959}) {
    const RowTuning tuning = TuneRows(RowWork::kMoments, 2 * width, 1000, 2, RowAccess::kOdd, {true, 227 << 10});
    SCOPED_TRACE(std::to_string(width) + ": " + tuning.ToString());
    EXPECT_LE(tuning.vectors, 20);
    EXPECT_LE(tuning.threads, 224);
    EXPECT_EQ(tuning.cluster_blocks, 1);
  }
}

}  // namespace
}  // namespace kernelwire::testing

// Which clusters stay.
#include "kernels/primitives/row_staying.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire::testing {
namespace {

/// Of rows in a tensor of `mib` MiB.
RowTuning Tune(RowWork work, std::int64_t width, int element_bytes, std::int64_t mib, bool fast = true,
               RowAccess access = RowAccess::kOdd) {
  const std::int64_t row_bytes = width * element_bytes;
  const std::int64_t rows = ((mib << 20) + row_bytes - 1) / row_bytes;
  return TuneRows(work, row_bytes, rows, element_bytes, access, {true, 227 << 10, fast});
}

TEST(RowStayingTest, ClustersStayForLongOddRowsAndInTheLargestTensorsWhereMemoryIsFast) {
  const auto stays = [&](auto... arguments) { return Tune(arguments...).stays; };
  EXPECT_TRUE(stays(RowWork::kOneSum, 100001, 2, 32));
  EXPECT_FALSE(stays(RowWork::kOneSum, 100001, 2, 31));
  EXPECT_FALSE(stays(RowWork::kOneSum, 100001, 2, 512, false));
  EXPECT_FALSE(stays(RowWork::kOneSum, 100001, 2, 512, true, RowAccess::kShifted)) << "they begin anywhere";
  EXPECT_FALSE(stays(RowWork::kOneSum, 100000, 2, 512, true, RowAccess::kDense)) << "whole vectors";
  EXPECT_TRUE(stays(RowWork::kOneSum, 50001, 4, 32));
  EXPECT_TRUE(stays(RowWork::kOneSum, 40001, 4, 512));
  EXPECT_FALSE(stays(RowWork::kOneSum, 40001, 4, 511));
  EXPECT_FALSE(stays(RowWork::kOneSum, 6001, 4, 1024)) << "a block each";
  EXPECT_TRUE(stays(RowWork::kSoftmax, 100001, 2, 32));
  EXPECT_FALSE(stays(RowWork::kSoftmax, 80001, 2, 1024));
  EXPECT_TRUE(stays(RowWork::kSoftmax, 40001, 4, 512));
  EXPECT_FALSE(stays(RowWork::kSoftmax, 80001, 4, 512)) << "in shared memory";
  EXPECT_TRUE(stays(RowWork::kTwoInputs, 50001, 4, 32));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 40001, 4, 1024));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 100001, 2, 1024));
  for (const int element_bytes : {2, 4}) {
    EXPECT_FALSE(stays(RowWork::kMoments, 100001, element_bytes, 1024));
  }
  EXPECT_EQ(Tune(RowWork::kOneSum, 100001, 2, 512).ToString(),
            "160 threads x 80 bytes, 16 blocks a row, balanced, stays, asks 20 rows ahead");
}

TEST(RowStayingTest, ClustersStayForLongRowsOfTwoInputsInVectors) {
  const auto stays = [&](auto... arguments) { return Tune(arguments...).stays; };
  EXPECT_TRUE(stays(RowWork::kTwoInputs, 262144, 4, 96, true, RowAccess::kDense));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 262144, 4, 95, true, RowAccess::kDense));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 262144, 4, 512, false, RowAccess::kDense));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 262144, 4, 512, true, RowAccess::kPlain)) << "not one after another";
  EXPECT_TRUE(stays(RowWork::kTwoInputs, 163840, 2, 96, true, RowAccess::kDense));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 65536, 4, 512, true, RowAccess::kDense)) << "4 vectors a thread";
  EXPECT_FALSE(stays(RowWork::kOneSum, 262144, 4, 512, true, RowAccess::kDense));
}

/// Whatever stays has a kernel, and holds a row as others do.
TEST(RowStayingTest, RowsAreHeldAsByClustersThatDoNotStay) {
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax}) {
    for (const int element_bytes : {2, 4}) {
      for (std::int64_t width = 1001; width * element_bytes < 1000'000; width += 1022) {
        const RowTuning stays = Tune(work, width, element_bytes, 1024);
        const RowTuning usual = Tune(work, width, element_bytes, 1024, false);
        ASSERT_EQ(stays.threads, usual.threads) << width;
        ASSERT_EQ(stays.vectors, usual.vectors) << width;
        ASSERT_EQ(stays.cluster_blocks, usual.cluster_blocks) << width;
        ASSERT_FALSE(usual.stays);
        if (stays.stays) {
          ASSERT_TRUE(HasStayingClusters(work, element_bytes, stays.vectors)) << width;
          ASSERT_EQ(stays.vector_bytes, 4) << width;
          ASSERT_GT(stays.rows_ahead, 0) << width;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing

// Which clusters stay.
#include "kernels/primitives/row_staying.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_tunings_test.h"

namespace kernelwire::testing {
namespace {

TEST(RowStayingTest, ClustersStayForOddRowsOfLargeTensorsWhereMemoryIsFast) {
  const auto stays = [&](auto... arguments) { return Tune(arguments...).stays; };
  // From so many MiB on.
  const struct {
    RowWork work;
    std::int64_t width;
    int element_bytes;
    std::int64_t mib;
  } cases[] = {{RowWork::kOneSum, 100001, 2, 24},   {RowWork::kOneSum, 50001, 2, 48},
               {RowWork::kOneSum, 50001, 4, 12},    {RowWork::kOneSum, 20001, 4, 24},
               {RowWork::kSoftmax, 100001, 2, 24},  {RowWork::kSoftmax, 30001, 2, 24},
               {RowWork::kSoftmax, 40001, 4, 24},   {RowWork::kLogSoftmax, 85001, 4, 32},
               {RowWork::kTwoInputs, 50001, 4, 12}, {RowWork::kTwoInputs, 100001, 2, 12}};
  for (const auto& [work, width, element_bytes, mib] : cases) {
    EXPECT_TRUE(stays(work, width, element_bytes, mib)) << width;
    EXPECT_FALSE(stays(work, width, element_bytes, mib - 1)) << width;
  }
  EXPECT_FALSE(stays(RowWork::kOneSum, 100001, 2, 512, false));
  EXPECT_FALSE(stays(RowWork::kOneSum, 100001, 2, 512, true, RowAccess::kShifted)) << "they begin anywhere";
  EXPECT_TRUE(stays(RowWork::kOneSum, 100004, 2, 32, true, RowAccess::kTiled)) << "they end with half a vector";
  EXPECT_FALSE(stays(RowWork::kOneSum, 6001, 4, 1024)) << "a block each";
  for (const int element_bytes : {2, 4}) {
    EXPECT_FALSE(stays(RowWork::kMoments, 100001, element_bytes, 1024));
  }
  EXPECT_EQ(Tune(RowWork::kOneSum, 100001, 2, 512).ToString(),
            "160 threads x 80 bytes, 16 blocks a row, looking ahead, balanced, stays");
}

TEST(RowStayingTest, ClustersStayForLongRowsOfTwoInputsInVectors) {
  const auto stays = [&](auto... arguments) { return Tune(arguments...).stays; };
  EXPECT_TRUE(stays(RowWork::kTwoInputs, 163840, 2, 96, true, RowAccess::kDense));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 163840, 2, 95, true, RowAccess::kDense));
  EXPECT_TRUE(stays(RowWork::kTwoInputs, 81920, 4, 48, true, RowAccess::kMisaligned));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 81920, 4, 47, true, RowAccess::kMisaligned));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 163840, 2, 512, false, RowAccess::kDense));
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 163840, 2, 512, true, RowAccess::kPlain)) << "not one after another";
  EXPECT_FALSE(stays(RowWork::kTwoInputs, 65536, 4, 512, true, RowAccess::kDense)) << "4 vectors a thread";
}

TEST(RowStayingTest, ClustersStayAndLookAheadForLongRowsInVectorsOfLargeTensors) {
  const auto stays = [&](auto... arguments) {
    const RowTuning tuning = TuneVectors(arguments...);
    EXPECT_FALSE(tuning.keeps_parameters);
    return tuning.stays && tuning.looks_ahead;
  };
  EXPECT_TRUE(stays(RowWork::kOneSum, 256, 2, 48));
  EXPECT_FALSE(stays(RowWork::kOneSum, 256, 2, 47));
  EXPECT_TRUE(stays(RowWork::kOneSum, 260, 2, 96));
  EXPECT_FALSE(stays(RowWork::kOneSum, 260, 2, 95));
  EXPECT_FALSE(stays(RowWork::kOneSum, 256, 2, 512, false));
  EXPECT_FALSE(stays(RowWork::kOneSum, 256, 2, 512, true, RowAccess::kPlain)) << "not one after another";
  EXPECT_FALSE(stays(RowWork::kOneSum, 256, 8, 512)) << "8-byte elements";
  EXPECT_TRUE(stays(RowWork::kOneSum, 36, 2, 48));
  EXPECT_FALSE(stays(RowWork::kOneSum, 32, 2, 512));
  EXPECT_FALSE(stays(RowWork::kOneSum, 64, 4, 512));
  EXPECT_TRUE(stays(RowWork::kOneSum, 1024, 4, 48));
  EXPECT_TRUE(stays(RowWork::kOneSum, 384, 2, 512)) << "though a quarter of the multiprocessors have nothing to do";
  EXPECT_FALSE(stays(RowWork::kOneSum, 784, 2, 512)) << "so have as many, of a long row";
  EXPECT_FALSE(stays(RowWork::kSoftmax, 404, 2, 512)) << "a fifth has";
  EXPECT_TRUE(stays(RowWork::kSoftmax, 512, 2, 48));
  EXPECT_FALSE(stays(RowWork::kSoftmax, 512, 2, 47));
  EXPECT_TRUE(stays(RowWork::kSoftmax, 128, 2, 12));
  EXPECT_FALSE(stays(RowWork::kSoftmax, 128, 2, 11));
  EXPECT_FALSE(stays(RowWork::kSoftmax, 1024, 2, 512));
  EXPECT_TRUE(stays(RowWork::kSoftmax, 256, 4, 24));
  EXPECT_FALSE(stays(RowWork::kSoftmax, 256, 4, 23));
}

TEST(RowStayingTest, ClustersKeepTheParametersOfLayerNormInVectors) {
  const auto keeps = [&](auto... arguments) {
    const RowTuning tuning = TuneVectors(RowWork::kMoments, arguments...);
    EXPECT_FALSE(tuning.stays);
    return tuning.keeps_parameters && tuning.looks_ahead;
  };
  EXPECT_TRUE(keeps(256, 2, 48));
  EXPECT_FALSE(keeps(256, 2, 47));
  EXPECT_FALSE(keeps(256, 2, 512, false));
  EXPECT_FALSE(keeps(32, 2, 512));
  EXPECT_TRUE(keeps(36, 4, 512));
  EXPECT_FALSE(keeps(516, 2, 512));
  EXPECT_TRUE(keeps(1024, 4, 512));
  EXPECT_TRUE(keeps(640, 4, 512));
}

/// Rows that are moved in registers gain where others are as fast without.
TEST(RowStayingTest, ClustersStayForShorterRowsOfMisalignedTensors) {
  const auto stays = [&](RowWork work, std::int64_t row_kib, int element_bytes, std::int64_t mib, bool fast = true) {
    const RowTuning tuning = TuneVectors(work, row_kib, element_bytes, mib, fast, RowAccess::kMisaligned);
    return tuning.stays || tuning.keeps_parameters;
  };
  EXPECT_TRUE(stays(RowWork::kMoments, 16, 2, 32));
  EXPECT_FALSE(stays(RowWork::kMoments, 16, 2, 31));
  EXPECT_FALSE(stays(RowWork::kMoments, 16, 2, 512, false));
  EXPECT_TRUE(stays(RowWork::kMoments, 10, 2, 96));
  EXPECT_FALSE(stays(RowWork::kMoments, 10, 2, 95));
  EXPECT_FALSE(stays(RowWork::kMoments, 8, 2, 512));
  EXPECT_TRUE(stays(RowWork::kMoments, 26, 2, 512));
  EXPECT_TRUE(stays(RowWork::kMoments, 36, 4, 12));
  EXPECT_FALSE(stays(RowWork::kMoments, 36, 4, 11));
  EXPECT_FALSE(stays(RowWork::kMoments, 32, 4, 512));
  EXPECT_TRUE(stays(RowWork::kMoments, 784, 4, 32)) << "a quarter of the multiprocessors has nothing to do";
  EXPECT_TRUE(stays(RowWork::kSoftmax, 36, 4, 48));
  EXPECT_FALSE(stays(RowWork::kSoftmax, 36, 4, 47));
  EXPECT_FALSE(stays(RowWork::kSoftmax, 128, 4, 63));
  EXPECT_FALSE(stays(RowWork::kSoftmax, 32, 4, 512));
  EXPECT_TRUE(stays(RowWork::kOneSum, 36, 2, 96));
  EXPECT_FALSE(stays(RowWork::kOneSum, 36, 2, 95));
  EXPECT_FALSE(stays(RowWork::kOneSum, 64, 4, 512));
  EXPECT_TRUE(stays(RowWork::kOneSum, 196, 4, 128)) << "a fifth of the multiprocessors has nothing to do";
}

TEST(RowStayingTest, BlocksHaveShorterMisalignedRowsOfLayerNormToThemselves) {
  const auto tuned = [&](std::int64_t width) {
    return Tune(RowWork::kMoments, width, 2, 512, true, RowAccess::kMisaligned).ToString();
  };
  EXPECT_EQ(tuned(5120), "96 threads x 128 bytes, 1 blocks a row, looking ahead, keeps parameters");
  EXPECT_EQ(tuned(10240), "160 threads x 128 bytes, 1 blocks a row, looking ahead, keeps parameters");
  EXPECT_EQ(tuned(12288), "64 threads x 128 bytes, 3 blocks a row, looking ahead, balanced, keeps parameters");
}

/// Long odd rows are held as misaligned ones where clusters of them fill the device.
TEST(RowStayingTest, LongOddRowsAreMovedInVectorsWhereTheyFillTheDevice) {
  const auto moved = [&](RowWork work, std::int64_t width, int element_bytes) {
    return AreMovedInVectors(work, width * element_bytes, element_bytes);
  };
  for (const RowWork norm : {RowWork::kOneSum, RowWork::kTwoInputs}) {
    EXPECT_TRUE(moved(norm, 65535, 2));
    EXPECT_FALSE(moved(norm, 65536, 2)) << "whole vectors";
    EXPECT_FALSE(moved(norm, 57001, 2)) << "short";
    EXPECT_FALSE(moved(norm, 131073, 2)) << "a quarter of the multiprocessors would have nothing to do";
    EXPECT_TRUE(moved(norm, 114689, 2)) << "an eighth, but words have more to do for some lengths";
    EXPECT_FALSE(moved(norm, 153601, 2));
    EXPECT_TRUE(moved(norm, 229377, 2));
    EXPECT_TRUE(moved(norm, 262143, 2));
    EXPECT_TRUE(moved(norm, 65535, 4));
    EXPECT_FALSE(moved(norm, 262143, 4)) << "long";
  }
  EXPECT_TRUE(moved(RowWork::kSoftmax, 262143, 2));
  EXPECT_FALSE(moved(RowWork::kSoftmax, 240001, 2)) << "a quarter of the multiprocessors would have nothing to do";
  EXPECT_FALSE(moved(RowWork::kSoftmax, 131071, 2)) << "words, which stay as they lie";
  EXPECT_FALSE(moved(RowWork::kSoftmax, 131071, 4));
  EXPECT_TRUE(moved(RowWork::kSoftmax, 262143, 4)) << "words do not hold it";
  EXPECT_TRUE(moved(RowWork::kSoftmax, 200705, 4)) << "though a quarter of the multiprocessors has nothing to do";
  EXPECT_TRUE(moved(RowWork::kMoments, 262143, 2));
  EXPECT_FALSE(moved(RowWork::kMoments, 131071, 2));
  EXPECT_TRUE(moved(RowWork::kMoments, 200705, 4)) << "words do not hold it";
  EXPECT_FALSE(moved(RowWork::kMoments, 200001, 4));
  EXPECT_FALSE(moved(RowWork::kMoments, 65535, 4)) << "words, beside parameters";
  EXPECT_EQ(Tune(RowWork::kOneSum, 131071, 2, 512).ToString(),
            "256 threads x 128 bytes, 8 blocks a row, looking ahead, balanced, stays");
  EXPECT_EQ(Tune(RowWork::kOneSum, 131071, 2, 512, true, RowAccess::kShifted).vectors, 8);
}

/// Blocks of any of these ways hold the whole row, and are as many as a cluster may have.
TEST(RowStayingTest, ClustersThatStayHoldRowsInVectors) {
  for (const RowWork work :
       {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax, RowWork::kMoments, RowWork::kLogSoftmax}) {
    for (const int element_bytes : {2, 4}) {
      for (std::int64_t row_bytes = 4096; row_bytes <= (1 << 20); row_bytes += 1008) {
        for (const RowAccess access : {RowAccess::kDense, RowAccess::kMisaligned}) {
          const RowTuning tuning = Tune(work, row_bytes / element_bytes, element_bytes, 1024, true, access);
          if (!tuning.stays && !tuning.keeps_parameters) {
            continue;
          }
          const bool of_block = work == RowWork::kMoments && element_bytes == 2 && access == RowAccess::kMisaligned &&
                                row_bytes <= (20 << 10);
          ASSERT_EQ(tuning.cluster_blocks > 1, !of_block) << row_bytes;
          ASSERT_FALSE(tuning.in_shared) << row_bytes;
          ASSERT_LE(tuning.cluster_blocks, kMostBlocksOfRow) << row_bytes;
          ASSERT_LE(tuning.threads, tuning.vectors == 16 && !tuning.looks_ahead ? 256 : kMostThreadsOfRowBlock);
          ASSERT_GE(std::int64_t{16} * tuning.vectors * tuning.threads * tuning.cluster_blocks, row_bytes);
          ASSERT_LT(std::int64_t{16} * tuning.vectors * tuning.threads * (tuning.cluster_blocks - 1), row_bytes);
        }
      }
    }
  }
}

TEST(RowStayingTest, BlocksAreAsManyAsKeepMultiprocessorsBusy) {
  EXPECT_EQ(TuneVectors(RowWork::kMoments, 256, 2, 512).ToString(),
            "128 threads x 128 bytes, 16 blocks a row, looking ahead, balanced, reads much, keeps parameters");
  EXPECT_EQ(TuneVectors(RowWork::kOneSum, 256, 2, 512).ToString(),
            "256 threads x 128 bytes, 8 blocks a row, looking ahead, balanced, reads much, stays");
  EXPECT_EQ(TuneVectors(RowWork::kSoftmax, 320, 2, 512).ToString(),
            "160 threads x 128 bytes, 16 blocks a row, looking ahead, balanced, reads much, stays");
  EXPECT_EQ(TuneVectors(RowWork::kSoftmax, 1024, 4, 512).ToString(),
            "256 threads x 256 bytes, 16 blocks a row, looking ahead, balanced, reads much, stays");
  EXPECT_EQ(TuneVectors(RowWork::kMoments, 552, 4, 512).ToString(),
            "160 threads x 256 bytes, 14 blocks a row, looking ahead, balanced, reads much, keeps parameters");
  EXPECT_EQ(TuneVectors(RowWork::kMoments, 768, 4, 512).ToString(),
            "192 threads x 256 bytes, 16 blocks a row, looking ahead, balanced, reads much, keeps parameters");
  EXPECT_EQ(TuneVectors(RowWork::kTwoInputs, 704, 4, 512).ToString(),
            "192 threads x 256 bytes, 15 blocks a row, looking ahead, balanced, reads much, stays");
}

/// Whatever stays has a kernel, and holds a row as others do.
TEST(RowStayingTest, RowsAreHeldAsByClustersThatDoNotStay) {
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax}) {
    for (const int element_bytes : {2, 4}) {
      for (std::int64_t width = 1001; width * element_bytes < 1000'000; width += 1022) {
        if (AreMovedInVectors(work, width * element_bytes, element_bytes)) {
          continue;
        }
        const RowTuning stays = Tune(work, width, element_bytes, 1024);
        const RowTuning usual = Tune(work, width, element_bytes, 1024, false);
        ASSERT_EQ(stays.threads, usual.threads) << width;
        ASSERT_EQ(stays.vectors, usual.vectors) << width;
        ASSERT_EQ(stays.cluster_blocks, usual.cluster_blocks) << width;
        ASSERT_FALSE(usual.stays);
        if (stays.stays) {
          ASSERT_TRUE(HasStayingClusters(work, element_bytes, stays.vectors)) << width;
          ASSERT_EQ(stays.vector_bytes, 4) << width;
          ASSERT_TRUE(stays.looks_ahead) << width;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing

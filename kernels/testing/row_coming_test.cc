// Which rows are on their way to shared memory (row_staged.cuh) while registers have the one before.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_tunings_test.h"

namespace kernelwire::testing {
namespace {

/// Rows that registers would hold once for a group of multiprocessors, or leave some of these idle.
TEST(RowComingTest, RowsAreOnTheirWayToSharedMemoryWhereRegistersHoldTooFew) {
  const auto staged = [&](RowWork work, std::int64_t row_kib, int element_bytes, std::int64_t mib,
                          RowAccess access = RowAccess::kDense, bool fast = true) {
    const RowTuning tuning = TuneVectors(work, row_kib, element_bytes, mib, fast, access);
    EXPECT_LE(tuning.cluster_blocks, kMostBlocksOfRow);
    return tuning.vectors == 16 && tuning.looks_ahead && (tuning.stays || tuning.keeps_parameters);
  };
  for (const RowWork work : {RowWork::kSoftmax, RowWork::kLogSoftmax}) {
    EXPECT_TRUE(staged(work, 516, 4, 48));
    EXPECT_TRUE(staged(work, 1024, 4, 512));
    EXPECT_TRUE(staged(work, 352, 4, 512)) << "a third of the multiprocessors would have nothing to do";
    EXPECT_FALSE(staged(work, 512, 4, 512));
    EXPECT_FALSE(staged(work, 516, 4, 47));
    EXPECT_FALSE(staged(work, 516, 4, 512, RowAccess::kDense, false));
    EXPECT_FALSE(staged(work, 516, 2, 512));
    EXPECT_TRUE(staged(work, 176, 4, 48, RowAccess::kMisaligned));
    EXPECT_FALSE(staged(work, 512, 4, 512, RowAccess::kMisaligned)) << "registers hold two";
    EXPECT_TRUE(staged(work, 1020, 4, 512, RowAccess::kMisaligned));
  }
  EXPECT_TRUE(staged(RowWork::kOneSum, 516, 4, 96));
  EXPECT_FALSE(staged(RowWork::kOneSum, 516, 4, 95));
  EXPECT_FALSE(staged(RowWork::kOneSum, 1024, 4, 512)) << "registers have enough of it on its way";
  EXPECT_FALSE(staged(RowWork::kOneSum, 516, 4, 512, RowAccess::kMisaligned));
  EXPECT_FALSE(staged(RowWork::kOneSum, 352, 2, 512));
  EXPECT_TRUE(staged(RowWork::kOneSum, 352, 2, 384, RowAccess::kMisaligned));
  EXPECT_FALSE(staged(RowWork::kOneSum, 352, 2, 383, RowAccess::kMisaligned));
  EXPECT_TRUE(staged(RowWork::kTwoInputs, 1024, 4, 48));
  EXPECT_FALSE(staged(RowWork::kTwoInputs, 512, 4, 512));
  EXPECT_FALSE(staged(RowWork::kTwoInputs, 1024, 4, 512, RowAccess::kMisaligned));
  EXPECT_TRUE(staged(RowWork::kMoments, 576, 4, 48));
  EXPECT_TRUE(staged(RowWork::kMoments, 768, 4, 48)) << "weights in registers";
  EXPECT_FALSE(staged(RowWork::kMoments, 772, 4, 119));
  EXPECT_TRUE(staged(RowWork::kMoments, 880, 4, 120));
  EXPECT_FALSE(staged(RowWork::kMoments, 884, 4, 512)) << "no room for what it keeps";
  EXPECT_FALSE(staged(RowWork::kMoments, 576, 4, 512, RowAccess::kMisaligned));
}

/// 16-bit rows that registers hold twice, but not beside the next ones.
TEST(RowComingTest, RowsOf16BitsAreOnTheirWayInEightVectors) {
  const auto staged = [&](RowWork work, std::int64_t row_kib, std::int64_t mib, RowAccess access = RowAccess::kDense,
                          bool fast = true) {
    const RowTuning tuning = TuneVectors(work, row_kib, 2, mib, fast, access);
    return tuning.stays && tuning.looks_ahead && !tuning.roomy && tuning.vectors == 8;
  };
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax, RowWork::kLogSoftmax}) {
    EXPECT_TRUE(staged(work, 516, 48));
    EXPECT_TRUE(staged(work, 768, 512));
    EXPECT_FALSE(staged(work, 512, 512));
    EXPECT_FALSE(staged(work, 772, 512)) << "registers hold one";
    EXPECT_FALSE(staged(work, 516, 47));
    EXPECT_FALSE(staged(work, 516, 512, RowAccess::kMisaligned));
    EXPECT_FALSE(staged(work, 516, 512, RowAccess::kDense, false));
  }
  EXPECT_FALSE(staged(RowWork::kMoments, 516, 512));
}

/// Shorter ones where clusters that look ahead leave many more multiprocessors idle: by blocks that keep the most of
/// them busy.
TEST(RowComingTest, RowsComeInEightVectorsWhereFewClustersWouldLookAhead) {
  struct Expected {
    RowWork work;
    std::int64_t width;
    int element_bytes;
    RowAccess access;
    std::int64_t from_mib;
    int threads;
    int blocks;
  };
  constexpr RowAccess kDense = RowAccess::kDense;
  constexpr RowAccess kMisaligned = RowAccess::kMisaligned;
  for (const Expected& its : {Expected{RowWork::kSoftmax, 100000, 2, kDense, 56, 128, 13},
                              Expected{RowWork::kSoftmax, 140000, 2, kDense, 56, 160, 14},
                              Expected{RowWork::kSoftmax, 200064, 2, kDense, 96, 320, 10},
                              Expected{RowWork::kSoftmax, 200064, 2, kMisaligned, 96, 320, 10},
                              Expected{RowWork::kLogSoftmax, 190000, 2, kDense, 96, 192, 16},
                              Expected{RowWork::kOneSum, 202048, 2, kDense, 96, 320, 10},
                              Expected{RowWork::kMoments, 100000, 2, kDense, 48, 320, 5},
                              Expected{RowWork::kMoments, 170000, 2, kDense, 48, 192, 14},
                              Expected{RowWork::kMoments, 50000, 4, kMisaligned, 12, 128, 13},
                              Expected{RowWork::kMoments, 110000, 4, kMisaligned, 12, 224, 16},
                              Expected{RowWork::kMoments, 140000, 4, kMisaligned, 12, 288, 16},
                              Expected{RowWork::kTwoInputs, 100004, 4, kMisaligned, 48, 224, 14},
                              Expected{RowWork::kTwoInputs, 160000, 4, kMisaligned, 48, 320, 16}}) {
    const RowTuning tuning = Tune(its.work, its.width, its.element_bytes, its.from_mib, true, its.access);
    SCOPED_TRACE(std::to_string(its.width) + ": " + tuning.ToString());
    const auto are_staged = [](const RowTuning& one) {
      return one.vectors == 8 && one.looks_ahead && !one.roomy && (one.stays || one.keeps_parameters);
    };
    EXPECT_TRUE(are_staged(tuning));
    EXPECT_EQ(tuning.threads, its.threads);
    EXPECT_EQ(tuning.cluster_blocks, its.blocks);
    EXPECT_FALSE(are_staged(Tune(its.work, its.width, its.element_bytes, its.from_mib - 1, true, its.access)));
    EXPECT_FALSE(are_staged(Tune(its.work, its.width, its.element_bytes, 512, false, its.access))) << "slow memory";
  }
}

/// As many do where rows would not be more at a time.
TEST(RowComingTest, RowsAreLookedAheadToWhereMultiprocessorsAreBusy) {
  for (const RowWork work : {RowWork::kSoftmax, RowWork::kLogSoftmax, RowWork::kOneSum, RowWork::kMoments}) {
    for (const std::int64_t width : {65536, 131072, 220000, 262144}) {
      EXPECT_TRUE(Tune(work, width, 2, 512, true, RowAccess::kDense).roomy) << width;
    }
    EXPECT_TRUE(Tune(work, 65536, 4, 512, true, RowAccess::kMisaligned).roomy);
  }
}

}  // namespace
}  // namespace kernelwire::testing

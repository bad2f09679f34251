// How rows are held that lanes of a warp share, or that threads have to themselves: row_tuning.h.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/tile_bytes.h"

namespace kernelwire::testing {
namespace {

TEST(LaneTuningTest, ShortRowsHaveAThreadEachAndManyOfThemTakeTurns) {
  const RowDevice device{true, 227 << 10};
  for (const int element_bytes : {2, 4}) {
    for (std::int64_t row_bytes = element_bytes; row_bytes < 64; row_bytes += element_bytes) {
      const RowTuning few = TuneRows(RowWork::kSoftmax, row_bytes, 1000, element_bytes, RowAccess::kOdd, device);
      const RowTuning many = TuneRows(RowWork::kSoftmax, row_bytes, 10000000, element_bytes, RowAccess::kOdd, device);
      SCOPED_TRACE(std::to_string(row_bytes) + " bytes: " + many.ToString());
      EXPECT_EQ(few.threads, 1);
      EXPECT_EQ(few.turns, 1);
      EXPECT_GT((many.turns + 1) * many.rows_of_block * row_bytes, kTileBytes) << "tiles are full";
    }
    EXPECT_GT(TuneRows(RowWork::kSoftmax, 64, 1000, element_bytes, RowAccess::kDense, device).threads, 1);
  }
}

TEST(LaneTuningTest, ShortRowsPassThroughATileWhereMemoryIsFast) {
  constexpr std::int64_t kMany = 1000000;
  const auto in_tile = [](RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool fast) {
    return TuneRows(work, row_bytes, rows, element_bytes, RowAccess::kDense, {true, 227 << 10, fast}).in_tile;
  };
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax, RowWork::kMoments}) {
    const bool of_moments = work == RowWork::kMoments;
    for (const int element_bytes : {2, 4}) {
      EXPECT_TRUE(in_tile(work, 400, kMany, element_bytes, true));
      EXPECT_TRUE(in_tile(work, 144, kMany, element_bytes, true));
      EXPECT_TRUE(in_tile(work, 256, kMany, element_bytes, true)) << "whole lines";
      EXPECT_FALSE(in_tile(work, 512, kMany, element_bytes, true)) << "whole lines, of 8 lanes";
      EXPECT_FALSE(in_tile(work, 400, kMany, element_bytes, false));
      EXPECT_FALSE(in_tile(work, 128, kMany, element_bytes, true));
      EXPECT_FALSE(in_tile(work, 528, kMany, element_bytes, true));
      EXPECT_FALSE(in_tile(work, 400, 1000, element_bytes, true));
      EXPECT_EQ(in_tile(work, 320, kMany, element_bytes, true), !of_moments) << "little of 3 vectors, and busy";
      EXPECT_EQ(in_tile(work, 240, 42000, element_bytes, true), !of_moments) << "a smaller tensor";
      EXPECT_EQ(in_tile(work, 400, 25000, element_bytes, true), work == RowWork::kTwoInputs) << "the same, of 8 lanes";
      EXPECT_EQ(in_tile(work, 256, 170000, element_bytes, true), !of_moments) << "a smaller one, of whole lines";
    }
  }
}

TEST(LaneTuningTest, TwoLanesShareRowsOfLessThanALine) {
  constexpr std::int64_t kMany = 1000000;
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax, RowWork::kMoments}) {
    for (std::int64_t row_bytes = 64; row_bytes <= 128; row_bytes += 8) {
      const RowAccess access = row_bytes % 16 == 0 ? RowAccess::kDense : RowAccess::kTiled;
      for (const bool fast : {false, true}) {
        const RowDevice device{true, 227 << 10, fast};
        const RowTuning many = TuneRows(work, row_bytes, kMany, 2, access, device);
        SCOPED_TRACE(std::to_string(row_bytes) + " bytes: " + many.ToString());
        EXPECT_EQ(many.threads, row_bytes < 128 ? 2 : 4);
        EXPECT_EQ(many.in_tile, row_bytes > 64 && row_bytes < 128);
        EXPECT_EQ(TuneRows(work, row_bytes, 1000, 2, RowAccess::kDense, device).in_tile, false) << "few";
        EXPECT_EQ(TuneRows(work, row_bytes, kMany, 8, RowAccess::kPlain, device).threads, 4) << "FP64";
      }
    }
  }
}

TEST(LaneTuningTest, LanesOfLayerNormThatHoldLittleHaveTwoRows) {
  const auto turns = [](std::int64_t row_bytes, std::int64_t mib) {
    const RowDevice fast{true, 227 << 10, true};
    return TuneRows(RowWork::kMoments, row_bytes, (mib << 20) / row_bytes, 2, RowAccess::kDense, fast).turns;
  };
  EXPECT_EQ(turns(128, 512), 2);
  EXPECT_EQ(turns(128, 128), 1);
  EXPECT_EQ(turns(272, 128), 2) << "17 vectors, of 24";
  EXPECT_EQ(turns(320, 128), 2) << "20";
  EXPECT_EQ(turns(320, 32), 1) << "of a smaller tensor";
  EXPECT_EQ(turns(384, 512), 1);
  EXPECT_EQ(turns(1040, 512), 2);
  EXPECT_EQ(turns(2048, 512), 1);
}

/// Blocks of one input are started no faster than an H200 moves 2.5 KiB.
TEST(LaneTuningTest, BlocksThatHaveLittleHaveTwoRowsAfterOneAnother) {
  const auto turns = [](RowWork work, std::int64_t row_bytes, std::int64_t mib, bool fast = true,
                        RowAccess access = RowAccess::kDense) {
    return TuneRows(work, row_bytes, (mib << 20) / row_bytes, 4, access, {true, 227 << 10, fast}).turns;
  };
  for (const RowWork work : {RowWork::kOneSum, RowWork::kSoftmax, RowWork::kMoments}) {
    for (const std::int64_t row_bytes : {528, 1040, 2064}) {
      EXPECT_EQ(turns(work, row_bytes, 512), 2) << row_bytes;
      EXPECT_EQ(turns(work, row_bytes, 25), 2) << row_bytes;
      EXPECT_EQ(turns(work, row_bytes, 20), 1) << row_bytes;
      EXPECT_EQ(turns(work, row_bytes, 512, true, RowAccess::kMisaligned), 2) << row_bytes;
      EXPECT_EQ(turns(work, row_bytes, 25, false), 1) << row_bytes;
    }
    const bool has_five = work == RowWork::kSoftmax;  // vectors a thread
    EXPECT_EQ(turns(work, 2560, 400), 2);
    EXPECT_EQ(turns(work, 2560, 100), has_five ? 1 : 2);
    EXPECT_EQ(turns(work, 2560, 90), 1);
    EXPECT_EQ(turns(work, 2304, 100), 2);
    EXPECT_EQ(turns(work, 2304, 25), has_five ? 1 : 2);
    EXPECT_EQ(turns(work, 3072, 512), 1);
    EXPECT_EQ(turns(work, 4112, 512), has_five ? 1 : 2) << "a third of what threads have room for is empty";
    EXPECT_EQ(turns(work, 8208, 512), 1);
  }
  EXPECT_EQ(turns(RowWork::kTwoInputs, 1040, 512), 1) << "twice as much";
}

TEST(LaneTuningTest, OddShortRowsPassThroughATileWhereMemoryIsFast) {
  const auto in_tile = [](RowWork work, std::int64_t width, int element_bytes, std::int64_t mib, bool fast,
                          RowAccess access = RowAccess::kOdd) {
    const std::int64_t row_bytes = width * element_bytes;
    const std::int64_t rows = ((mib << 20) + row_bytes - 1) / row_bytes;
    return TuneRows(work, row_bytes, rows, element_bytes, access, {true, 227 << 10, fast}).in_tile;
  };
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax, RowWork::kMoments}) {
    EXPECT_TRUE(in_tile(work, 151, 2, 512, true));
    EXPECT_TRUE(in_tile(work, 151, 2, 32, true));
    EXPECT_FALSE(in_tile(work, 151, 2, 16, true));
    EXPECT_FALSE(in_tile(work, 151, 2, 512, false));
    EXPECT_FALSE(in_tile(work, 151, 2, 512, true, RowAccess::kShifted)) << "they begin anywhere";
    EXPECT_FALSE(in_tile(work, 151, 4, 512, true));
    EXPECT_EQ(in_tile(work, 401, 2, 512, true), work != RowWork::kMoments);
    EXPECT_FALSE(in_tile(work, 401, 2, 32, true));
    EXPECT_FALSE(in_tile(work, 513, 2, 512, true)) << "a warp each";
  }
}

/// RowWords asks for no condition where a lane's word is sure to be a row's: no shorter row has the same shape.
TEST(LaneTuningTest, WordsThatAreNotTheLastAreWhole) {
  const RowDevice device{true, 227 << 10};
  for (const int element_bytes : {2, 4}) {
    const WordShapes& shapes = WordShapesOf(element_bytes);
    for (std::int64_t row_bytes = element_bytes; row_bytes <= shapes.LongestRow(); row_bytes += element_bytes) {
      if (!AreHeldInWords(row_bytes, element_bytes)) {
        continue;
      }
      const RowTuning tuning = TuneRows(RowWork::kOneSum, row_bytes, 1, element_bytes, RowAccess::kPlain, device);
      SCOPED_TRACE(std::to_string(row_bytes) + " bytes: " + tuning.ToString());
      ASSERT_EQ(tuning.method, RowTuning::Method::kLanes);
      int shape = 0;
      while (shapes.by_length[shape].lanes != tuning.threads || shapes.by_length[shape].words != tuning.vectors) {
        ASSERT_LT(++shape, shapes.count);
      }
      ASSERT_GE(row_bytes, std::int64_t{4} * tuning.threads * FirstWordThatEnds(shapes, shape));
      ASSERT_LT(FirstWordThatEnds(shapes, shape), tuning.vectors);
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing

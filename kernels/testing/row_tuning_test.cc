// Which threads a row is shared by: an order that follows from its bytes, whatever else there is.
#include "kernels/primitives/row_tuning.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/tile_bytes.h"

namespace kernelwire::testing {
namespace {

/// What row_group.cuh asks of a tuning of rows of `row_bytes`, and what lanes must have alike however many there are.
void ExpectOrderFollowsFromBytes(RowWork work, std::int64_t row_bytes, int element_bytes, const RowDevice& device) {
  const RowTuning alone = TuneRows(work, row_bytes, 1, element_bytes, RowAccess::kDense, device);
  for (const RowAccess access : {RowAccess::kShifted, RowAccess::kMisaligned, RowAccess::kPlain, RowAccess::kDense,
                                 RowAccess::kTiled, RowAccess::kOdd}) {
    const bool plain = InVectors(access);
    for (const std::int64_t rows : {1, 30, 1000, 1000000}) {
      const RowTuning tuning = TuneRows(work, row_bytes, rows, element_bytes, access, device);
      SCOPED_TRACE(std::to_string(row_bytes) + " bytes, " + std::to_string(rows) + " rows: " + tuning.ToString());
      const bool streamed = tuning.method == RowTuning::Method::kStream;
      ASSERT_EQ(tuning.method, alone.method);
      const bool in_words = !streamed && tuning.vector_bytes == 4;
      const bool moved = device.clusters && AreMovedInVectors(work, row_bytes, element_bytes);
      ASSERT_TRUE(streamed || in_words == (AreHeldInWords(row_bytes, element_bytes) && !moved));
      if (tuning.method == RowTuning::Method::kLanes || in_words) {
        ASSERT_EQ(tuning.threads, alone.threads);
        ASSERT_EQ(tuning.vectors, alone.vectors);
        ASSERT_EQ(tuning.cluster_blocks, alone.cluster_blocks);
        // RowVectors::kFirstThatEnds.
        ASSERT_TRUE(tuning.vector_bytes == 4 || tuning.vectors < 3 ||
                    row_bytes > std::int64_t{16} * tuning.threads * (tuning.vectors - 1));
      }
      if (!streamed) {
        const std::int64_t of_block = std::int64_t{tuning.threads} * tuning.vectors * tuning.vector_bytes;
        ASSERT_GE(of_block * tuning.cluster_blocks, row_bytes);
      }
      // There are kernels of few operators for shares in shared memory, which has room for them beside what blocks tell
      // each other.
      ASSERT_TRUE(!tuning.in_shared || ((in_words || !plain) && device.clusters));
      ASSERT_TRUE(!tuning.in_shared ||
                  (in_words ? !AreNorms(work) : tuning.vectors <= MostVectorsInShared(work, element_bytes)));
      const int words = tuning.vectors * tuning.vector_bytes / 4;
      const std::size_t shares = work == RowWork::kTwoInputs ? 2 : 1;
      ASSERT_TRUE(!tuning.in_shared || shares * BytesOfShare(static_cast<unsigned>(tuning.threads), words) + 4096 <=
                                           static_cast<std::size_t>(device.shared_bytes));
      // Rows that are not plain, two of them and half a result, pass through shared memory; words do not.
      if (!plain && tuning.method == RowTuning::Method::kBlocks && !in_words && !tuning.in_shared) {
        const std::int64_t of_block = std::int64_t{tuning.threads / 32} * tuning.vectors / 4 * 129 * 16;
        ASSERT_LE(of_block * 5 / 2 + 1024, device.shared_bytes);
      }
      const bool small = HasSmallBlocks(work, access) && tuning.vector_bytes == 16 && tuning.vectors == 4;
      ASSERT_LE(tuning.threads, small && !streamed ? kMostThreadsOfSmallBlock : kMostThreadsOfRowBlock);
      // RowShape::BlockThreads.
      if (tuning.method == RowTuning::Method::kBlocks && !in_words) {
        const bool large = tuning.vectors >= 8 ? tuning.roomy : plain;
        const bool in_eight = (tuning.stays || tuning.keeps_parameters) && tuning.looks_ahead && !tuning.roomy;
        const bool of_largest = plain && work != RowWork::kMoments;
        ASSERT_LE(tuning.threads, large        ? kMostThreadsOfRowBlock
                                  : !in_eight  ? 256
                                  : of_largest ? kMostThreadsOfStagedEight
                                               : kThreadsOfStagedEight);
      }
      ASSERT_TRUE(in_words || tuning.method != RowTuning::Method::kBlocks || !AreOfWarp(tuning.vectors) ||
                  (element_bytes <= 4 && tuning.threads == 32 && tuning.cluster_blocks == 1 &&
                   (access == RowAccess::kMisaligned || AreOfPlainWarp(work, element_bytes, tuning.vectors))))
          << "has no kernel";
      // Rows that begin anywhere have no kernels that read much, and where little is read those are slower.
      ASSERT_TRUE(!tuning.reads_much || ((plain || streamed) && row_bytes * rows >= std::int64_t{16} << 20));
      ASSERT_TRUE(!tuning.balanced || (tuning.cluster_blocks > 2 && row_bytes * rows >= std::int64_t{12} << 20));
      ASSERT_LE(tuning.cluster_blocks, device.clusters ? 16 : 1);
      ASSERT_GE(tuning.turns, 1);
      const bool of_blocks = tuning.method == RowTuning::Method::kBlocks && !tuning.keeps_parameters;
      ASSERT_TRUE(tuning.turns == 1 || rows > 1000);
      ASSERT_TRUE(tuning.turns == 1 || !of_blocks || (tuning.cluster_blocks == 1 && !tuning.looks_ahead));
      // What is asked for ahead is what another block begins with.
      ASSERT_EQ(tuning.rows_ahead % tuning.rows_of_block, 0);
      ASSERT_TRUE(tuning.rows_ahead == 0 ||
                  (row_bytes * rows * 2 > std::int64_t{16} << 20 && !tuning.looks_ahead && !tuning.roomy));
      // A block's rows lie in its tile together. (Of rows in words they are what the kernel's own tile has room for.)
      ASSERT_TRUE(!tuning.in_tile || tuning.method == RowTuning::Method::kLanes);
      if (tuning.in_tile && in_words) {
        ASSERT_TRUE(HasTileOfWords(work, element_bytes, tuning.threads, tuning.vectors));
        ASSERT_EQ(tuning.threads * tuning.rows_of_block, kBlockThreadsOfTiledWords);
        ASSERT_EQ(tuning.turns, kTurnsOfTiledWords);
      } else if (tuning.in_tile || tuning.threads == 1) {
        ASSERT_TRUE(tuning.threads == 1 || tuning.turns == 1);
        ASSERT_LE(tuning.turns * tuning.rows_of_block * row_bytes, kTileBytes);
      }
      // There are kernels for it in the usual launch.
      ASSERT_TRUE(
          !tuning.in_tile || access == RowAccess::kTiled ||
          (access == (in_words ? RowAccess::kOdd : RowAccess::kDense) && (device.fast_memory || tuning.threads == 2)));
      // RowVectors::kFirstThatEnds.
      ASSERT_TRUE(in_words || tuning.method != RowTuning::Method::kLanes || tuning.vectors != 2 || element_bytes > 4 ||
                  row_bytes == std::int64_t{32} * tuning.threads);
    }
  }
}

TEST(RowTuningTest, HoldsEveryRowInAnOrderThatFollowsFromItsBytes) {
  // Compute capability 7.5, 8.6, 8.0 and 9.0, with memory of either kind.
  constexpr RowDevice kDevices[] = {
      {false, 64 << 10}, {false, 99 << 10}, {false, 163 << 10}, {true, 227 << 10}, {true, 227 << 10, true}};
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax, RowWork::kMoments}) {
    for (std::int64_t row_bytes = 2; row_bytes <= kLongestHeldRow + 4096; row_bytes += row_bytes < 4096 ? 2 : 1022) {
      for (const RowDevice& device : kDevices) {
        for (int element_bytes = 2; row_bytes % element_bytes == 0 && element_bytes <= 8; element_bytes *= 2) {
          ASSERT_NO_FATAL_FAILURE(ExpectOrderFollowsFromBytes(work, row_bytes, element_bytes, device));
        }
      }
    }
  }
}

/// A misaligned row of one input that is longer than a stretch is a warp's if one can have it, with as few vectors as
/// do.
TEST(RowTuningTest, WarpsHaveShortMisalignedRows) {
  const RowDevice device{true, 227 << 10, true};
  for (const RowWork work : {RowWork::kOneSum, RowWork::kSoftmax, RowWork::kMoments}) {
    for (const int element_bytes : {2, 4}) {
      for (std::int64_t row_bytes = 2064; row_bytes <= 6144; row_bytes += 16) {
        if (row_bytes > 3072 && row_bytes <= 4096) {
          continue;  // 8 vectors, of which others have kernels, too
        }
        for (const std::int64_t mib : {8, 512}) {
          const RowTuning tuning =
              TuneRows(work, row_bytes, (mib << 20) / row_bytes, element_bytes, RowAccess::kMisaligned, device);
          SCOPED_TRACE(std::to_string(row_bytes) + " bytes: " + tuning.ToString());
          ASSERT_TRUE(tuning.threads == 32 && tuning.cluster_blocks == 1);
          ASSERT_EQ(tuning.vectors, row_bytes <= 2560 ? 5 : row_bytes <= 3072 ? 6 : row_bytes <= 5120 ? 10 : 12);
          ASSERT_TRUE(AreOfWarp(tuning.vectors));
        }
      }
    }
  }
  EXPECT_EQ(TuneRows(RowWork::kTwoInputs, 2560, 100000, 2, RowAccess::kMisaligned, device).vectors, 8);
  EXPECT_EQ(TuneRows(RowWork::kMoments, 4096, 100000, 2, RowAccess::kMisaligned, device).vectors, 8);
  EXPECT_EQ(TuneRows(RowWork::kMoments, 2560, 100000, 2, RowAccess::kMisaligned, {false, 99 << 10}).vectors, 4);
}

/// The same of rows of whole vectors, where there are kernels.
TEST(RowTuningTest, WarpsHaveShortPlainRowsThatGain) {
  const RowDevice device{true, 227 << 10, true};
  const auto vectors = [&](RowWork work, std::int64_t row_bytes, int element_bytes, std::int64_t mib) {
    const RowTuning tuning =
        TuneRows(work, row_bytes, (mib << 20) / row_bytes, element_bytes, RowAccess::kDense, device);
    return tuning.threads == 32 ? tuning.vectors : 0;
  };
  for (const std::int64_t mib : {8, 25, 512}) {
    EXPECT_EQ(vectors(RowWork::kOneSum, 2560, 2, mib), 5) << mib;
    EXPECT_EQ(vectors(RowWork::kMoments, 2064, 2, mib), 5) << mib;
    EXPECT_EQ(vectors(RowWork::kSoftmax, 2064, 2, mib), 5) << mib;
    EXPECT_EQ(vectors(RowWork::kSoftmax, 2576, 2, mib), 6) << mib;
    EXPECT_EQ(vectors(RowWork::kSoftmax, 2560, 4, mib), 5) << mib;
    EXPECT_EQ(vectors(RowWork::kSoftmax, 3072, 4, mib), 6) << mib;
  }
  EXPECT_EQ(vectors(RowWork::kMoments, 4112, 2, 25), 10);
  EXPECT_EQ(vectors(RowWork::kMoments, 5120, 2, 512), 10);
  EXPECT_EQ(vectors(RowWork::kSoftmax, 4112, 4, 512), 10);
}

TEST(RowTuningTest, AWarpHasRowsOfLayerNormThatLeaveMuchOfTwoEmpty) {
  const auto threads = [](std::int64_t row_bytes, std::int64_t mib, int element_bytes, bool fast = true) {
    const RowDevice device{true, 227 << 10, fast};
    const std::int64_t rows = (mib << 20) / row_bytes;
    return TuneRows(RowWork::kMoments, row_bytes, rows, element_bytes, RowAccess::kDense, device).threads;
  };
  EXPECT_EQ(threads(2064, 512, 4), 32);
  EXPECT_EQ(threads(2064, 25, 4), 32);
  EXPECT_EQ(threads(2064, 20, 4), 64);
  EXPECT_EQ(threads(3584, 25, 2), 32);
  EXPECT_EQ(threads(3584, 25, 4), 64);
  EXPECT_EQ(threads(2064, 25, 4, false), 64);
}

void ExpectKernelOfWords(RowWork work, int element_bytes, const RowTuning& tuning) {
  SCOPED_TRACE(tuning.ToString());
  if (tuning.in_shared) {
    ASSERT_EQ(element_bytes, 4);
    const BlockWords& its = kSharesInShared[tuning.vectors == kSharesInShared[0].words ? 0 : 1];
    ASSERT_EQ(tuning.vectors, its.words);
    ASSERT_LE(tuning.threads, its.threads);
    return;
  }
  const BlockWordShapes& shapes = WordsOfBlocks(work);
  int shape = 0;
  while (shapes.by_words[shape].words != tuning.vectors || shapes.by_words[shape].threads < tuning.threads) {
    ASSERT_LT(++shape, CountOfWords(work, element_bytes));
  }
}

/// There is a kernel for so many words a thread, and as many threads.
TEST(RowTuningTest, BlocksOfWordsHaveKernels) {
  for (const bool clusters : {false, true}) {
    const RowDevice device{clusters, 227 << 10};
    for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kSoftmax, RowWork::kMoments}) {
      for (const int element_bytes : {2, 4}) {
        for (std::int64_t row_bytes = 5124; row_bytes <= device.LongestHeldRowBytes(row_bytes, element_bytes);
             row_bytes += 508) {
          for (const std::int64_t rows : {1, 100000}) {
            const RowTuning tuning = TuneRows(work, row_bytes, rows, element_bytes, RowAccess::kPlain, device);
            const bool moved = clusters && AreMovedInVectors(work, row_bytes, element_bytes);
            ASSERT_EQ(tuning.vector_bytes, row_bytes % 16 == 0 || moved ? 16 : 4) << row_bytes;
            if (tuning.vector_bytes == 4) {
              ASSERT_NO_FATAL_FAILURE(ExpectKernelOfWords(work, element_bytes, tuning)) << row_bytes;
            }
          }
        }
      }
    }
  }
}

/// add_rms_norm's y is rms_norm's of the sum, so rows must be held alike.
TEST(RowTuningTest, NormsHoldRowsAlike) {
  const RowDevice device{true, 227 << 10};
  for (const int element_bytes : {2, 4}) {
    for (std::int64_t row_bytes = element_bytes; row_bytes <= kLongestHeldRow;
         row_bytes += row_bytes < 8192 ? element_bytes : 510) {
      const RowTuning one = TuneRows(RowWork::kOneSum, row_bytes, 1, element_bytes, RowAccess::kPlain, device);
      const RowTuning two = TuneRows(RowWork::kTwoInputs, row_bytes, 1, element_bytes, RowAccess::kPlain, device);
      ASSERT_EQ(one.vector_bytes, two.vector_bytes) << row_bytes;
      if (one.vector_bytes == 4) {
        ASSERT_EQ(one.threads, two.threads) << row_bytes;
        ASSERT_EQ(one.vectors, two.vectors) << row_bytes;
        ASSERT_EQ(one.cluster_blocks, two.cluster_blocks) << row_bytes;
      }
    }
  }
}

/// Which parts a row has decides its bits; how many of them a block has at a time does not.
TEST(RowTuningTest, PartsOfLongRowsFollowFromTheirBytes) {
  for (const std::int64_t row_bytes :
       {kLongestHeldRow + 2, std::int64_t{2} << 20, (std::int64_t{4} << 20) + 6, std::int64_t{64} << 20,
        (std::int64_t{64} << 20) + 16, std::int64_t{8} << 30, std::numeric_limits<std::int64_t>::max()}) {
    const StreamedParts alone = StreamRows(RowWork::kOneSum, row_bytes, 1, 1).parts;
    for (const std::int64_t rows : {1, 16, 256, 100000}) {
      const RowTuning tuning = StreamRows(RowWork::kMoments, row_bytes, rows, 1);
      SCOPED_TRACE(std::to_string(row_bytes) + " bytes, " + std::to_string(rows) + " rows: " + tuning.ToString());
      EXPECT_EQ(tuning.parts.bytes, alone.bytes);
      EXPECT_EQ(tuning.parts.count, alone.count);
      EXPECT_EQ(tuning.threads, kThreadsOfPart);
      EXPECT_EQ(tuning.parts.bytes % 16, 0);
      EXPECT_GT(tuning.parts.bytes, (row_bytes - 1) / tuning.parts.count);
      EXPECT_LT(tuning.parts.bytes * (tuning.parts.count - 1), row_bytes);
      EXPECT_GE(StreamWorkspaceBytes(row_bytes, 1, rows),
                kStreamedTotalBytes * static_cast<std::size_t>(rows * tuning.parts.count));
    }
  }
}

TEST(RowTuningTest, LongOddRowsOfSoftmaxAndLayerNormLieInSharedMemory) {
  const auto in_shared = [](RowWork work, std::int64_t width, int element_bytes, bool clusters = true) {
    return TuneRows(work, width * element_bytes, 1000, element_bytes, RowAccess::kOdd, {clusters, 227 << 10}).in_shared;
  };
  EXPECT_TRUE(in_shared(RowWork::kLogSoftmax, 65537, 4));
  EXPECT_TRUE(in_shared(RowWork::kSoftmax, 131073, 4));
  EXPECT_TRUE(in_shared(RowWork::kMoments, 131073, 4));
  EXPECT_FALSE(in_shared(RowWork::kLogSoftmax, 50001, 4));
  EXPECT_FALSE(in_shared(RowWork::kMoments, 100001, 4));
  EXPECT_FALSE(in_shared(RowWork::kOneSum, 131073, 4));
  EXPECT_FALSE(in_shared(RowWork::kTwoInputs, 131073, 4));
  EXPECT_FALSE(in_shared(RowWork::kLogSoftmax, 65537, 4, false)) << "walked over";
  for (const RowWork work : {RowWork::kSoftmax, RowWork::kMoments}) {
    EXPECT_FALSE(in_shared(work, 300001, 2)) << "it takes too many instructions";
    EXPECT_FALSE(TuneRows(work, 131072 * 4, 1000, 4, RowAccess::kDense, {true, 227 << 10}).in_shared) << "vectors";
  }
}

TEST(RowTuningTest, LongRowsOfVectorsThatBeginElsewhereLieInSharedMemory) {
  const RowDevice device{true, 227 << 10};
  const auto in_shared = [&](RowWork work, std::int64_t width, int element_bytes) {
    const std::int64_t rows = (std::int64_t{1} << 28) / width;
    return TuneRows(work, width * element_bytes, rows, element_bytes, RowAccess::kShifted, device).in_shared;
  };
  for (const std::int64_t width : {1024, 8192, 65536, 131072, 262144}) {
    EXPECT_TRUE(in_shared(RowWork::kMoments, width, 4)) << width;
    EXPECT_EQ(in_shared(RowWork::kSoftmax, width, 4), width > 1024) << width;
    EXPECT_FALSE(in_shared(RowWork::kSoftmax, width, 2)) << width;
    EXPECT_FALSE(in_shared(RowWork::kMoments, width / 2, 8)) << "there are no words of 8 bytes";
  }
  EXPECT_FALSE(in_shared(RowWork::kOneSum, 16384, 4));
  EXPECT_TRUE(in_shared(RowWork::kOneSum, 65536, 4));
  for (const int element_bytes : {2, 4}) {
    EXPECT_FALSE(in_shared(RowWork::kTwoInputs, 262144 / element_bytes, element_bytes)) << "registers hold both";
    EXPECT_TRUE(in_shared(RowWork::kTwoInputs, 524288 / element_bytes, element_bytes));
    EXPECT_FALSE(in_shared(RowWork::kTwoInputs, 1048576 / element_bytes, element_bytes))
        << "a block has no room for two";
  }
}

TEST(RowTuningTest, LongRowsOfTwoInputsInFastMemoryAreAddedAsTheyCome) {
  const RowDevice device{true, 227 << 10, true};
  const auto tuning_of = [&](RowWork work, std::int64_t row_bytes, int element_bytes, std::int64_t mib) {
    return TuneRows(work, row_bytes, (mib << 20) / row_bytes, element_bytes, RowAccess::kPlain, device);
  };
  for (const int element_bytes : {2, 4}) {
    for (const std::int64_t row_bytes : {640 << 10, 1 << 20}) {
      const RowTuning two = tuning_of(RowWork::kTwoInputs, row_bytes, element_bytes, 512);
      EXPECT_EQ(two.vectors, 16) << two.ToString();
      EXPECT_LE(two.threads, 256) << two.ToString();
      EXPECT_FALSE(two.looks_ahead) << two.ToString();
      EXPECT_EQ(tuning_of(RowWork::kOneSum, row_bytes, element_bytes, 512).vectors, 8);
      EXPECT_EQ(tuning_of(RowWork::kTwoInputs, row_bytes, element_bytes, 32).vectors, 8);
      const RowTuning misaligned = TuneRows(RowWork::kTwoInputs, row_bytes, (512 << 20) / row_bytes, element_bytes,
                                            RowAccess::kMisaligned, device);
      const bool staged = element_bytes == 4 && row_bytes == 640 << 10;  // on their way to shared memory
      EXPECT_EQ(misaligned.vectors, staged ? 8 : 16) << misaligned.ToString();
      EXPECT_EQ(misaligned.looks_ahead, staged) << misaligned.ToString();
      EXPECT_TRUE(misaligned.stays) << misaligned.ToString();
    }
  }
}

TEST(RowTuningTest, BlocksThatHoldRowsAskAheadForThoseOfOthers) {
  const RowDevice device{true, 227 << 10};
  for (const RowWork work : {RowWork::kOneSum, RowWork::kTwoInputs, RowWork::kLogSoftmax, RowWork::kMoments}) {
    for (const std::int64_t width : {257, 1001, 4097, 12289, 65537, 180001}) {
      const auto tuning_of = [&](std::int64_t mib) {
        return TuneRows(work, 4 * width, (mib << 20) / (4 * width), 4, RowAccess::kOdd, device);
      };
      const RowTuning large = tuning_of(1024);
      SCOPED_TRACE(std::to_string(width) + ": " + large.ToString());
      EXPECT_GT(large.rows_ahead, 0);
      EXPECT_LT(large.rows_ahead * 4 * width, 5 << 20) << "more than the second-level cache has room for";
      EXPECT_EQ(tuning_of(24).rows_ahead > 0, !large.in_shared);
      EXPECT_EQ(tuning_of(8).rows_ahead, 0) << "rows that all begin at once";
    }
  }
}

/// Rows that a cluster holds are no parts, on whatever device.
TEST(RowTuningTest, OnlyRowsThatNoClusterHoldsHaveParts) {
  constexpr std::int64_t kLongestInWords = kMostBlocksOfRow * kLongestRowOfBlockInWords;
  const auto parts_of = [](std::int64_t row_bytes, int element_bytes) {
    const int parts = StreamRows(RowWork::kOneSum, row_bytes, 1000, element_bytes).parts.count;
    EXPECT_EQ(StreamWorkspaceBytes(row_bytes / element_bytes, static_cast<std::size_t>(element_bytes), 1000) == 0,
              parts == 1)
        << row_bytes << " bytes";
    return parts;
  };
  EXPECT_EQ(parts_of(kLongestHeldRow, 2), 1);
  EXPECT_GT(parts_of(kLongestHeldRow + 16, 2), 1);
  EXPECT_EQ(parts_of(kLongestInWords - 2, 2), 1);
  EXPECT_GT(parts_of(kLongestInWords + 2, 2), 1);
  EXPECT_EQ(parts_of(kLongestInWords + 8, 8), 1);
}

}  // namespace
}  // namespace kernelwire::testing

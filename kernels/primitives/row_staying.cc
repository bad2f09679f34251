#include "kernels/primitives/row_staying.h"

#include <algorithm>

#include "kernels/primitives/row_cluster.h"
#include "kernels/primitives/row_tuning_tables.h"

namespace kernelwire {
namespace {

/// From how many MiB on. Clusters that stay read odd rows in bulk (row_staged.cuh), others word by word, which is most
/// for two inputs; of short rows a multiprocessor has many on their way anyway.
std::int64_t LeastMibOf(RowWork work, std::int64_t row_bytes, int element_bytes) {
  const bool wide = element_bytes == 4;
  switch (work) {
    case RowWork::kTwoInputs:
      return 12;
    case RowWork::kOneSum: {
      const bool is_short = row_bytes <= (wide ? 112 : 176) * kKiB;
      return wide ? (is_short ? 24 : 12) : (is_short ? 48 : 24);
    }
    case RowWork::kLogSoftmax:
      return wide ? 32 : 24;
    default:
      return 24;
  }
}

/// Misaligned 16-bit rows of layer_norm of so many bytes have a block each, which stays: of all rows they take the most
/// instructions, and so begin a block only once.
constexpr std::int64_t kLongestOfBlockThatStays = 20 * kKiB;
constexpr bool HasBlockThatStays(RowWork work, std::int64_t row_bytes, bool wide, bool misaligned) {
  return work == RowWork::kMoments && misaligned && !wide && row_bytes <= kLongestOfBlockThatStays;
}

RowTuning HoldByCluster(const ClusterOfWarps& cluster, RowWork work, int vectors, RowTuning tuning) {
  tuning.threads = static_cast<int>(32 * cluster.warps);
  tuning.cluster_blocks = static_cast<int>(cluster.blocks);
  tuning.vectors = vectors;
  tuning.looks_ahead = tuning.roomy = true;
  tuning.in_shared = false;
  tuning.balanced = cluster.blocks > 2;
  tuning.rows_ahead = 0;
  (work == RowWork::kMoments ? tuning.keeps_parameters : tuning.stays) = true;
  return tuning;
}

/// Which rows are worth it, and how full multiprocessors have to be (ClusterOfWarps::filled, of 256): less full, others
/// are faster, but for those of up to 512 KiB of layer_norm, which gain from the parameters most, and of 16-bit
/// rms_norm, which do least. Where tensors are misaligned, others have more to do for a row.
struct RowsThatStay {
  std::int64_t above_kib;
  std::int64_t up_to_kib;
  std::int64_t from_mib;
  std::int64_t least_filled;
};

/// From how many MiB on, of rows in whole vectors. Rows that are moved take longer to begin with otherwise; of long
/// ones of small tensors a cluster that stays has so few that some are done before others.
std::int64_t LeastMibInVectors(RowWork work, std::int64_t row_bytes, bool wide, bool misaligned) {
  switch (work) {
    case RowWork::kMoments: {
      const bool of_block = HasBlockThatStays(work, row_bytes, wide, misaligned);
      return !misaligned ? 48 : !of_block ? 12 : row_bytes <= 12 * kKiB ? 96 : 32;
    }
    case RowWork::kSoftmax:
    case RowWork::kLogSoftmax:
      if (misaligned) {
        return row_bytes <= 96 * kKiB ? 48 : 64;
      }
      return wide ? 24 : row_bytes <= 224 * kKiB ? 12 : 48;
    default:
      if (misaligned) {
        return row_bytes <= 160 * kKiB ? 96 : 128;
      }
      return wide || row_bytes <= 256 * kKiB ? 48 : 96;
  }
}

RowsThatStay RowsThatStayOf(RowWork work, bool wide, std::int64_t row_bytes, bool misaligned) {
  const std::int64_t from_mib = LeastMibInVectors(work, row_bytes, wide, misaligned);
  switch (work) {
    case RowWork::kMoments: {
      const std::int64_t least_filled = row_bytes <= 512 * kKiB ? 0 : misaligned ? 190 : 205;
      return {misaligned && !wide ? 8 : 32, wide ? 1024 : 512, from_mib, least_filled};
    }
    case RowWork::kSoftmax:
    case RowWork::kLogSoftmax: {
      const std::int64_t least_filled = misaligned ? 190 : wide ? 210 : row_bytes <= 256 * kKiB ? 195 : 205;
      return {wide && !misaligned ? 64 : 32, 512, from_mib, least_filled};
    }
    default:
      return {wide ? 64 : 32, 1024, from_mib, misaligned ? 190 : wide || row_bytes > 512 * kKiB ? 205 : 0};
  }
}

/// Whether threads have 16 vectors of a row while the next one is on its way to shared memory, instead of 8 of either
/// (row_staged.cuh): where registers hold but one row for a group of multiprocessors, or leave more than a few of these
/// idle (`filled`); up to 1.3 times as fast. Others are as fast without, or have too many instructions.
bool AreStaged(RowWork work, std::int64_t row_bytes, std::int64_t mib, bool wide, RowAccess access,
               std::int64_t filled) {
  const bool plain = access == RowAccess::kDense;
  const auto are = [&](std::int64_t above_kib, std::int64_t up_to_kib, std::int64_t from_mib) {
    return row_bytes > above_kib * kKiB && row_bytes <= up_to_kib * kKiB && mib >= from_mib;
  };
  if (!wide) {
    return work == RowWork::kOneSum && access == RowAccess::kMisaligned && are(128, 512, 384) && filled < 245;
  }
  switch (work) {
    case RowWork::kOneSum:
      return plain && (are(512, 880, 96) || (are(128, 512, 96) && filled < 205));
    case RowWork::kTwoInputs:
      return plain && are(512, 1024, 48);
    case RowWork::kMoments:
      return plain && (are(512, 768, 48) || are(768, 880, 120) || (are(128, 512, 64) && filled < 210));
    default:
      return are(512, 1024, 48) || (are(plain ? 256 : 128, 512, 48) && filled < (plain ? 210 : 245));
  }
}

/// The blocks that share one of those. Two inputs want as many as can be, and so does layer_norm, whose weights
/// registers have room for in small blocks (row_keeping.h).
ClusterOfWarps ShareStaged(RowWork work, std::int64_t row_bytes) {
  const std::int64_t warps = (WarpsOfRow(row_bytes) + 1) / 2;  // of 16 vectors
  return work == RowWork::kTwoInputs || work == RowWork::kMoments ? ShareAmongMost(warps, kThatLookAhead)
                                                                  : ShareWarps(warps, kThatLookAhead);
}

/// Those of 16-bit rows of 128 to 512 KiB whose threads have 8 vectors while the next row is on its way, where they are
/// faster than `looking`, which look ahead: where these leave many more multiprocessors idle. Else none.
ClusterOfWarps ShareHalvesInEight(RowWork work, std::int64_t row_bytes, std::int64_t mib, bool misaligned,
                                  const ClusterOfWarps& looking) {
  const std::int64_t row_warps = WarpsOfRow(row_bytes);
  const auto share = [&](const BlocksOfWarps& which, std::int64_t most_filled, std::int64_t from_mib) {
    const ClusterOfWarps staged = ShareWarps(row_warps, which);
    const std::int64_t tenths = misaligned ? 13 : 12;
    const bool faster = looking.filled < most_filled && staged.filled * 10 >= looking.filled * tenths;
    return faster && mib >= from_mib ? staged : ClusterOfWarps();
  };
  if (row_bytes <= 128 * kKiB) {
    return {};
  }
  switch (work) {
    case RowWork::kMoments:
      return share(kStagedBesideParameters, 228, 48);
    case RowWork::kOneSum:
      return share(kStaged, 200, 96);
    case RowWork::kSoftmax:
    case RowWork::kLogSoftmax: {
      const std::int64_t most_filled = misaligned ? 256 : row_bytes <= 256 * kKiB ? 205 : 224;
      return share(kStaged, most_filled, misaligned || row_bytes > 320 * kKiB ? 96 : 56);
    }
    default:
      return {};
  }
}

/// The same of misaligned FP32 rows, which are moved. Those of two inputs want as many blocks as can be. The longest of
/// layer_norm are held in shared memory otherwise.
ClusterOfWarps ShareWordsInEight(RowWork work, std::int64_t row_bytes, std::int64_t mib,
                                 const ClusterOfWarps& looking) {
  const std::int64_t row_warps = WarpsOfRow(row_bytes);
  if (row_warps > kMostBlocksOfRow * kStaged.most) {
    return {};
  }
  if (work == RowWork::kTwoInputs) {
    const bool gain = (row_bytes > 360 * kKiB && row_bytes <= 448 * kKiB) || row_bytes > 512 * kKiB;
    return gain && mib >= 48 ? ShareAmongMost(row_warps, kStaged) : ClusterOfWarps();
  }
  if (row_bytes > 512 * kKiB) {
    return mib >= 12 ? ShareWarps(row_warps, kStagedBesideParameters) : ClusterOfWarps();
  }
  const bool faster = row_bytes > 144 * kKiB && looking.filled < 245 && mib >= 12;
  return faster ? ShareWarps(row_warps, kFewStaged) : ClusterOfWarps();
}

/// The same of any rows: up to 1.4 times as fast. 16-bit ones of more than 512 KiB registers hold once, in blocks of
/// which they hold two, but no two that look ahead.
ClusterOfWarps ShareInEight(RowWork work, std::int64_t row_bytes, std::int64_t mib, int element_bytes, RowAccess access,
                            const ClusterOfWarps& looking) {
  if (!HasStagedClustersOfEight(work, element_bytes, access)) {
    return {};
  }
  if (element_bytes == 4) {
    return ShareWordsInEight(work, row_bytes, mib, looking);
  }
  if (row_bytes <= 512 * kKiB) {
    return ShareHalvesInEight(work, row_bytes, mib, access == RowAccess::kMisaligned, looking);
  }
  const bool are = access == RowAccess::kDense && work != RowWork::kMoments && mib >= 48 &&
                   WarpsOfRow(row_bytes) <= kMostBlocksOfRow * (kMostThreadsOfStagedEight / 32);
  return are ? ShareAmongMost(WarpsOfRow(row_bytes), kStaged) : ClusterOfWarps();
}

RowTuning StayWithTwoInputs(std::int64_t row_bytes, std::int64_t rows, bool misaligned, RowTuning tuning) {
  const std::int64_t from_mib = misaligned ? 48 : 96;  // of fewer, rows on a boundary are held otherwise
  const bool has_kernels = tuning.cluster_blocks > 1 && !tuning.in_shared && !tuning.roomy &&
                           HasStayingClustersInVectors(RowWork::kTwoInputs, tuning.vectors, tuning.looks_ahead);
  tuning.stays = has_kernels && row_bytes > 256 * kKiB && MibOf(row_bytes, rows) >= from_mib;
  return tuning;
}

/// Threads that look ahead have 8 vectors of each of two rows.
RowTuning LookAheadForMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide, bool misaligned,
                           const ClusterOfWarps& cluster, RowTuning tuning) {
  const RowsThatStay rows_that_stay = RowsThatStayOf(work, wide, row_bytes, misaligned);
  const bool are_long = row_bytes > rows_that_stay.above_kib * kKiB && row_bytes <= rows_that_stay.up_to_kib * kKiB;
  const bool stay =
      MibOf(row_bytes, rows) >= rows_that_stay.from_mib && are_long && cluster.filled >= rows_that_stay.least_filled;
  return stay ? HoldByCluster(cluster, work, 8, tuning) : tuning;
}

/// How full multiprocessors have to be (ClusterOfWarps::filled) where the alternative is words, of which 16-bit norms
/// have too much to do in rows of two ranges of lengths.
std::int64_t LeastFilledOfMoved(RowWork work, std::int64_t row_bytes, bool wide) {
  if (wide) {
    return AreNorms(work) ? 240 : 195;
  }
  const bool gain = (row_bytes > 160 * kKiB && row_bytes <= 240 * kKiB) || row_bytes > 420 * kKiB;
  return gain && AreNorms(work) ? 220 : 240;
}

}  // namespace

bool AreMovedInVectors(RowWork work, std::int64_t row_bytes, int element_bytes) {
  const bool wide = element_bytes == 4;
  const std::int64_t above = wide && !AreNorms(work)     ? kLongestHeldInWords
                             : work == RowWork::kMoments ? 400 * kKiB
                             : AreOfSoftmax(work)        ? 448 * kKiB
                                                         : (wide ? 200 : 112) * kKiB;
  const std::int64_t up_to = wide && !AreNorms(work) ? 1024 * kKiB : 512 * kKiB;
  return row_bytes > above && row_bytes <= up_to && AreHeldInWords(row_bytes, element_bytes) &&
         ShareWarps(WarpsOfRow(row_bytes), kThatLookAhead).filled >= LeastFilledOfMoved(work, row_bytes, wide);
}

RowTuning StayForMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, RowTuning tuning) {
  const bool has_kernels = tuning.method == RowTuning::Method::kBlocks && tuning.cluster_blocks > 1 &&
                           HasStayingClusters(work, element_bytes, tuning.vectors);
  if (!has_kernels || MibOf(row_bytes, rows) < LeastMibOf(work, row_bytes, element_bytes)) {
    return tuning;
  }
  tuning.stays = tuning.looks_ahead = true;
  tuning.balanced = tuning.cluster_blocks > 2;
  tuning.rows_ahead = 0;
  return tuning;
}

RowTuning StayForManyInVectors(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                               RowAccess access, RowTuning tuning) {
  if (tuning.method != RowTuning::Method::kBlocks || tuning.vector_bytes != 16 || element_bytes > 4) {
    return tuning;
  }
  const bool wide = element_bytes == 4;
  const bool misaligned = access != RowAccess::kDense;
  const bool large = work == RowWork::kOneSum || (work == RowWork::kMoments && wide);
  const std::int64_t row_warps = WarpsOfRow(row_bytes);
  const ClusterOfWarps cluster = HasBlockThatStays(work, row_bytes, wide, misaligned)
                                     ? ClusterOfWarps(row_warps, row_warps, kThatLookAhead.of_multiprocessor)
                                     : ShareWarps(row_warps, large ? kLargeThatLookAhead : kThatLookAhead);
  if (AreStaged(work, row_bytes, MibOf(row_bytes, rows), wide, access, cluster.filled)) {
    return HoldByCluster(ShareStaged(work, row_bytes), work, 16, tuning);
  }
  const ClusterOfWarps staged = ShareInEight(work, row_bytes, MibOf(row_bytes, rows), element_bytes, access, cluster);
  if (staged.Exist()) {
    tuning = HoldByCluster(staged, work, 8, tuning);
    tuning.roomy = false;  // for blocks that look ahead in registers
    return tuning;
  }
  return work == RowWork::kTwoInputs ? StayWithTwoInputs(row_bytes, rows, misaligned, tuning)
                                     : LookAheadForMany(work, row_bytes, rows, wide, misaligned, cluster, tuning);
}

}  // namespace kernelwire

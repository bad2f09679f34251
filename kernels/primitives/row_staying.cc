#include "kernels/primitives/row_staying.h"

#include <algorithm>

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

/// Warps that a multiprocessor has at a time, of threads with the registers for a row and the next one.
constexpr std::int64_t kWarpsOfMultiprocessor = 16;

/// What one of those warps holds of a row.
constexpr std::int64_t kBytesOfWarp = 8 * 32 * 16;

/// Blocks of a cluster with so many warps each.
struct ClusterOfWarps {
  std::int64_t warps = 0;
  std::int64_t blocks = 0;
  std::int64_t filled = 0;  // warps of a group of multiprocessors that have a share of a row

  ClusterOfWarps() = default;
  ClusterOfWarps(std::int64_t row_warps, std::int64_t warps_of_block)
      : warps(warps_of_block), blocks((row_warps + warps - 1) / warps) {
    const std::int64_t blocks_of_group = kMultiprocessorsOfGroup * (kWarpsOfMultiprocessor / warps);
    filled = blocks_of_group / blocks * row_warps;
  }
};

/// Blocks that share a row of so many warps such that most multiprocessors are busy: the smallest, which leave more of
/// them something to do, or the largest of up to 8 warps, which have more of memory on its way. Those of a warp wait
/// for each other more than they gain.
ClusterOfWarps ShareWarps(std::int64_t row_warps, bool large) {
  constexpr std::int64_t kLeastWarps = 2;
  constexpr std::int64_t kLargest = 8;
  ClusterOfWarps best;
  for (std::int64_t warps = kLeastWarps; warps <= kWarpsOfMultiprocessor; ++warps) {
    const ClusterOfWarps next(row_warps, warps);
    const bool is_cluster = next.blocks > 1 && next.blocks <= kMostBlocksOfRow;
    if (is_cluster && (next.filled > best.filled || (next.filled == best.filled && large && warps <= kLargest))) {
      best = next;
    }
  }
  return best;
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

RowsThatStay RowsThatStayOf(RowWork work, bool wide, std::int64_t row_bytes, bool misaligned) {
  switch (work) {
    case RowWork::kMoments: {
      const bool of_block = HasBlockThatStays(work, row_bytes, wide, misaligned);
      const std::int64_t from_mib = !misaligned ? 48 : of_block && row_bytes <= 12 * kKiB ? 96 : 32;
      const std::int64_t least_filled = row_bytes <= 512 * kKiB ? 0 : misaligned ? 190 : 205;
      return {misaligned && !wide ? 8 : 32, wide ? 1024 : 512, from_mib, least_filled};
    }
    case RowWork::kSoftmax:
    case RowWork::kLogSoftmax: {
      const std::int64_t from_mib = misaligned ? 64 : wide || row_bytes > 224 * kKiB ? 48 : 24;
      const std::int64_t least_filled = misaligned ? 190 : wide ? 210 : row_bytes <= 256 * kKiB ? 195 : 205;
      return {wide && !misaligned ? 64 : 32, 512, from_mib, least_filled};
    }
    default:
      return {wide ? 64 : 32, 1024, 128, misaligned ? 190 : wide || row_bytes > 512 * kKiB ? 205 : 0};
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
  const std::int64_t warps = (row_bytes + 2 * kBytesOfWarp - 1) / (2 * kBytesOfWarp);
  return work == RowWork::kTwoInputs || work == RowWork::kMoments
             ? ClusterOfWarps(warps, (warps + kMostBlocksOfRow - 1) / kMostBlocksOfRow)
             : ShareWarps(warps, false);
}

/// Whether threads have 8 vectors of a row while the next one is on its way, in blocks of which registers hold two, but
/// no two that look ahead: up to 1.4 times as fast.
bool AreStagedInEight(RowWork work, std::int64_t row_bytes, std::int64_t mib, int element_bytes, RowAccess access) {
  constexpr std::int64_t kMost = kMostBlocksOfRow * (kMostThreadsOfStagedEight / 32) * kBytesOfWarp;
  return HasStagedClustersOfEight(work, element_bytes) && access == RowAccess::kDense && row_bytes > 512 * kKiB &&
         row_bytes <= kMost && mib >= 48;
}

RowTuning StayWithTwoInputs(std::int64_t row_bytes, std::int64_t rows, RowTuning tuning) {
  constexpr std::int64_t kLeastMib = 96;  // of fewer, rows are held otherwise
  const bool has_kernels = tuning.cluster_blocks > 1 && !tuning.in_shared && !tuning.roomy &&
                           HasStayingClustersInVectors(RowWork::kTwoInputs, tuning.vectors, tuning.looks_ahead);
  tuning.stays = has_kernels && row_bytes > 256 * kKiB && MibOf(row_bytes, rows) >= kLeastMib;
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
    return work == RowWork::kMoments ? 195 : AreNorms(work) ? 240 : 205;
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
  const std::int64_t row_warps = (row_bytes + kBytesOfWarp - 1) / kBytesOfWarp;
  return row_bytes > above && row_bytes <= up_to && AreHeldInWords(row_bytes, element_bytes) &&
         ShareWarps(row_warps, false).filled >= LeastFilledOfMoved(work, row_bytes, wide);
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
  const std::int64_t row_warps = (row_bytes + kBytesOfWarp - 1) / kBytesOfWarp;
  const ClusterOfWarps cluster = HasBlockThatStays(work, row_bytes, wide, misaligned)
                                     ? ClusterOfWarps(row_warps, row_warps)
                                     : ShareWarps(row_warps, large);
  if (AreStaged(work, row_bytes, MibOf(row_bytes, rows), wide, access, cluster.filled)) {
    return HoldByCluster(ShareStaged(work, row_bytes), work, 16, tuning);
  }
  if (AreStagedInEight(work, row_bytes, MibOf(row_bytes, rows), element_bytes, access)) {
    const ClusterOfWarps of_most(row_warps, (row_warps + kMostBlocksOfRow - 1) / kMostBlocksOfRow);
    tuning = HoldByCluster(of_most, work, 8, tuning);
    tuning.roomy = false;  // for blocks that look ahead in registers
    return tuning;
  }
  return work == RowWork::kTwoInputs ? StayWithTwoInputs(row_bytes, rows, tuning)
                                     : LookAheadForMany(work, row_bytes, rows, wide, misaligned, cluster, tuning);
}

}  // namespace kernelwire

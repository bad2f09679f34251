#include "kernels/primitives/row_staying.h"

#include <algorithm>

#include "kernels/primitives/row_tuning_tables.h"

namespace kernelwire {
namespace {

/// From how many MiB on. Shorter rows, of which many are on their way, gain in the largest tensors, those of softmax in
/// 2-byte elements nowhere.
std::int64_t LeastMibOf(RowWork work, std::int64_t row_bytes, int element_bytes) {
  constexpr std::int64_t kNever = std::int64_t{1} << 40;
  if (row_bytes > 176 * kKiB) {
    return 32;
  }
  return work == RowWork::kTwoInputs || (work == RowWork::kSoftmax && element_bytes == 2) ? kNever : 512;
}

RowTuning StayWithTwoInputs(std::int64_t row_bytes, std::int64_t rows, RowTuning tuning) {
  constexpr std::int64_t kLeastMib = 96;  // of fewer, rows are held otherwise
  const bool has_kernels = tuning.cluster_blocks > 1 && !tuning.in_shared && !tuning.roomy &&
                           HasStayingClustersInVectors(RowWork::kTwoInputs, tuning.vectors, tuning.looks_ahead);
  tuning.stays = has_kernels && row_bytes > 256 * kKiB && MibOf(row_bytes, rows) >= kLeastMib;
  return tuning;
}

/// A cluster is in one group of a device's multiprocessors, most of which have 16 or some more.
constexpr std::int64_t kMultiprocessorsOfGroup = 16;
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
ClusterOfWarps ShareWarps(std::int64_t row_warps, std::int64_t most_warps, bool large) {
  constexpr std::int64_t kLeastWarps = 2;
  constexpr std::int64_t kLargest = 8;
  ClusterOfWarps best;
  for (std::int64_t warps = kLeastWarps; warps <= most_warps; ++warps) {
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

RowTuning HoldByCluster(const ClusterOfWarps& cluster, int vectors, RowTuning tuning) {
  tuning.threads = static_cast<int>(32 * cluster.warps);
  tuning.cluster_blocks = static_cast<int>(cluster.blocks);
  tuning.vectors = vectors;
  tuning.looks_ahead = tuning.roomy = vectors == 8;
  tuning.in_shared = false;
  tuning.balanced = cluster.blocks > 2;
  tuning.rows_ahead = 0;
  return tuning;
}

/// Which rows are worth it, and how full multiprocessors have to be (ClusterOfWarps::filled, of 256): less full, others
/// are faster, but for those of layer_norm of up to 512 KiB, which gain from the parameters most. Where tensors are
/// misaligned, others have more to do for a row.
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
      const std::int64_t from_mib = !misaligned ? 64 : of_block && row_bytes <= 12 * kKiB ? 96 : 32;
      const std::int64_t least_filled = row_bytes <= 512 * kKiB ? 0 : misaligned ? 190 : 205;
      return {misaligned && !wide ? 8 : 32, wide ? 1024 : 512, from_mib, least_filled};
    }
    case RowWork::kSoftmax:
      return {wide && !misaligned ? 64 : 32, 512, 64, misaligned ? 190 : wide ? 210 : 205};
    default:
      return {wide ? 64 : 32, 1024, 128, misaligned ? 190 : 205};
  }
}

/// Threads that look ahead have 8 vectors of each of two rows. FP32 rows of softmax that would leave much empty so, or
/// are longer, have 16 of one instead.
RowTuning LookAheadForMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool misaligned,
                           RowTuning tuning) {
  constexpr std::int64_t kLongRow = 256 * kKiB;
  constexpr std::int64_t kLeastFilledOfSixteen = 192;
  const bool wide = element_bytes == 4;
  const RowsThatStay rows_that_stay = RowsThatStayOf(work, wide, row_bytes, misaligned);
  const std::int64_t row_warps = (row_bytes + kBytesOfWarp - 1) / kBytesOfWarp;
  if (MibOf(row_bytes, rows) < rows_that_stay.from_mib || row_bytes <= rows_that_stay.above_kib * kKiB) {
    return tuning;
  }
  const bool large = work == RowWork::kOneSum || (work == RowWork::kMoments && wide);
  const ClusterOfWarps cluster = HasBlockThatStays(work, row_bytes, wide, misaligned)
                                     ? ClusterOfWarps(row_warps, row_warps)
                                     : ShareWarps(row_warps, kMostThreadsOfRowBlock / 32, large);
  if (row_bytes <= rows_that_stay.up_to_kib * kKiB && cluster.filled >= rows_that_stay.least_filled) {
    tuning = HoldByCluster(cluster, 8, tuning);
    (work == RowWork::kMoments ? tuning.keeps_parameters : tuning.stays) = true;
    return tuning;
  }
  const ClusterOfWarps of_sixteen = ShareWarps((row_warps + 1) / 2, 8, false);
  if (HasStayingClustersOfSixteen(work, element_bytes) && row_bytes > kLongRow &&
      of_sixteen.filled >= kLeastFilledOfSixteen) {
    tuning = HoldByCluster(of_sixteen, 16, tuning);
    tuning.stays = true;
  }
  return tuning;
}

/// How full multiprocessors have to be (ClusterOfWarps::filled) where the alternative is words, of which some lengths
/// leave blocks with more to do than others: rows of FP32 layer_norm, whose parameters are kept only so, are up to 1.1
/// times as fast where they leave a quarter idle (in tensors from 64 MiB on; of 16 MiB up to 1.4 times as slow); 16-bit
/// ones of two ranges up to 1.15 times where it is an eighth, softmax to 1.26.
std::int64_t LeastFilledOfMoved(RowWork work, std::int64_t row_bytes, bool wide) {
  if (wide) {
    return work == RowWork::kMoments ? 195 : AreNorms(work) ? 240 : 205;
  }
  const std::int64_t above_kib = AreNorms(work) ? 160 : 224;
  const bool gain = (row_bytes > above_kib * kKiB && row_bytes <= 240 * kKiB) || row_bytes > 420 * kKiB;
  return gain && work != RowWork::kMoments ? 220 : 240;
}

}  // namespace

bool AreMovedInVectors(RowWork work, std::int64_t row_bytes, int element_bytes) {
  const bool wide = element_bytes == 4;
  // FP32 norms have words that are as fast of one input, and faster of two.
  const bool gain_most = wide && !AreNorms(work);
  const std::int64_t above_kib = wide ? 200 : work == RowWork::kMoments ? 400 : 112;
  const std::int64_t row_warps = (row_bytes + kBytesOfWarp - 1) / kBytesOfWarp;
  return row_bytes > above_kib * kKiB && row_bytes <= (gain_most ? 1024 : 512) * kKiB &&
         AreHeldInWords(row_bytes, element_bytes) &&
         ShareWarps(row_warps, kMostThreadsOfRowBlock / 32, false).filled >= LeastFilledOfMoved(work, row_bytes, wide);
}

RowTuning StayForMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, RowTuning tuning) {
  const bool has_kernels = tuning.method == RowTuning::Method::kBlocks && tuning.cluster_blocks > 1 &&
                           !tuning.in_shared && HasStayingClusters(work, element_bytes, tuning.vectors);
  if (!has_kernels || MibOf(row_bytes, rows) < LeastMibOf(work, row_bytes, element_bytes)) {
    return tuning;
  }
  // What is asked for ahead are rows that clusters take soon, of long ones more.
  const std::int64_t kib_ahead = row_bytes > 176 * kKiB ? 4096 : 1536;
  const std::int64_t read_bytes = (work == RowWork::kTwoInputs ? 2 : 1) * row_bytes;
  tuning.stays = true;
  tuning.rows_ahead = static_cast<int>(std::max<std::int64_t>(kib_ahead * kKiB / read_bytes, 1));
  return tuning;
}

RowTuning StayForManyInVectors(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                               bool misaligned, RowTuning tuning) {
  if (tuning.method != RowTuning::Method::kBlocks || tuning.vector_bytes != 16 || element_bytes > 4) {
    return tuning;
  }
  return work == RowWork::kTwoInputs ? StayWithTwoInputs(row_bytes, rows, tuning)
                                     : LookAheadForMany(work, row_bytes, rows, element_bytes, misaligned, tuning);
}

}  // namespace kernelwire

#include "kernels/primitives/row_tuning.h"

#include <algorithm>
#include <cstddef>

namespace kernelwire {
namespace {

constexpr std::int64_t kKiB = 1024;

/// `lanes` lanes of a warp hold `vectors` vectors of a row each.
RowTuning ShareWarps(int lanes, int vectors) {
  return {RowTuning::Method::kLanes, lanes, vectors, 1, false, false, BlockThreadsOfLanes(vectors) / lanes};
}

/// Blocks of `threads` threads (a power of two, where a row needs several) that hold `vectors` vectors each; of a
/// shorter row only the warps that have something. Those of more than 256 threads are roomy.
RowTuning HoldRow(std::int64_t row_bytes, int threads, int vectors, bool looks_ahead = false) {
  const std::int64_t of_block = std::int64_t{threads} * vectors * 16;
  const std::int64_t blocks = (row_bytes + of_block - 1) / of_block;
  const std::int64_t of_warp = std::int64_t{32} * vectors * 16;
  const int warps = static_cast<int>((row_bytes + of_warp - 1) / of_warp);
  return {RowTuning::Method::kBlocks,
          blocks > 1 ? threads : warps * 32,
          vectors,
          static_cast<int>(blocks),
          looks_ahead,
          threads > 256};
}

/// Blocks that stay, with all registers there are, and ask for their next row before they work on this one.
RowTuning LookAhead(std::int64_t row_bytes, int threads = kMostThreadsOfRowBlock) {
  RowTuning tuning = HoldRow(row_bytes, threads, 8, true);
  tuning.roomy = true;
  return tuning;
}

/// The fewest threads from `threads` to 512 whose blocks of 4 vectors a thread hold a row in a cluster.
RowTuning SpreadRow(std::int64_t row_bytes, int threads) {
  while (threads < kMostThreadsOfRowBlock && row_bytes > std::int64_t{16} * threads * 64) {
    threads *= 2;
  }
  return HoldRow(row_bytes, threads, 4);
}

/// Whether at least half of the last of a row's several blocks would have nothing to do.
bool WastesHalfOf(std::int64_t block_bytes, std::int64_t row_bytes) {
  return row_bytes > block_bytes && (row_bytes - 1) % block_bytes < block_bytes / 2;
}

// Which blocks hold the rows of large tensors, by what was fastest. Small blocks, many of them on a multiprocessor,
// hide what all threads of one wait for; beyond some length parameters, which every row reads again, want blocks that
// stay. `narrow`: elements of 2 bytes, which take twice the arithmetic a byte.

RowTuning HoldForOneSum(std::int64_t row_bytes, bool narrow) {
  if (row_bytes <= 16 * kKiB) {
    return narrow && row_bytes <= 3 * kKiB ? HoldRow(row_bytes, 256, 8) : HoldRow(row_bytes, 512, 4);
  }
  const bool wasteful = WastesHalfOf(32 * kKiB, row_bytes);
  if (wasteful && row_bytes <= (narrow ? 44 : 76) * kKiB) {
    return HoldRow(row_bytes, 128, 4);
  }
  return row_bytes <= 128 * kKiB && !(wasteful && narrow && row_bytes > 76 * kKiB) ? HoldRow(row_bytes, 256, 8)
                                                                                   : LookAhead(row_bytes);
}

/// Registers do not hold two more rows, so none looks ahead.
RowTuning HoldForTwoInputs(std::int64_t row_bytes, bool narrow) {
  if (row_bytes > kLongestHeldRow / 2) {
    return HoldRow(row_bytes, 512, 8);
  }
  if (narrow) {
    return row_bytes <= 32 * kKiB ? HoldRow(row_bytes, 512, 4) : SpreadRow(row_bytes, 256);
  }
  return row_bytes <= 256 * kKiB && WastesHalfOf(32 * kKiB, row_bytes) ? SpreadRow(row_bytes, 256)
                                                                       : HoldRow(row_bytes, 256, 8);
}

RowTuning HoldForSoftmax(std::int64_t row_bytes, bool narrow) {
  if (narrow) {
    // Of 512 threads with 4 vectors each, warps for 20 to 24 KiB leave room for no third block.
    if (row_bytes <= 3 * kKiB || (row_bytes > 20 * kKiB && row_bytes <= 24 * kKiB)) {
      return HoldRow(row_bytes, 256, 8);
    }
    if (row_bytes <= 32 * kKiB) {
      return HoldRow(row_bytes, 512, 4);
    }
    return row_bytes <= 256 * kKiB && WastesHalfOf(64 * kKiB, row_bytes) ? LookAhead(row_bytes, 256)
                                                                         : LookAhead(row_bytes);
  }
  if (row_bytes <= 16 * kKiB) {
    return HoldRow(row_bytes, 512, 4);
  }
  const bool just_above = row_bytes > 32 * kKiB && row_bytes <= 40 * kKiB;
  return row_bytes <= 256 * kKiB && !just_above ? HoldRow(row_bytes, 256, 8) : LookAhead(row_bytes);
}

RowTuning HoldForMoments(std::int64_t row_bytes, bool narrow) {
  // Short rows of FP32 want more warps where those are full, or almost.
  const bool fills_warps = (row_bytes - 1) % kBytesOfStretch >= kBytesOfStretch * 3 / 4 - 1;
  if (!narrow && row_bytes <= 8 * kKiB && fills_warps) {
    return HoldRow(row_bytes, 512, 4);
  }
  if (row_bytes <= 32 * kKiB || (!narrow && row_bytes > 56 * kKiB && row_bytes <= 64 * kKiB)) {
    return HoldRow(row_bytes, 256, 8);
  }
  return row_bytes <= 96 * kKiB && WastesHalfOf(64 * kKiB, row_bytes) ? LookAhead(row_bytes, 256)
                                                                      : LookAhead(row_bytes);
}

/// How rows are held, by RowWork.
using Holding = RowTuning (*)(std::int64_t row_bytes, bool narrow);
constexpr Holding kHold[] = {HoldForOneSum, HoldForTwoInputs, HoldForSoftmax, HoldForMoments};

/// A row that is longer than a stretch, on a device with clusters.
RowTuning TuneLongRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes) {
  const bool fits_4 = row_bytes <= kLongestHeldRow / 2;
  if (AreFewRows(row_bytes, rows) && fits_4) {
    return SpreadRow(row_bytes, 128);
  }
  if (AreSomeRows(row_bytes, rows) && fits_4 && (work == RowWork::kTwoInputs || row_bytes > kLongestRowOfBlock)) {
    return SpreadRow(row_bytes, 256);
  }
  return kHold[static_cast<std::size_t>(work)](row_bytes, element_bytes == 2);
}

// The same for rows that are not plain. They want more of everything, so that fewer are at work at a time.

RowTuning HoldShiftedForOneSum(std::int64_t row_bytes, bool narrow) {
  if (narrow && row_bytes <= 32 * kKiB) {
    return row_bytes > 3 * kKiB && row_bytes <= 8 * kKiB ? HoldRow(row_bytes, 256, 4) : HoldRow(row_bytes, 256, 8);
  }
  if (row_bytes <= 5 * kKiB) {
    return HoldRow(row_bytes, 256, 4);
  }
  if (narrow && row_bytes <= 128 * kKiB) {
    return row_bytes > 64 * kKiB && row_bytes <= 80 * kKiB ? HoldRow(row_bytes, 128, 8) : LookAhead(row_bytes);
  }
  return row_bytes <= 256 * kKiB && WastesHalfOf(64 * kKiB, row_bytes) ? LookAhead(row_bytes, 256)
                                                                       : LookAhead(row_bytes);
}

RowTuning HoldShiftedForTwoInputs(std::int64_t row_bytes, bool narrow) {
  if (row_bytes <= 16 * kKiB) {
    return HoldRow(row_bytes, 256, 4);
  }
  const std::int64_t from = (narrow ? 28 : 16) * kKiB;
  return row_bytes > from && row_bytes <= 96 * kKiB ? HoldRow(row_bytes, 128, 4) : LookAhead(row_bytes);
}

RowTuning HoldShiftedForSoftmax(std::int64_t row_bytes, bool narrow) {
  if (narrow) {
    if (row_bytes > 3 * kKiB && row_bytes <= 10 * kKiB) {
      return HoldRow(row_bytes, 256, 4);
    }
    if (row_bytes <= 64 * kKiB) {
      return LookAhead(row_bytes);
    }
    if (row_bytes <= 112 * kKiB) {
      return HoldRow(row_bytes, 128, 8);
    }
    return row_bytes <= kLongestHeldRow / 2 ? LookAhead(row_bytes, 256) : LookAhead(row_bytes);
  }
  if (row_bytes > 32 * kKiB && row_bytes <= 60 * kKiB) {
    return LookAhead(row_bytes);
  }
  const bool in_halves = row_bytes <= 16 * kKiB || WastesHalfOf(32 * kKiB, row_bytes);
  return row_bytes <= 256 * kKiB && in_halves ? HoldRow(row_bytes, 128, 8)
         : row_bytes <= 448 * kKiB            ? HoldRow(row_bytes, 256, 8)
                                              : LookAhead(row_bytes);
}

RowTuning HoldShiftedForMoments(std::int64_t row_bytes, bool narrow) {
  const bool few_warps = narrow ? row_bytes > 3 * kKiB && row_bytes <= 8 * kKiB : row_bytes <= 5 * kKiB;
  if (few_warps) {
    return HoldRow(row_bytes, 256, 4);
  }
  const std::int64_t one_block = (narrow ? 64 : 56) * kKiB;
  return row_bytes <= one_block || row_bytes > kLongestHeldRow / 2 ? LookAhead(row_bytes) : LookAhead(row_bytes, 256);
}

constexpr Holding kHoldShifted[] = {HoldShiftedForOneSum, HoldShiftedForTwoInputs, HoldShiftedForSoftmax,
                                    HoldShiftedForMoments};

/// A row longer than a stretch that is not plain.
RowTuning TuneShiftedRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool clusters) {
  if (!clusters) {
    return row_bytes <= 8 * kKiB ? HoldRow(row_bytes, 256, 4) : LookAhead(row_bytes);
  }
  if (row_bytes <= kLongestHeldRow / 4 && AreFewRows(row_bytes, rows)) {
    return SpreadRow(row_bytes, 128);
  }
  return kHoldShifted[static_cast<std::size_t>(work)](row_bytes, element_bytes == 2);
}

}  // namespace

std::string RowTuning::ToString() const {
  const std::string text = std::to_string(threads) + " threads x " + std::to_string(16 * vectors) + " bytes";
  switch (method) {
    case Method::kLanes:
      return text + ", " + std::to_string(rows_of_block) + " rows a block";
    case Method::kBlocks:
      return text + ", " + std::to_string(cluster_blocks) + " blocks a row" + (looks_ahead ? ", looking ahead" : "");
    case Method::kStream:
      break;
  }
  return text + ", " + std::to_string(parts.count) + " blocks a row, read twice";
}

bool AreFewRows(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kFewBytes = 2 * kKiB * kKiB;
  return row_bytes * std::min(rows, kFewBytes) <= kFewBytes;
}

bool AreSomeRows(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kSomeBytes = 64 * kKiB * kKiB;
  return row_bytes * std::min(rows, kSomeBytes) <= kSomeBytes;
}

/// Short rows have a small block each: most threads of a large one would have nothing to do.
RowTuning StreamRows(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kManyParts = 2048;  // for all multiprocessors, several times
  StreamedParts parts = PartsOfStreamedRow(row_bytes);
  while (parts.count > 1 && parts.together < 4 && rows * parts.count >= 2 * kManyParts * parts.together) {
    parts.together *= 2;
  }
  const std::int64_t warps = (parts.bytes + kBytesOfStretch - 1) / kBytesOfStretch;
  const int most = parts.count > 1 ? kThreadsOfPart : kMostThreadsOfRowBlock;
  RowTuning tuning;
  tuning.method = RowTuning::Method::kStream;
  tuning.threads = static_cast<int>(std::clamp<std::int64_t>(warps * 32, 32, most));
  tuning.vectors = 4;
  tuning.parts = parts;
  return tuning;
}

RowTuning TuneRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool plain,
                   const RowDevice& device) {
  if (row_bytes <= 128) {
    return ShareWarps(4, 2);
  }
  for (const int lanes : {4, 8, 16, 32}) {
    if (row_bytes <= std::int64_t{64} * lanes) {
      // What a lane has no elements for costs almost what they would.
      return ShareWarps(lanes, row_bytes <= std::int64_t{48} * lanes ? 3 : 4);
    }
  }
  if (row_bytes > device.LongestHeldRowBytes()) {
    return StreamRows(row_bytes, rows);
  }
  if (!plain) {
    return TuneShiftedRows(work, row_bytes, rows, element_bytes, device.clusters);
  }
  if (device.clusters) {
    return TuneLongRows(work, row_bytes, rows, element_bytes);
  }
  return row_bytes <= 32768 ? HoldRow(row_bytes, 512, 4) : LookAhead(row_bytes);
}

}  // namespace kernelwire

// Which threads work on a row: a value that can be printed, chosen from what was measured on an H200
// (tests/bench/kernels).
//
// The order of a reduction follows from the row's bytes alone (row_group.cuh), whoever computes it. So this choice may
// follow from the operator and from the number of rows too, and a row still gives the same bits alone, in company, on
// any lane, and in add_rms_norm as in rms_norm. Two things must follow from the row's bytes (and the architecture)
// only: how many lanes share a row of up to a stretch, and how much of it each has; and which rows are streamed.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kernelwire {

/// How a row that is walked over is cut: parts of equal length, but for the last one perhaps, a block each.
struct StreamedParts {
  std::int64_t bytes = 0;  // of a part
  int count = 1;
  int together = 1;  // neighbours that a block has at a time: this may follow from the number of rows
};

struct RowTuning {
  enum class Method : std::uint8_t {
    kLanes,   // some lanes of a warp hold a row; rows_of_block rows a block
    kBlocks,  // a block, or a cluster of blocks, holds a row
    kStream,  // nobody holds it: blocks walk over parts of it, twice
  };

  Method method = Method::kLanes;
  int threads = 0;         // of a row: lanes, or threads of each block
  int vectors = 0;         // of 16 bytes, that a thread holds at a time
  int cluster_blocks = 1;  // blocks that share a row
  /// Blocks stay, and ask for their next row before they work on this one.
  bool looks_ahead = false;
  /// Threads have the registers of the largest blocks, however few a short row takes.
  bool roomy = false;
  int rows_of_block = 1;
  StreamedParts parts = {};

  std::string ToString() const {
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
};

/// What is done with a row, as far as it decides how many of them should be worked on at a time.
enum class RowWork : std::uint8_t {
  kOneSum,     // one reduction (rms_norm)
  kTwoInputs,  // one reduction, over the sum of two rows (add_rms_norm)
  kSoftmax,    // one reduction, and exponentials
  kMoments,    // one reduction or two, of two numbers each (layer_norm)
};

inline constexpr int kMostThreadsOfRowBlock = 512;
inline constexpr int kThreadsOfPart = 256;
inline constexpr std::int64_t kBytesOfStretch = 2048;
/// What a cluster holds at most: 16 blocks of 512 threads with 128 bytes each.
inline constexpr std::int64_t kLongestHeldRow = std::int64_t{1} << 20;
/// The same of a single block.
inline constexpr std::int64_t kLongestRowOfBlock = std::int64_t{1} << 16;

/// Threads of a block whose lanes hold `vectors` vectors each. An H200 starts no more than a block in 1.2 ns, which is
/// what it takes to read and write 2 KiB: blocks hold rows of 3 or 4 KiB, where their lanes are full.
constexpr int BlockThreadsOfLanes(int vectors) { return vectors < 3 ? 128 : 64; }

/// `lanes` lanes of a warp hold `vectors` vectors of a row each.
inline RowTuning ShareWarps(int lanes, int vectors) {
  return {RowTuning::Method::kLanes, lanes, vectors, 1, false, false, BlockThreadsOfLanes(vectors) / lanes};
}

/// From the row's bytes alone, since the totals of parts are merged in an order of their own. A single row shall fill
/// the device, and each part merges the totals of all of them: about 128 parts, more only where they would become long.
constexpr StreamedParts PartsOfStreamedRow(std::int64_t row_bytes) {
  constexpr std::int64_t kLongPart = 65536;
  if (row_bytes <= kLongestHeldRow) {
    return {row_bytes, 1};
  }
  std::int64_t bytes = 16384;
  while (bytes <= (row_bytes - 1) / (bytes < kLongPart ? 128 : 1024)) {  // no product: a request may name any width
    bytes *= 2;
  }
  return {bytes, static_cast<int>((row_bytes - 1) / bytes + 1)};
}

/// What a part leaves for its like takes at most this in the workspace of its request.
inline constexpr std::size_t kStreamedTotalBytes = 16;

/// The workspace of a request for `rows` rows of `width` elements, which are walked over if they are long.
constexpr std::size_t StreamWorkspaceBytes(std::int64_t width, std::size_t element_bytes, std::int64_t rows) {
  if (rows == 0) {
    return 0;  // and their bytes may be more than 64 bits count
  }
  const int parts = PartsOfStreamedRow(width * static_cast<std::int64_t>(element_bytes)).count;
  const std::size_t totals = parts > 1 ? static_cast<std::size_t>(rows) * static_cast<std::size_t>(parts) : 0;
  return (totals * kStreamedTotalBytes + 255) / 256 * 256;
}

/// For rows that are walked over, with results of any type. Short rows have a small block each: most threads of a large
/// one would have nothing to do.
inline RowTuning StreamRows(std::int64_t row_bytes, std::int64_t rows) {
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

/// Blocks of `threads` threads (a power of two, where a row needs several) that hold `vectors` vectors each; of a
/// shorter row only the warps that have something. Those of more than 256 threads are roomy.
inline RowTuning HoldRow(std::int64_t row_bytes, int threads, int vectors, bool looks_ahead = false) {
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

/// The fewest threads from `threads` to 512 whose blocks of 4 vectors a thread hold a row in a cluster.
inline RowTuning SpreadRow(std::int64_t row_bytes, int threads) {
  while (threads < kMostThreadsOfRowBlock && row_bytes > std::int64_t{16} * threads * 64) {
    threads *= 2;
  }
  return HoldRow(row_bytes, threads, 4);
}

/// Whether rows are less than all multiprocessors want at a time, so that latency is what counts.
inline bool AreFewRows(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kFewBytes = std::int64_t{2} << 20;
  return row_bytes * std::min(rows, kFewBytes) <= kFewBytes;
}

/// Whether rows keep the whole device busy for a few rounds only.
inline bool AreSomeRows(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kSomeBytes = std::int64_t{64} << 20;
  return row_bytes * std::min(rows, kSomeBytes) <= kSomeBytes;
}

/// Which blocks hold the rows of large tensors. Small blocks, many of them on a multiprocessor, hide what all threads
/// of one wait for; beyond some length parameters, which every row reads again, want blocks that stay.
struct LongRowLimits {
  std::int64_t of_four;   // bytes of a row; up to here 512 threads with 4 vectors each
  std::int64_t of_eight;  // up to here 256 threads with 8 vectors each; beyond, 512 that look ahead
};

/// `element_bytes`: 2-byte elements take twice the arithmetic a byte.
inline LongRowLimits LimitsOf(RowWork work, int element_bytes) {
  constexpr std::int64_t kKiB = 1024;
  const bool narrow = element_bytes == 2;
  switch (work) {
    case RowWork::kOneSum:
      return {16 * kKiB, 128 * kKiB};
    case RowWork::kTwoInputs:
      return {narrow ? 32 * kKiB : 0, narrow ? 0 : kLongestHeldRow / 2};
    case RowWork::kSoftmax:
      return narrow ? LongRowLimits{32 * kKiB, 0} : LongRowLimits{16 * kKiB, 256 * kKiB};
    case RowWork::kMoments:
      break;
  }
  return {0, narrow ? 32 * kKiB : 64 * kKiB};
}

/// A row that is longer than a stretch, on a device with clusters.
inline RowTuning TuneLongRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes) {
  const bool fits_4 = row_bytes <= kLongestHeldRow / 2;
  if (AreFewRows(row_bytes, rows) && fits_4) {
    return SpreadRow(row_bytes, 128);
  }
  if (AreSomeRows(row_bytes, rows) && fits_4 && (work == RowWork::kTwoInputs || row_bytes > kLongestRowOfBlock)) {
    return SpreadRow(row_bytes, 256);
  }
  const LongRowLimits limits = LimitsOf(work, element_bytes);
  // Short rows of FP32 want more warps where those are full, or almost.
  const bool fills_warps = (row_bytes - 1) % kBytesOfStretch >= kBytesOfStretch * 3 / 4 - 1;
  const bool in_fours = work == RowWork::kMoments && element_bytes == 4 && row_bytes <= 8192 && fills_warps;
  if (row_bytes <= limits.of_four || in_fours) {
    return HoldRow(row_bytes, 512, 4);
  }
  if (row_bytes <= limits.of_eight) {
    return HoldRow(row_bytes, 256, 8);
  }
  if (work == RowWork::kTwoInputs) {  // registers do not hold two more rows
    return fits_4 ? SpreadRow(row_bytes, 256) : HoldRow(row_bytes, 512, 8);
  }
  return HoldRow(row_bytes, 512, 8, true);
}

/// Rows longer than a stretch that are not plain. Where a thread holds 8 vectors, blocks always look ahead (RowShape).
inline RowTuning TuneShiftedRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                                 bool clusters) {
  constexpr std::int64_t kQuarterOfLongest = kLongestHeldRow / 4;
  const bool two = work == RowWork::kTwoInputs;
  if (clusters && row_bytes <= kQuarterOfLongest && AreFewRows(row_bytes, rows)) {
    return SpreadRow(row_bytes, 128);
  }
  if (row_bytes <= (two && element_bytes == 2 ? 16384 : 8192)) {
    return HoldRow(row_bytes, 256, 4);
  }
  const bool narrow_sum = work == RowWork::kOneSum && element_bytes == 2;
  if (narrow_sum && row_bytes <= kLongestRowOfBlock / 2) {
    return HoldRow(row_bytes, 256, 8, true);
  }
  if (row_bytes <= kLongestRowOfBlock || row_bytes > kLongestHeldRow / 2 || two) {
    return HoldRow(row_bytes, 512, 8, true);
  }
  RowTuning tuning = HoldRow(row_bytes, 256, 8, true);
  // Parameters want registers, exponentials warps.
  tuning.roomy = work == RowWork::kSoftmax ? row_bytes <= kQuarterOfLongest : !narrow_sum;
  return tuning;
}

/// What a device has that decides which rows are held.
struct RowDevice {
  bool clusters = true;           // blocks can share a row (compute capability 9.0 and above)
  std::int64_t shared_bytes = 0;  // the most that a block may have

  /// Rows that are not plain pass through shared memory: two of them, and half a result.
  std::int64_t LongestHeldRowBytes() const {
    constexpr std::int64_t kForExchange = 4096;
    std::int64_t longest = kLongestRowOfBlock;
    while (!clusters && longest > kBytesOfStretch && longest * 5 / 2 + kForExchange > shared_bytes) {
      longest /= 2;
    }
    return clusters ? kLongestHeldRow : longest;
  }
};

/// `plain`: see RowVectors.
inline RowTuning TuneRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool plain,
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
  return row_bytes <= 32768 ? HoldRow(row_bytes, 512, 4) : HoldRow(row_bytes, 512, 8, true);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_H_

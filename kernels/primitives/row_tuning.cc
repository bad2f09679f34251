#include "kernels/primitives/row_tuning.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "kernels/primitives/row_tuning_tables.h"

namespace kernelwire {
namespace {

constexpr std::int64_t kMostBlocksOfRow = 16;  // of a cluster

/// `lanes` lanes of a warp hold `vectors` vectors of a row each.
RowTuning ShareWarps(int lanes, int vectors, int turns) {
  RowTuning tuning;
  tuning.threads = lanes;
  tuning.vectors = vectors;
  tuning.rows_of_block = BlockThreadsOfLanes(vectors) / lanes;
  tuning.turns = turns;
  return tuning;
}

/// The same in words. Requires: lanes hold a row that long. Of short rows lanes have some after one another in large
/// tensors, more where much is found out of a row before its results are.
RowTuning ShareWarpsInWords(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes) {
  const WordShape* shape = WordShapesOf(element_bytes).by_length;
  while (row_bytes > std::int64_t{4} * shape->Words()) {
    ++shape;
  }
  const bool takes_long = work == RowWork::kMoments || work == RowWork::kSoftmax;
  RowTuning tuning;
  tuning.threads = shape->lanes;
  tuning.vectors = shape->words;
  tuning.vector_bytes = 4;
  tuning.rows_of_block = BlockThreadsOfWords(shape->words) / shape->lanes;
  tuning.turns = shape->lanes == 32 || AreSomeRows(row_bytes, rows) ? 1 : takes_long ? 4 : element_bytes == 2 ? 2 : 1;
  return tuning;
}

/// How many rows after one another lanes have, each `vectors` vectors. 16-bit layer_norm takes so many instructions
/// that those before a block's first row count, more so where lanes hold little; other operators wait for memory alone,
/// and lose what a new block begins with.
int TurnsOfLanes(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, int lanes, int vectors) {
  constexpr std::int64_t kManyBytes = 256 * kKiB * kKiB;
  if (work != RowWork::kMoments || element_bytes != 2 || AreSomeRows(row_bytes, rows)) {
    return 1;
  }
  const bool many = row_bytes * std::min(rows, kManyBytes) > kManyBytes;
  if (vectors == 3) {
    return 2;
  }
  const bool full = row_bytes > std::int64_t{14} * lanes * vectors;
  return vectors == 4 && full ? 1 : many ? 4 : 2;
}

/// Blocks of `threads` threads (a power of two, where a row needs several) that hold `vectors` vectors each; of a
/// shorter row only the warps that have something. Those of more than 256 threads are roomy.
RowTuning HoldRow(std::int64_t row_bytes, int threads, int vectors, bool looks_ahead = false) {
  const std::int64_t of_block = std::int64_t{threads} * vectors * 16;
  const std::int64_t blocks = (row_bytes + of_block - 1) / of_block;
  const std::int64_t of_warp = std::int64_t{32} * vectors * 16;
  const int warps = static_cast<int>((row_bytes + of_warp - 1) / of_warp);
  RowTuning tuning;
  tuning.method = RowTuning::Method::kBlocks;
  tuning.threads = blocks > 1 ? threads : warps * 32;
  tuning.vectors = vectors;
  tuning.cluster_blocks = static_cast<int>(blocks);
  tuning.looks_ahead = looks_ahead;
  tuning.roomy = threads > 256;
  return tuning;
}

/// Blocks that stay, with all registers there are, and ask for their next row before they work on this one.
RowTuning LookAhead(std::int64_t row_bytes, int threads = kMostThreadsOfRowBlock) {
  RowTuning tuning = HoldRow(row_bytes, threads, 8, true);
  tuning.roomy = true;
  return tuning;
}

RowTuning Hold(const Holdings& holdings, std::int64_t row_bytes) {
  const Holding& holding = holdings.Of(row_bytes);
  return holding.looks_ahead ? LookAhead(row_bytes, holding.threads)
                             : HoldRow(row_bytes, holding.threads, holding.vectors);
}

/// A row that is longer than lanes hold, in words: by a block, whose warps have equal shares.
RowTuning HoldInWords(std::int64_t row_bytes) {
  RowTuning tuning;
  tuning.method = RowTuning::Method::kBlocks;
  tuning.threads = ThreadsOfRowInWords(row_bytes);
  tuning.vectors = *std::find_if(std::begin(kWordsOfBlocks), std::end(kWordsOfBlocks),
                                 [&](int words) { return row_bytes <= std::int64_t{4} * words * tuning.threads; });
  tuning.vector_bytes = 4;
  return tuning;
}

/// How many blocks share a row as it lies, of so many stretches, and have equal shares of it: as many as let
/// multiprocessors have most rows at a time, which run 24 warps of two stretches each, or 16 where there are two
/// inputs. Norms must do with one choice for both.
std::int64_t BlocksAsItLies(RowWork work, std::int64_t stretches) {
  constexpr std::int64_t kLeastShare = 10;
  const auto least_blocks = [&](std::int64_t most) { return (stretches + most - 1) / most; };
  const auto rows_of_blocks = [&](std::int64_t blocks) {
    const std::int64_t warps = (stretches + 2 * blocks - 1) / (2 * blocks);
    return 24 / warps + (AreNorms(work) ? 16 / warps : 0);
  };
  if (stretches > kMostStretchesAsItLies * kMostBlocksOfRow) {
    return least_blocks(2 * kMostStretchesAsItLies);
  }
  std::int64_t best = least_blocks(kMostStretchesAsItLies);
  for (std::int64_t blocks = best + 1; blocks <= kMostBlocksOfRow && stretches > (kLeastShare - 2) * blocks; ++blocks) {
    if (rows_of_blocks(blocks) * best > rows_of_blocks(best) * blocks) {
      best = blocks;
    }
  }
  return best;
}

/// A row that is longer than lanes hold, as it lies: by a block, or by blocks that have equal shares of it. These
/// follow from its bytes, whether a warp has one stretch of them or two, from how many rows there are.
RowTuning HoldAsItLies(RowWork work, std::int64_t row_bytes, std::int64_t rows) {
  const std::int64_t stretches = (row_bytes + kBytesOfStretch - 1) / kBytesOfStretch;
  const std::int64_t blocks = BlocksAsItLies(work, stretches);
  const std::int64_t of_block = (stretches + 2 * blocks - 1) / (2 * blocks) * 2;
  const bool ahead = of_block > kMostStretchesAsItLies;
  const bool one = AreFewRows(row_bytes, rows) && !ahead;
  RowTuning tuning;
  tuning.method = RowTuning::Method::kBlocks;
  tuning.threads = static_cast<int>(of_block * (one ? 32 : 16));
  tuning.vectors = one ? 4 : 8;
  tuning.as_it_lies = true;
  tuning.cluster_blocks = static_cast<int>(blocks);
  tuning.looks_ahead = ahead;
  tuning.roomy = ahead;
  return tuning;
}

const Holdings& ForShiftedRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide) {
  if (AreFewRows(row_bytes, rows)) {
    return kOfFewShiftedRows;
  }
  return AreSomeRows(row_bytes, rows) && row_bytes > kLongestRowOfBlock
             ? kOfSomeLongShiftedRows[work == RowWork::kTwoInputs]
             : kOfShiftedRows[static_cast<std::size_t>(work)][wide];
}

const Holdings& ForPlainRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide) {
  if (AreFewRows(row_bytes, rows)) {
    return kOfFewRows[wide];
  }
  return (AreSomeRows(row_bytes, rows) ? kOfSomeRows : kOfManyRows)[static_cast<std::size_t>(work)][wide];
}

/// Whether an H200 is faster where what is read outlasts what is written; of less, it is as fast or slower.
bool ReadMuch(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kMuchBytes = 16 * kKiB * kKiB;
  return std::min(row_bytes, kMuchBytes) * std::min(rows, kMuchBytes) >= kMuchBytes;  // no overflow of any width
}

/// How blocks share `rows` rows that are in parts. The shortest parts are two or four to a block, as soon as there are
/// enough of them for all multiprocessors. Results lag by what keeps blocks from waiting for totals that are being
/// made, but no more than what the second-level cache keeps: of its 60 MiB, with all that passes through it, 16.
StreamedParts ShareParts(StreamedParts parts, std::int64_t rows) {
  constexpr std::int64_t kManyParts = 1024;
  constexpr std::int64_t kShortPart = 16 * kKiB;
  constexpr std::int64_t kKeptBytes = 16 * kKiB * kKiB;
  constexpr std::int64_t kLeastAhead = 128;
  constexpr std::int64_t kMostAhead = 256;
  if (parts.count == 1) {
    return parts;
  }
  const std::int64_t count = std::min(rows, 8 * kManyParts) * parts.count;
  if (parts.bytes <= kShortPart) {
    parts.together = count >= 8 * kManyParts ? 4 : count >= kManyParts ? 2 : 1;
  }
  const std::int64_t of_row = (parts.count + parts.together - 1) / parts.together;
  parts.ahead =
      static_cast<int>(std::clamp(kKeptBytes / (parts.bytes * parts.together) - of_row, kLeastAhead, kMostAhead));
  return parts;
}

/// A row that is longer than a stretch, where blocks cannot share one.
RowTuning TuneRowsOfBlocks(std::int64_t row_bytes, bool plain) {
  if (plain) {
    return row_bytes <= 32 * kKiB ? HoldRow(row_bytes, 512, 4) : LookAhead(row_bytes);
  }
  return row_bytes <= 8 * kKiB ? HoldRow(row_bytes, 256, 4) : LookAhead(row_bytes);
}

}  // namespace

std::string RowTuning::ToString() const {
  const std::string text = std::to_string(threads) + " threads x " + std::to_string(vector_bytes * vectors) + " bytes";
  switch (method) {
    case Method::kLanes:
      return text + ", " + std::to_string(rows_of_block) + " rows a block" +
             (turns > 1 ? ", " + std::to_string(turns) + " times" : "");
    case Method::kBlocks:
      return text + ", " + std::to_string(cluster_blocks) + " blocks a row" + (looks_ahead ? ", looking ahead" : "") +
             (reads_much ? ", reads much" : "");
    case Method::kStream:
      break;
  }
  return text + ", " + std::to_string(parts.count) + " parts a row, " + std::to_string(parts.together) +
         " a block, read twice" + (reads_much ? ", reads much" : "");
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
  const StreamedParts parts = ShareParts(PartsOfStreamedRow(row_bytes), rows);
  const std::int64_t warps = (parts.bytes + kBytesOfStretch - 1) / kBytesOfStretch;
  const int most = parts.count > 1 ? kThreadsOfPart : kMostThreadsOfRowBlock;
  RowTuning tuning;
  tuning.method = RowTuning::Method::kStream;
  tuning.threads = static_cast<int>(std::clamp<std::int64_t>(warps * 32, 32, most));
  tuning.vectors = 4;
  tuning.parts = parts;
  tuning.reads_much = parts.count > 1 && ReadMuch(row_bytes, rows);
  return tuning;
}

RowTuning TuneRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool plain,
                   const RowDevice& device) {
  const bool wide = element_bytes > 2;
  const bool in_words = AreHeldInWords(work, row_bytes, element_bytes);
  if (in_words && row_bytes <= WordShapesOf(element_bytes).LongestRow()) {
    return ShareWarpsInWords(work, row_bytes, rows, element_bytes);
  }
  for (const int lanes : {4, 8, 16, 32}) {
    if (row_bytes <= std::int64_t{64} * lanes) {
      // What a lane has no elements for costs almost what they would.
      const int vectors = row_bytes <= 128 ? 2 : row_bytes <= std::int64_t{48} * lanes ? 3 : 4;
      return ShareWarps(lanes, vectors, TurnsOfLanes(work, row_bytes, rows, element_bytes, lanes, vectors));
    }
  }
  if (row_bytes > device.LongestHeldRowBytes()) {
    return StreamRows(row_bytes, rows);
  }
  if (in_words) {
    return HoldInWords(row_bytes);
  }
  if (AreHeldAsTheyLie(work, row_bytes, element_bytes) &&
      (device.clusters || row_bytes <= kMostStretchesAsItLies * kBytesOfStretch)) {
    return HoldAsItLies(work, row_bytes, rows);
  }
  if (!device.clusters) {
    return TuneRowsOfBlocks(row_bytes, plain);
  }
  RowTuning tuning =
      Hold(plain ? ForPlainRows(work, row_bytes, rows, wide) : ForShiftedRows(work, row_bytes, rows, wide), row_bytes);
  tuning.reads_much = plain && ReadMuch(row_bytes, rows);
  return tuning;
}

}  // namespace kernelwire

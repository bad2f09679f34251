#include "kernels/primitives/row_tuning.h"

#include <algorithm>
#include <cstddef>

#include "kernels/primitives/row_ahead.h"
#include "kernels/primitives/row_holding.h"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_share.h"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/row_tuning_tables.h"
#include "kernels/primitives/tile_bytes.h"

namespace kernelwire {
namespace {

/// Lanes of a warp hold a row. What one has no elements for costs almost what they would, and most of what a short row
/// costs it costs each of its lanes: two share what is shorter than a line of memory, which four read at a time.
/// Requires: at most a stretch.
RowTuning ShareWarpsInVectors(std::int64_t row_bytes, int element_bytes) {
  constexpr std::int64_t kLine = 128;
  RowTuning tuning;
  tuning.threads = row_bytes < kLine && element_bytes <= 4 ? 2 : 4;
  while (row_bytes > std::int64_t{64} * tuning.threads) {
    tuning.threads *= 2;
  }
  const bool fit_in_two = row_bytes <= (tuning.threads == 2 ? kLine / 2 : kLine);
  tuning.vectors = fit_in_two ? 2 : row_bytes <= std::int64_t{48} * tuning.threads ? 3 : 4;
  tuning.rows_of_block = BlockThreadsOfLanes(tuning.vectors) / tuning.threads;
  return tuning;
}

/// The same in words. Requires: lanes hold a row that long.
RowTuning ShareWarpsInWords(std::int64_t row_bytes, int element_bytes) {
  const WordShape* shape = WordShapesOf(element_bytes).by_length;
  while (row_bytes > std::int64_t{4} * shape->Words()) {
    ++shape;
  }
  RowTuning tuning;
  tuning.threads = shape->lanes;
  tuning.vectors = shape->words;
  tuning.vector_bytes = 4;
  tuning.rows_of_block = BlockThreadsOfWords(shape->lanes, shape->words) / shape->lanes;
  return tuning;
}

constexpr std::int64_t kMostRowsToCount = std::int64_t{1} << 40;

/// How many rows after one another lanes have that `tuning` gives them: as many as make a block worth its start, since
/// a device starts one in 1.2 ns, but no more than leave enough blocks to share evenly. layer_norm begins a block with
/// twice the work. Rows of more than 64 bytes in vectors, its own of 128 and more, keep lanes busy as they are.
int TurnsOfShortRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                     const RowTuning& tuning) {
  constexpr std::int64_t kMostTurns = 8;
  constexpr std::int64_t kEnoughBlocks = 16384;
  if (tuning.vector_bytes == 16 && row_bytes >= (work == RowWork::kMoments ? 128 : 65)) {
    return 1;
  }
  const bool reads_most = work == RowWork::kTwoInputs && element_bytes > 2;
  const std::int64_t bytes_of_thread = work == RowWork::kMoments ? 64 : reads_most ? 16 : 32;
  const std::int64_t bytes = tuning.rows_of_block * std::max<std::int64_t>(row_bytes, 1);
  const std::int64_t wanted = (bytes_of_thread * tuning.threads * tuning.rows_of_block + bytes / 2) / bytes;
  const std::int64_t turns = std::clamp<std::int64_t>(wanted, 1, kMostTurns);
  const std::int64_t blocks = std::min(rows, kMostRowsToCount) / tuning.rows_of_block;
  return static_cast<int>(std::clamp<std::int64_t>((blocks * turns + kEnoughBlocks / 2) / kEnoughBlocks, 1, turns));
}

/// The same for large tensors in memory so fast that instructions count, those before a block's first row too: of
/// words, more where much is found out of a row before its results are; of layer_norm in vectors, where lanes hold
/// little.
int TurnsInFastMemory(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                      const RowTuning& tuning) {
  if (tuning.vector_bytes == 4) {
    const bool takes_long = work == RowWork::kMoments || work == RowWork::kSoftmax;
    return tuning.threads == 32 ? 1 : takes_long ? 4 : element_bytes == 2 ? 2 : 1;
  }
  if (work != RowWork::kMoments || element_bytes > 4) {
    return 1;
  }
  constexpr std::int64_t kManyBytes = 256 * kKiB * kKiB;
  const bool many = row_bytes * std::min(rows, kManyBytes) >= kManyBytes;
  const std::int64_t held = std::int64_t{16} * tuning.threads * tuning.vectors;
  return (tuning.vectors == 2 && many) || (tuning.vectors == 3 && row_bytes * 6 <= held * 5) ? 2 : 1;
}

int TurnsOfLanes(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool fast_memory,
                 const RowTuning& tuning) {
  const int turns = TurnsOfShortRows(work, row_bytes, rows, element_bytes, tuning);
  return !fast_memory || AreSomeRows(row_bytes, rows)
             ? turns
             : std::max(turns, TurnsInFastMemory(work, row_bytes, rows, element_bytes, tuning));
}

/// How often a block has rows, of one input in whole vectors where memory is fast, if not oftener already. A device
/// starts a block in 1.2 ns, in which an H200 reads and writes 2.5 KiB: blocks that have less of a tensor, of which
/// many run at a time, have so twice (up to 1.2 times as fast). So have those of rows that leave a third of their
/// threads' vectors empty, of 16-bit layer_norm a quarter: they have so many instructions that those before a first row
/// count (up to 1.06 times).
int TurnsOfBlocks(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, const RowTuning& tuning) {
  const std::int64_t mib = MibOf(row_bytes, rows);
  if (work == RowWork::kTwoInputs || tuning.vector_bytes != 16 || tuning.cluster_blocks > 1 || tuning.in_tile ||
      tuning.in_shared || tuning.looks_ahead) {
    return tuning.turns;
  }
  const std::int64_t most_bytes = mib >= 96 ? 2560 : mib >= 24 ? 2304 : 0;
  const bool takes_most = work == RowWork::kMoments && element_bytes == 2;
  const bool has_empty = tuning.method == RowTuning::Method::kBlocks && tuning.threads > 32 &&
                         row_bytes > 2 * kBytesOfStretch && row_bytes <= (takes_most ? 5632 : 4608) && mib >= 192;
  return has_empty || row_bytes * tuning.rows_of_block <= most_bytes ? std::max(tuning.turns, 2) : tuning.turns;
}

/// Where threads have rows to themselves: as often as they fill a tile, but no oftener than leaves threads to wait
/// meanwhile.
int TurnsOfThreads(std::int64_t row_bytes, std::int64_t rows, const RowTuning& tuning) {
  constexpr std::int64_t kEnoughThreads = 65536;
  const std::int64_t of_tile = kTileBytes / (tuning.rows_of_block * std::max<std::int64_t>(row_bytes, 1));
  return static_cast<int>(
      std::clamp<std::int64_t>((std::min(rows, kMostRowsToCount) + kEnoughThreads / 2) / kEnoughThreads, 1, of_tile));
}

/// Whether rows of whole vectors that lanes share are faster through a tile, which a block reads and writes as the one
/// stretch of memory that its rows are, where memory is so fast that it counts that warps of short rows meet in lines
/// of 128 bytes: up to 1.3 times on an H200, from some 8 MiB on, for layer_norm, which is busier, and 8 lanes with one
/// input from twice as many. Rows of whole lines gain least, of 8 lanes nothing; those that leave a quarter of their
/// lanes' vectors empty lose.
bool AreInTile(RowWork work, std::int64_t row_bytes, std::int64_t rows, const RowTuning& tuning) {
  constexpr std::int64_t kLine = 128;
  constexpr std::int64_t kLongest = 4 * kLine;
  const bool of_moments = work == RowWork::kMoments;
  const std::int64_t many_bytes = (of_moments ? 15 : 7) * kKiB * kKiB;
  const auto reach = [&](std::int64_t bytes) { return row_bytes * std::min(rows, bytes) >= bytes; };
  if (row_bytes <= kLine || row_bytes > kLongest || !reach(many_bytes)) {
    return false;
  }
  const bool whole_lines = row_bytes % kLine == 0;
  if (tuning.threads == 4) {
    return !whole_lines || !of_moments || reach(3 * many_bytes);
  }
  const std::int64_t held = std::int64_t{16} * tuning.threads * tuning.vectors;
  const bool is_full = of_moments ? row_bytes >= 336 : row_bytes * 4 > held * 3;
  return !whole_lines && (work == RowWork::kTwoInputs || (is_full && reach(15 * kKiB * kKiB)));
}

/// Whether they are faster so anywhere, unless there are few: of two lanes that have more than two vectors each a warp
/// would read a quarter of a line and less at a time where they lie.
bool AreOfTwoLanes(std::int64_t row_bytes, std::int64_t rows, const RowTuning& tuning) {
  return tuning.threads == 2 && tuning.vectors > 2 && !AreFewRows(row_bytes, rows);
}

/// The same of rows in words, of 2-byte elements that are no halves of vectors: up to 1.5 times on an H200. Longer
/// rows, which more lanes share, gain in larger tensors only.
bool AreWordsInTile(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                    const RowTuning& tuning) {
  constexpr std::int64_t kManyBytes = 24 * kKiB * kKiB;
  return HasTileOfWords(work, element_bytes, tuning.threads, tuning.vectors) &&
         (tuning.threads <= 8 ? row_bytes * std::min(rows, kManyBytes) >= kManyBytes : !AreSomeRows(row_bytes, rows));
}

/// Whether an H200 is faster where what is read outlasts what is written; of less, it is as fast or slower.
bool ReadMuch(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kMuchBytes = 16 * kKiB * kKiB;
  return std::min(row_bytes, kMuchBytes) * std::min(rows, kMuchBytes) >= kMuchBytes;  // no overflow of any width
}

const Holdings& ForShiftedRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide, bool fast_memory) {
  const bool of_two = work == RowWork::kTwoInputs;
  const bool are_some = AreSomeRows(row_bytes, rows);
  if (AreFewRows(row_bytes, rows)) {
    return kOfFewShiftedRows[of_two];
  }
  if (of_two && are_some && row_bytes > kLongestRowOfBlock) {
    return kOfSomeLongShiftedRows;
  }
  const auto& tables = are_some      ? kOfShiftedRows
                       : fast_memory ? kOfLargeShiftedTensorsInFastMemory
                                     : kOfLargeShiftedTensors;
  return tables[static_cast<std::size_t>(work)][wide];
}

const Holdings& ForMisalignedRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide) {
  if (AreFewRows(row_bytes, rows)) {
    return kOfFewMisalignedRows[work == RowWork::kTwoInputs && wide];
  }
  const auto& tables = AreSomeRows(row_bytes, rows) ? kOfMisalignedRows : kOfLargeMisalignedTensors;
  return tables[static_cast<std::size_t>(work)][wide];
}

/// Whether rows of whole vectors are held as those for a few rounds. Of wide ones that several blocks share fewer count
/// as such: blocks that ask ahead for others' rows (row_ahead.h) have caught up with those that stay, from 36 to 512
/// KiB, for layer_norm to 320. Not measured where memory is fast, nor of two inputs.
bool AreForSomeRounds(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide, bool fast_memory) {
  constexpr std::int64_t kFewer = 40 * kKiB * kKiB;
  const std::int64_t longest = kKiB * (work == RowWork::kMoments ? 320 : 512);
  const bool fewer =
      wide && !fast_memory && work != RowWork::kTwoInputs && row_bytes > 36 * kKiB && row_bytes <= longest;
  return fewer ? row_bytes * std::min(rows, kFewer) <= kFewer : AreSomeRows(row_bytes, rows);
}

/// Whether rows of layer_norm that leave much of two warps empty are held as those of large tensors, by one, where
/// memory is fast: up to 1.16 times as fast.
bool AreOfOneWarp(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide, bool fast_memory) {
  constexpr std::int64_t kLeastMib = 24;
  return fast_memory && work == RowWork::kMoments && row_bytes <= (wide ? 3072 : 3584) &&
         MibOf(row_bytes, rows) >= kLeastMib;
}

const Holdings& ForPlainRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide, bool fast_memory) {
  if (AreFewRows(row_bytes, rows)) {
    return kOfFewRows[wide];
  }
  const bool are_for_some_rounds = AreForSomeRounds(work, row_bytes, rows, wide, fast_memory) &&
                                   !AreOfOneWarp(work, row_bytes, rows, wide, fast_memory);
  const auto& tables = !ReadMuch(row_bytes, rows) ? kOfLittleRead
                       : are_for_some_rounds      ? kOfSomeRows
                       : fast_memory              ? kOfLargeTensorsInFastMemory
                                                  : kOfLargeTensors;
  return tables[static_cast<std::size_t>(work)][wide];
}

/// Whether clusters of more than two blocks are faster where their blocks go where there is room (LaunchShape): up to
/// 1.15 times on an H200. Not where latency counts; nor where a multiprocessor has so few blocks at a time that one
/// with two of a cluster's would be late, those of long odd rows in registers, and of two inputs unless there are many
/// rounds, and long ones do not pass through shared memory with 4 vectors a thread.
bool AreBalanced(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool plain, const RowTuning& tuning) {
  constexpr std::int64_t kLongestOfWords = 288 * kKiB;
  constexpr std::int64_t kLongestOfPassing = 120 * kKiB;
  if (tuning.vector_bytes == 4 && !tuning.in_shared && row_bytes > kLongestOfWords) {
    return false;
  }
  const bool pass = !plain && tuning.vector_bytes == 16 && tuning.vectors == 4 && row_bytes > kLongestOfPassing;
  return work == RowWork::kTwoInputs ? !pass && !AreSomeRows(row_bytes, rows) : ReadMuch(row_bytes, rows);
}

/// What the second-level cache keeps of a row, and of those read behind it, until its results want it again, while all
/// else passes through it: less where another input does, in vectors; in words that takes longer.
std::int64_t KeptBytes(RowWork work, bool in_words) {
  const bool passes_twice = work == RowWork::kTwoInputs && !in_words;
  return kKiB * kKiB * (work == RowWork::kSoftmax ? 12 : passes_twice ? 6 : 10);
}

/// How blocks share `rows` rows that are in parts. Short parts are several to a block, as soon as there are enough of
/// them for all multiprocessors; of rows in words, whose blocks take longer to begin, more. Results lag by what keeps
/// blocks from waiting for totals that are being made, and else by what the second-level cache keeps.
StreamedParts ShareParts(RowWork work, StreamedParts parts, std::int64_t rows, bool in_words) {
  constexpr std::int64_t kSomeBytes = 16 * kKiB * kKiB;
  constexpr std::int64_t kManyBytes = 128 * kKiB * kKiB;
  constexpr std::int64_t kLeastAhead = 64;
  constexpr std::int64_t kMostAhead = 256;
  if (parts.count == 1) {
    return parts;
  }
  const std::int64_t bytes = std::min(rows, kManyBytes / parts.bytes) * parts.count * parts.bytes;
  const std::int64_t of_block = kKiB * (in_words && bytes >= kManyBytes ? 64 : bytes >= kSomeBytes ? 32 : 16);
  parts.together = static_cast<int>(std::max<std::int64_t>(1, of_block / parts.bytes));
  const std::int64_t behind = KeptBytes(work, in_words) - (parts.count - 1) * parts.bytes;  // negative: a long row
  parts.ahead = static_cast<int>(std::clamp(behind / (parts.bytes * parts.together), kLeastAhead, kMostAhead));
  return parts;
}

/// A row that is longer than a stretch, where blocks cannot share one.
RowTuning TuneRowsOfBlocks(std::int64_t row_bytes, bool plain, bool small_blocks) {
  const int threads = plain && !small_blocks ? kMostThreadsOfRowBlock : 256;
  const std::int64_t longest = plain ? std::int64_t{64} * threads : 8 * kKiB;
  return row_bytes <= longest ? HoldRow(row_bytes, threads, 4) : LookAhead(row_bytes, kMostThreadsOfRowBlock, true);
}

}  // namespace

std::string RowTuning::ToString() const {
  const std::string text = std::to_string(threads) + " threads x " + std::to_string(vector_bytes * vectors) + " bytes";
  const std::string fetched = rows_ahead > 0 ? ", asks " + std::to_string(rows_ahead) + " rows ahead" : "";
  const std::string taken = turns > 1 ? ", " + std::to_string(turns) + " times" : "";
  const std::string kept = keeps_parameters ? ", keeps parameters" : stays ? ", stays" : "";
  switch (method) {
    case Method::kLanes:
      return text + ", " + std::to_string(rows_of_block) + " rows a block" + (in_tile ? ", in a tile" : "") + taken +
             kept + fetched;
    case Method::kBlocks:
      return text + ", " + std::to_string(cluster_blocks) + " blocks a row" + (in_shared ? ", in shared memory" : "") +
             (looks_ahead ? ", looking ahead" : "") + (balanced ? ", balanced" : "") +
             (reads_much ? ", reads much" : "") + taken + kept + fetched;
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
RowTuning StreamRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes) {
  const StreamedParts parts =
      ShareParts(work, PartsOfStreamedRow(row_bytes, element_bytes), rows, AreHeldInWords(row_bytes, element_bytes));
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

RowTuning TuneRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, RowAccess access,
                   const RowDevice& device) {
  const bool wide = element_bytes > 2;
  const bool plain = InVectors(access);
  const bool small_blocks = HasSmallBlocks(work, access);
  const bool moved = device.clusters && AreMovedInVectors(work, row_bytes, element_bytes);
  const bool misaligned = access == RowAccess::kMisaligned || (moved && access != RowAccess::kShifted);
  const bool in_words = AreHeldInWords(row_bytes, element_bytes) && !moved;
  const bool may_keep = in_words && (access == RowAccess::kOdd || access == RowAccess::kTiled) && device.fast_memory;
  if (in_words ? row_bytes <= WordShapesOf(element_bytes).LongestRow() : row_bytes <= kBytesOfStretch) {
    RowTuning tuning =
        in_words ? ShareWarpsInWords(row_bytes, element_bytes) : ShareWarpsInVectors(row_bytes, element_bytes);
    if (tuning.threads == 1) {
      tuning.turns = TurnsOfThreads(row_bytes, rows, tuning);
      return tuning;
    }
    tuning.turns = TurnsOfLanes(work, row_bytes, rows, element_bytes, device.fast_memory, tuning);
    if (in_words) {
      tuning.in_tile = access == RowAccess::kOdd && device.fast_memory &&
                       AreWordsInTile(work, row_bytes, rows, element_bytes, tuning);
    } else {
      tuning.in_tile =
          element_bytes <= 4 &&
          (access == RowAccess::kTiled ||
           (access == RowAccess::kDense && (AreOfTwoLanes(row_bytes, rows, tuning) ||
                                            (device.fast_memory && AreInTile(work, row_bytes, rows, tuning)))));
    }
    if (tuning.in_tile) {
      tuning.turns = in_words ? kTurnsOfTiledWords : 1;
      tuning.rows_of_block = in_words ? kBlockThreadsOfTiledWords / tuning.threads : tuning.rows_of_block;
    }
    tuning.rows_ahead = RowsAhead(work, row_bytes, rows, element_bytes, plain, device.fast_memory, tuning);
    if (device.fast_memory) {
      tuning.turns = TurnsOfBlocks(work, row_bytes, rows, element_bytes, tuning);
    }
    return may_keep ? KeepParametersOfMany(work, row_bytes, rows, element_bytes, tuning) : tuning;
  }
  if (!moved && row_bytes > device.LongestHeldRowBytes(row_bytes, element_bytes)) {
    return StreamRows(work, row_bytes, rows, element_bytes);
  }
  if (!in_words && !device.clusters) {
    return TuneRowsOfBlocks(row_bytes, plain, small_blocks);  // and no way to ask ahead
  }
  RowTuning tuning;
  if (in_words) {
    tuning = HoldInWords(work, row_bytes, element_bytes, device.clusters);
  } else {
    const Holdings& holdings = plain        ? ForPlainRows(work, row_bytes, rows, wide, device.fast_memory)
                               : misaligned ? ForMisalignedRows(work, row_bytes, rows, wide)
                                            : ForShiftedRows(work, row_bytes, rows, wide, device.fast_memory);
    tuning = HoldBy(holdings.Of(row_bytes), row_bytes, small_blocks, MostVectorsInShared(work, element_bytes));
    tuning.reads_much = plain && ReadMuch(row_bytes, rows);
  }
  tuning.balanced = tuning.cluster_blocks > 2 && AreBalanced(work, row_bytes, rows, plain, tuning);
  tuning.rows_ahead = RowsAhead(work, row_bytes, rows, element_bytes, plain, device.fast_memory, tuning);
  if (device.fast_memory) {
    tuning.turns = TurnsOfBlocks(work, row_bytes, rows, element_bytes, tuning);
  }
  if (!may_keep) {
    return (access == RowAccess::kDense || misaligned) && device.fast_memory
               ? StayForManyInVectors(work, row_bytes, rows, element_bytes, misaligned, tuning)
               : tuning;
  }
  return StayForMany(work, row_bytes, rows, element_bytes,
                     KeepParametersOfMany(work, row_bytes, rows, element_bytes, tuning));
}

}  // namespace kernelwire

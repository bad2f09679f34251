#include "kernels/primitives/row_tuning.h"

#include <algorithm>
#include <cstddef>

#include "kernels/primitives/row_ahead.h"
#include "kernels/primitives/row_holding.h"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_lanes.h"
#include "kernels/primitives/row_share.h"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/row_tuning_tables.h"

namespace kernelwire {
namespace {

/// How often a block has rows, of one input in whole vectors where memory is fast, if not oftener already. A device
/// starts a block in 1.2 ns, in which an H200 reads and writes 2.5 KiB: blocks that have less of a tensor, of which
/// many run at a time, have so twice (up to 1.2 times as fast); where threads have 5 vectors of a plain row, more
/// blocks run at a time, and the last ones leave more idle. So have those of rows that leave a third of their threads'
/// vectors empty, of 16-bit layer_norm a quarter: they have so many instructions that those before a first row count
/// (up to 1.06 times).
int TurnsOfBlocks(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool plain,
                  const RowTuning& tuning) {
  const std::int64_t mib = MibOf(row_bytes, rows);
  if (work == RowWork::kTwoInputs || tuning.vector_bytes != 16 || tuning.cluster_blocks > 1 || tuning.in_tile ||
      tuning.in_shared || tuning.looks_ahead) {
    return tuning.turns;
  }
  const bool has_five = plain && tuning.method == RowTuning::Method::kBlocks && tuning.vectors == 5;
  const std::int64_t most_bytes = mib >= (has_five ? 384 : 96) ? 2560
                                  : mib >= 96                  ? 2432
                                  : mib >= 24                  ? (has_five ? 2176 : 2304)
                                                               : 0;
  const bool takes_most = work == RowWork::kMoments && element_bytes == 2;
  const bool has_empty = tuning.method == RowTuning::Method::kBlocks && tuning.threads > 32 &&
                         row_bytes > 2 * kBytesOfStretch && row_bytes <= (takes_most ? 5632 : 4608) && mib >= 192;
  return has_empty || row_bytes * tuning.rows_of_block <= most_bytes ? std::max(tuning.turns, 2) : tuning.turns;
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
  return tables[PlaceInTables(work)][wide];
}

const Holdings& ForMisalignedRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide) {
  if (AreFewRows(row_bytes, rows)) {
    return kOfFewMisalignedRows[work == RowWork::kTwoInputs && wide];
  }
  const auto& tables = AreSomeRows(row_bytes, rows) ? kOfMisalignedRows : kOfLargeMisalignedTensors;
  return tables[PlaceInTables(work)][wide];
}

/// Whether rows of whole vectors are held as those for a few rounds. Of wide ones that several blocks share fewer count
/// as such: blocks that ask ahead for others' rows (row_ahead.h) have caught up with those that stay, from 36 to 512
/// KiB, for layer_norm to 320. Not measured where memory is fast, nor of two inputs. Where it is, fewer rows of
/// layer_norm do that would leave much of two warps empty: in larger tensors one has them (up to 1.16 times as fast).
bool AreForSomeRounds(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide, bool fast_memory) {
  const bool of_moments = work == RowWork::kMoments;
  const std::int64_t longest = kKiB * (of_moments ? 320 : 512);
  const bool fewer =
      wide && !fast_memory && work != RowWork::kTwoInputs && row_bytes > 36 * kKiB && row_bytes <= longest;
  const bool fewest = fast_memory && of_moments && row_bytes <= (wide ? 3072 : 3584);
  const std::int64_t most = kKiB * kKiB * (fewest ? 24 : 40);
  return fewer || fewest ? row_bytes * std::min(rows, most) <= most : AreSomeRows(row_bytes, rows);
}

const Holdings& ForPlainRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide, bool fast_memory) {
  if (AreFewRows(row_bytes, rows)) {
    return kOfFewRows[wide];
  }
  const auto& tables = !ReadMuch(row_bytes, rows)                                   ? kOfLittleRead
                       : AreForSomeRounds(work, row_bytes, rows, wide, fast_memory) ? kOfSomeRows
                       : fast_memory                                                ? kOfLargeTensorsInFastMemory
                                                                                    : kOfLargeTensors;
  return tables[PlaceInTables(work)][wide];
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
  return kKiB * kKiB * (AreOfSoftmax(work) ? 12 : passes_twice ? 6 : 10);
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
    RowTuning tuning = ShareAmongLanes(work, row_bytes, rows, element_bytes, access, device.fast_memory, in_words);
    if (tuning.threads == 1) {
      return tuning;
    }
    tuning.rows_ahead = RowsAhead(work, row_bytes, rows, element_bytes, plain, device.fast_memory, tuning);
    if (device.fast_memory) {
      tuning.turns = TurnsOfBlocks(work, row_bytes, rows, element_bytes, plain, tuning);
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
    tuning = HoldBy(holdings.Of(row_bytes), row_bytes,
                    {small_blocks, element_bytes <= 4, MostVectorsInShared(work, element_bytes)});
    tuning.reads_much = plain && ReadMuch(row_bytes, rows);
  }
  tuning.balanced = tuning.cluster_blocks > 2 && AreBalanced(work, row_bytes, rows, plain, tuning);
  tuning.rows_ahead = RowsAhead(work, row_bytes, rows, element_bytes, plain, device.fast_memory, tuning);
  if (device.fast_memory) {
    tuning.turns = TurnsOfBlocks(work, row_bytes, rows, element_bytes, plain, tuning);
  }
  if (!may_keep) {
    return (access == RowAccess::kDense || misaligned) && device.fast_memory
               ? StayForManyInVectors(work, row_bytes, rows, element_bytes, access, tuning)
               : tuning;
  }
  return StayForMany(work, row_bytes, rows, element_bytes,
                     KeepParametersOfMany(work, row_bytes, rows, element_bytes, tuning));
}

}  // namespace kernelwire

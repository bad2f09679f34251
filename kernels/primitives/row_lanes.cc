#include "kernels/primitives/row_lanes.h"

#include <algorithm>

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
    const bool takes_long = work == RowWork::kMoments || AreOfSoftmax(work);
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

}  // namespace

RowTuning ShareAmongLanes(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, RowAccess access,
                          bool fast_memory, bool in_words) {
  RowTuning tuning =
      in_words ? ShareWarpsInWords(row_bytes, element_bytes) : ShareWarpsInVectors(row_bytes, element_bytes);
  if (tuning.threads == 1) {
    tuning.turns = TurnsOfThreads(row_bytes, rows, tuning);
    return tuning;
  }
  tuning.turns = TurnsOfLanes(work, row_bytes, rows, element_bytes, fast_memory, tuning);
  if (in_words) {
    tuning.in_tile =
        access == RowAccess::kOdd && fast_memory && AreWordsInTile(work, row_bytes, rows, element_bytes, tuning);
  } else {
    tuning.in_tile = element_bytes <= 4 &&
                     (access == RowAccess::kTiled ||
                      (access == RowAccess::kDense && (AreOfTwoLanes(row_bytes, rows, tuning) ||
                                                       (fast_memory && AreInTile(work, row_bytes, rows, tuning)))));
  }
  if (tuning.in_tile) {
    tuning.turns = in_words ? kTurnsOfTiledWords : 1;
    tuning.rows_of_block = in_words ? kBlockThreadsOfTiledWords / tuning.threads : tuning.rows_of_block;
  }
  return tuning;
}

}  // namespace kernelwire

#include "kernels/primitives/reduce_tuning.h"

#include <algorithm>

#include "kernels/core/launch_arrivals.h"
#include "kernels/primitives/tile_bytes.h"

namespace kernelwire {
namespace {

/// Smallest power of two that is at least `number`, which is at most 2^30.
int PowerOfTwoFor(std::int64_t number) {
  int power = 1;
  while (power < number) {
    power *= 2;
  }
  return power;
}

ReduceTuning TuneShortRows(const ReducedRows& rows, std::int64_t results, bool own_kernels,
                           const ReduceDevice& device) {
  constexpr std::int64_t kBlocksThatFillAMultiprocessor = 4;
  const std::int64_t vectors = rows.vectors;
  int threads = ThreadsOfRow(rows);
  // As long as blocks are few they are as small as leaves each multiprocessor one, and threads have a row each.
  const std::int64_t blocks = results / std::max(kShortRowBlock / threads, 1);
  const bool few = blocks < device.multiprocessors;
  if (few && rows.any_order && threads == 16) {
    threads = 32;
  }
  ReduceTuning tuning;
  tuning.threads = threads;
  if (vectors > kShortRowBlock * kVectorsInFlight || (few && threads >= 32)) {
    tuning.method = ReduceTuning::Method::kRowBlocks;
    tuning.block_threads = threads;
    return tuning;
  }
  tuning.method = ReduceTuning::Method::kShortRows;
  tuning.block_threads = few ? std::max(threads, 32) : kShortRowBlock;
  while (tuning.block_threads < kShortRowBlock && results * threads > device.multiprocessors * tuning.block_threads) {
    tuning.block_threads *= 2;
  }
  const std::int64_t of_thread = (vectors + threads - 1) / threads;
  if (own_kernels) {
    const bool three = of_thread == 3 && rows.shares == RowShares::kPieces;
    tuning.vectors = three ? 3 : static_cast<int>(std::max<std::int64_t>((of_thread + 1) / 2 * 2, 2));
  } else {
    tuning.vectors = kVectorsInFlight;
  }
  const int most = rows.two ? 1 : kVectorsInFlight / tuning.vectors;
  tuning.rows_of_thread = blocks / most >= kBlocksThatFillAMultiprocessor * device.multiprocessors ? most : 1;
  return tuning;
}

/// As many rows a thread as fit into a block's tile, but no more than leave threads to wait meanwhile.
ReduceTuning TuneTiledRows(std::int64_t row_bytes, std::int64_t results) {
  constexpr std::int64_t kEnoughThreads = 65536;
  const std::int64_t wanted = (results + kEnoughThreads / 2) / kEnoughThreads;
  ReduceTuning tuning;
  tuning.method = ReduceTuning::Method::kTiledRows;
  tuning.block_threads = kShortRowBlock;
  tuning.rows_of_thread =
      static_cast<int>(std::clamp<std::int64_t>(wanted, 1, kTileBytes / (kShortRowBlock * row_bytes)));
  return tuning;
}

/// Whether so many blocks keep all multiprocessors about equally busy: two or four each, or eight, of which some end
/// when others begin. In between an H200 takes up to a third longer.
bool FillEvenly(std::int64_t blocks, std::int64_t multiprocessors) {
  const std::int64_t pairs = 2 * multiprocessors;
  const std::int64_t rounds = (blocks + pairs - 1) / pairs;
  return rounds >= 4 || 10 * blocks >= 9 * rounds * pairs;
}

/// Blocks of a result: the smallest power of two that fills the device evenly, or as many as there are slots.
int BlocksOfResult(const ReduceParts& parts, std::int64_t results, const ReduceDevice& device) {
  const std::int64_t most = std::min<std::int64_t>(kLaunchArrivals / 2 / results, parts.slots);
  int blocks = 1;
  while (2 * blocks <= most && !FillEvenly(results * blocks, device.multiprocessors)) {
    blocks *= 2;
  }
  return blocks;
}

/// How far ahead blocks of odd rows ask the second-level cache for those of blocks to come (fetch_ahead.cuh): to put
/// their pieces together takes so long that memory would rest meanwhile. Other rows keep it busy, and are slower so.
std::int64_t RowsAhead(const ReducedRows& rows, std::int64_t results, const ReduceTuning& tuning) {
  constexpr std::int64_t kMebi = std::int64_t{1} << 20;
  constexpr std::int64_t kLongestRow = 16384;
  const std::int64_t row_bytes = 16 * rows.vectors;
  const std::int64_t read_bytes = (rows.two ? 2 : 1) * row_bytes;
  if (!rows.odd || row_bytes > kLongestRow || read_bytes * std::min(results, 16 * kMebi) <= 16 * kMebi) {
    return 0;
  }
  const std::int64_t of_block = tuning.method == ReduceTuning::Method::kRowBlocks
                                    ? 1
                                    : tuning.block_threads / tuning.threads * tuning.rows_of_thread;
  return 6 * kMebi / (read_bytes * of_block) * of_block;
}

}  // namespace

int ThreadsOfRow(const ReducedRows& rows) {
  const std::int64_t vectors = rows.vectors;
  // More vectors a thread cost less than more threads, which have to meet; but threads that lie side by side should
  // read 64 bytes of a row, or all of it. Pieces are a quarter of a vector; where they have to be put together, or
  // threads have much to do before they meet, that counts for more than how they lie (on an H100 BF16 rows of 257 are
  // reduced 1.3 to 1.5 times as fast by 8 threads as by 16). Rows that may begin anywhere wait for other things.
  std::int64_t wanted = 1;
  if (rows.shares == RowShares::kPieces && rows.odd && rows.two) {
    wanted = std::min<std::int64_t>((vectors + 5) / 6, 32);  // eight of either take too many registers
  } else if (rows.shares == RowShares::kPieces && !rows.odd && !rows.costly) {
    wanted = std::min<std::int64_t>((vectors + 3) / 4, 32);
  } else if (rows.shares == RowShares::kVectors) {
    const bool full_of_eight = vectors > (rows.costly ? 28 : 24) && vectors <= 32;
    const bool full_of_warp = vectors > 112 && vectors <= 128 && !rows.costly;
    const bool full_of_four = vectors == 8 && !rows.costly;
    wanted = full_of_warp ? 32 : full_of_eight ? 8 : full_of_four ? 4 : std::min<std::int64_t>((vectors + 3) / 4, 4);
  }
  const int once_around = PowerOfTwoFor((vectors + kVectorsInFlight - 1) / kVectorsInFlight);
  // Long rows of pieces have more to do with each read: the more threads that work on other rows meanwhile, the better.
  const bool twice_around = rows.shares == RowShares::kPieces && once_around == kLongRowBlock;
  return std::max(PowerOfTwoFor(wanted), twice_around ? once_around / 2 : once_around);
}

ReduceTuning TuneReducedRows(const ReducedRows& rows, const ReduceParts& parts, std::int64_t results, bool own_kernels,
                             const ReduceDevice& device) {
  constexpr std::int64_t kLargestPortableCluster = 8;
  if (rows.tiled_bytes > 0) {
    return TuneTiledRows(rows.tiled_bytes, results);
  }
  if (parts.count == 1) {
    ReduceTuning tuning = TuneShortRows(rows, results, own_kernels, device);
    tuning.rows_ahead = RowsAhead(rows, results, tuning);
    return tuning;
  }
  ReduceTuning tuning;
  tuning.method = ReduceTuning::Method::kLongRows;
  tuning.block_threads = kLongRowBlock;
  // A cluster starts later than blocks of their own, and meets sooner: the better for few short ones.
  if (device.clusters && parts.count <= kLargestPortableCluster && results * parts.count <= device.multiprocessors) {
    tuning.sharing = PartSharing::kCluster;
    tuning.blocks = parts.slots;
  } else {
    tuning.blocks = BlocksOfResult(parts, results, device);
    tuning.sharing = tuning.blocks > 1 ? PartSharing::kGrid : PartSharing::kBlock;
  }
  return tuning;
}

ReduceTuning TuneColumns(const ReduceLayout& layout, const ReduceParts& parts, std::int64_t results,
                         int columns_of_thread, bool plain) {
  ReduceTuning tuning;
  const bool at_once = plain && layout.width <= kMostRowsOfShortColumn;
  tuning.method = at_once ? ReduceTuning::Method::kShortColumns : ReduceTuning::Method::kColumns;
  tuning.block_threads = kColumnBlock;
  tuning.columns_of_thread = columns_of_thread;
  ColumnGrid& grid = tuning.columns;
  while (grid.lanes < kMostColumnLanes && grid.lanes * kVectorsInFlight < layout.width) {
    grid.lanes *= 2;
  }
  const std::int64_t across = (layout.run + columns_of_thread - 1) / columns_of_thread;
  const int most = kColumnBlock / grid.lanes;
  grid.across = SmallDivisor::Of(across < most ? static_cast<int>(across) : most);
  grid.threads = SmallDivisor::Of(grid.lanes * grid.across.divisor);
  grid.items_of_block = kColumnBlock / grid.threads.divisor;
  grid.tiles = (across + grid.across.divisor - 1) / grid.across.divisor;
  grid.items = results / layout.run * grid.tiles * parts.count;
  return tuning;
}

std::string ReduceTuning::ToString() const {
  const std::string of_block = std::to_string(block_threads) + " threads a block" +
                               (rows_ahead > 0 ? ", asks " + std::to_string(rows_ahead) + " rows ahead" : "");
  switch (method) {
    case Method::kTiledRows:
      return "a thread a row, " + std::to_string(rows_of_thread) + " rows a thread, " + of_block;
    case Method::kShortRows:
      return std::to_string(threads) + " threads a row, " + std::to_string(vectors) + " vectors each, " +
             std::to_string(rows_of_thread) + " rows a thread, " + of_block;
    case Method::kRowBlocks:
      return "a block a row, " + of_block;
    case Method::kLongRows:
      return std::to_string(blocks) + " blocks a row" +
             (sharing == PartSharing::kCluster ? " in a cluster"
              : sharing == PartSharing::kGrid  ? " of the grid"
                                               : "") +
             ", " + of_block;
    case Method::kShortColumns:
      return std::to_string(columns_of_thread) + " columns a thread, all rows at once, " + of_block;
    case Method::kColumns:
      break;
  }
  return std::to_string(columns.lanes) + " lanes of " + std::to_string(columns.across.divisor) + " threads, " +
         std::to_string(columns_of_thread) + " columns each, " + std::to_string(columns.items_of_block) +
         " items a block, " + of_block;
}

}  // namespace kernelwire

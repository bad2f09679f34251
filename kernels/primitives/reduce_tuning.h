// Which threads work on a reduction: a value that can be printed, chosen from what was measured on an H200
// and an H100 (tests/bench/kernels).
//
// The order in which the elements of a result are combined follows from the operator, the type and the width: from how
// they are cut into parts (ReduceParts), from how many threads have the vectors of a short row, and from how many lanes
// have the rows of a column. The rest of the choice may follow from the number of results: which block does what, how
// many blocks share a result, and how many results a block or a thread has at once.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TUNING_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TUNING_H_

#include <cstdint>
#include <string>

#include "kernels/primitives/reduce_params.h"

namespace kernelwire {

/// Vectors that a thread has in flight: 128 bytes of each input.
inline constexpr int kVectorsInFlight = 8;

inline constexpr int kShortRowBlock = 128;
inline constexpr int kLongRowBlock = 256;
inline constexpr int kColumnBlock = 256;
/// Of one that a thread has to itself (reduce_tiled_rows.cuh).
inline constexpr std::int64_t kMostBytesOfTiledRow = 16;
/// Of a column block's threads, those that share the rows of a part, at most: the others read 256 bytes of each row
/// side by side (8-bit sums of 2^28 take up to a seventh longer on an H100 where they are 128 bytes of twice as many
/// rows).
inline constexpr int kMostColumnLanes = 16;
/// That a thread has at once.
inline constexpr int kMostRowsOfShortColumn = 2 * kVectorsInFlight;

/// What a device has that decides how results are shared.
struct ReduceDevice {
  int multiprocessors = 1;
  bool clusters = false;  // blocks can meet in shared memory (compute capability 9.0 and above)
};

/// Divides numbers below 512 by one up to 512 without the 20 instructions that it takes in general: the factor exceeds
/// 2^18 / divisor by less than one, which is too little to reach the next quotient.
struct SmallDivisor {
  int divisor = 1;
  int factor = 1 << 18;

  static SmallDivisor Of(int divisor) { return {divisor, ((1 << 18) + divisor - 1) / divisor}; }
  KERNELWIRE_HOST_DEVICE int Quotient(int number) const { return number * factor >> 18; }
};

/// How a block's threads lie over rows and columns. An item of work is a part of a tile of columns of one run;
/// narrow runs leave room for several items in a block.
struct ColumnGrid {
  int lanes = 1;         // threads that share the rows of a part, or could; follows from the width
  SmallDivisor across;   // threads side by side
  SmallDivisor threads;  // of an item
  int items_of_block = 1;
  std::int64_t tiles = 1;  // of a run
  std::int64_t items = 0;  // of the launch
};

/// Who does the parts of a result. The outcome is the same, to the bit: only the ways of the parts' totals differ.
enum class PartSharing : std::uint8_t {
  kBlock,    // one block: many results fill the device
  kCluster,  // a cluster of blocks, which meet in shared memory
  kGrid,     // several blocks, which leave their totals in memory; the first one merges them
};

struct ReduceTuning {
  enum class Method : std::uint8_t {
    kTiledRows,     // threads have rows to themselves, which pass through shared memory
    kShortRows,     // some threads of a block have a row, once around
    kRowBlocks,     // all threads of a block have one
    kLongRows,      // blocks walk over the parts of a row
    kColumns,       // threads walk down neighbouring columns
    kShortColumns,  // a thread has all rows of neighbouring columns at once
  };

  Method method = Method::kShortRows;
  int block_threads = 0;
  // Short rows:
  int threads = 1;              // of a row, a power of two
  int vectors = 2;              // of 16 bytes, that a thread has of a row, at most: one of 2, 3, 4, 6, 8
  int rows_of_thread = 1;       // at once: one, or as many as there are kVectorsInFlight for; tiled: one after another
  std::int64_t rows_ahead = 0;  // odd rows: from a block's first to that which it asks the second-level cache for
  // Long rows:
  PartSharing sharing = PartSharing::kBlock;
  int blocks = 1;  // of a result, a power of two, at most as many as ReduceParts::slots
  // Columns:
  int columns_of_thread = 1;
  ColumnGrid columns;

  std::string ToString() const;
};

/// What decides the order in which elements of a row are combined.
struct ReducedRows {
  std::int64_t vectors = 0;  // of 16 bytes, of a row
  RowShares shares = RowShares::kVectors;
  bool odd = false;              // the last piece of a row is not whole, and most rows begin within one
  bool two = false;              // inputs: a thread has a row of each, and no more
  bool costly = false;           // to combine totals: each is relative to something (kHasReference)
  bool any_order = false;        // gives the same bits (kAnyOrder): threads may be as many as suits
  std::int64_t tiled_bytes = 0;  // of a row, if it can pass through shared memory
};

/// Threads that have a row of one part between them, unless any order will do.
int ThreadsOfRow(const ReducedRows& rows);

/// `own_kernels`: there are some for rows that lie in memory as these do.
ReduceTuning TuneReducedRows(const ReducedRows& rows, const ReduceParts& parts, std::int64_t results, bool own_kernels,
                             const ReduceDevice& device);

/// `plain`: columns are those of one run a piece, and threads could have short ones at once.
ReduceTuning TuneColumns(const ReduceLayout& layout, const ReduceParts& parts, std::int64_t results,
                         int columns_of_thread, bool plain);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TUNING_H_

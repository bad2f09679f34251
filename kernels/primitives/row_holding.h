// How blocks share a row of vectors that is longer than a stretch: equally, which leaves the order of its reduction as
// it is (row_group.cuh). Host code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_HOLDING_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_HOLDING_H_

#include <cstdint>

#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_tuning_tables.h"

namespace kernelwire {

/// By as few blocks of at most so many threads as can.
RowTuning HoldRow(std::int64_t row_bytes, int most_threads, int vectors);

/// By blocks that stay, with all registers there are, and ask for their next row before they work on this one.
/// `powers`: a power of two of them; clusters of other numbers leave multiprocessors without one.
RowTuning LookAhead(std::int64_t row_bytes, int most_threads, bool powers);

/// What kernels there are for.
struct HoldingKernels {
  bool small_blocks;   // HasSmallBlocks
  bool warps;          // RowShapeOfWarp: rows of 2- and 4-byte elements
  int most_in_shared;  // MostVectorsInShared
};

/// As an entry of a table says. What more blocks than a cluster has would hold, threads with 8 vectors do.
RowTuning HoldBy(const Holding& holding, std::int64_t row_bytes, const HoldingKernels& kernels);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_HOLDING_H_

#include "kernels/primitives/row_ahead.h"

#include <algorithm>

#include "kernels/primitives/row_tuning_tables.h"

namespace kernelwire {
namespace {

/// How far ahead blocks of lanes ask the second-level cache for rows, in KiB of what they read: for some of those that
/// no block has begun with, but no more than are wanted soon. Those that have wide rows in turns ask at each.
std::int64_t KibAheadOfLanes(int element_bytes, bool are_some, const RowTuning& tuning) {
  return tuning.turns > 1 && element_bytes > 2 ? 1024 : are_some ? 3584 : 2048;
}

/// The same of blocks. Of large tensors whole vectors keep memory busy as they are, those of two inputs all, but for
/// what layer_norm has to do with them: where memory is fast and several blocks share a row, more. Wide ones of one
/// input that begin elsewhere want the same in tensors of any size.
std::int64_t KibAheadOfBlocks(RowWork work, std::int64_t row_bytes, int element_bytes, bool plain, bool are_some,
                              bool fast_memory, const RowTuning& tuning) {
  constexpr std::int64_t kLongRow = 512 * kKiB;
  constexpr std::int64_t kSharedRow = 36 * kKiB;
  const bool in_vectors = tuning.vector_bytes == 16;
  const bool of_two = work == RowWork::kTwoInputs;
  if (tuning.in_shared) {
    return of_two || (are_some && !in_vectors) ? 0 : 2048;  // there are many on their way as it is
  }
  if (in_vectors && plain && of_two) {
    return 0;
  }
  if (in_vectors && !plain && !of_two && element_bytes > 2) {
    return 2048;
  }
  const bool of_moments = work == RowWork::kMoments;
  if (in_vectors && plain && of_moments && fast_memory && !are_some && row_bytes > kSharedRow) {
    return 4096;
  }
  const bool are_busy = in_vectors ? plain : of_moments && row_bytes > kLongRow;
  return are_some || !are_busy ? 3584 : of_moments || (fast_memory && element_bytes > 2) ? 2048 : 1024;
}

}  // namespace

int RowsAhead(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool plain, bool fast_memory,
              const RowTuning& tuning) {
  constexpr std::int64_t kLeastBytes = 16 * kKiB * kKiB;  // less is all on its way at once
  constexpr std::int64_t kShortRow = 128;                 // bytes: not measured
  const bool of_lanes = tuning.method == RowTuning::Method::kLanes;
  const std::int64_t read_bytes = (work == RowWork::kTwoInputs ? 2 : 1) * row_bytes;
  if (tuning.looks_ahead || tuning.roomy || row_bytes <= kShortRow ||
      read_bytes * std::min(rows, kLeastBytes) <= kLeastBytes) {
    return 0;
  }
  const bool are_some = AreSomeRows(read_bytes, rows);
  const std::int64_t bytes =
      kKiB * (of_lanes ? KibAheadOfLanes(element_bytes, are_some, tuning)
                       : KibAheadOfBlocks(work, row_bytes, element_bytes, plain, are_some, fast_memory, tuning));
  const std::int64_t blocks = bytes / (read_bytes * tuning.rows_of_block);
  return static_cast<int>((bytes > 0 ? std::max<std::int64_t>(blocks, 1) : 0) * tuning.rows_of_block);
}

}  // namespace kernelwire

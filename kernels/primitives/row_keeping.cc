#include "kernels/primitives/row_keeping.h"

#include <algorithm>

namespace kernelwire {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;

/// Rows that a block, or each warp of one, has. The first waits for the parameters, so fewer are slower; the last ones
/// leave multiprocessors without work, so more are.
int TurnsOf(const RowTuning& tuning, bool very_many) {
  if (tuning.method == RowTuning::Method::kBlocks) {
    return very_many ? 6 : 3;
  }
  return tuning.threads < 32 || tuning.vectors > 20 ? 3 : tuning.vectors <= 10 ? 6 : 4;
}

}  // namespace

RowTuning KeepParametersOfMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                               RowTuning tuning) {
  const bool of_lanes = tuning.method == RowTuning::Method::kLanes;
  const bool has_kernels =
      tuning.vector_bytes == 4 && HasKeptParameters(work, element_bytes, of_lanes ? tuning.threads : 32);
  const bool alone = of_lanes || (tuning.method == RowTuning::Method::kBlocks && tuning.cluster_blocks == 1 &&
                                  tuning.threads <= kMostThreadsOfKeptBlock);
  const auto are_many = [&](std::int64_t bytes) { return row_bytes * std::min(rows, bytes) >= bytes; };
  // Rows of a warp, and of the largest blocks, gain in larger tensors only.
  const std::int64_t least = (tuning.threads == 32 || tuning.threads > 192 ? 192 : 96) * kMib;
  const bool begin_with_words = row_bytes % 4 == 0;  // all of them: no word is moved anyway
  if (!has_kernels || !alone || begin_with_words || !are_many(least)) {
    return tuning;
  }
  tuning.keeps_parameters = true;
  tuning.rows_of_block = of_lanes ? ThreadsOfKeptBlock(tuning.vectors) / tuning.threads : 1;
  tuning.turns = TurnsOf(tuning, are_many(384 * kMib));
  tuning.rows_ahead = 0;  // a block asks for its next one
  return tuning;
}

}  // namespace kernelwire

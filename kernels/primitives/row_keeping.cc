#include "kernels/primitives/row_keeping.h"

#include <algorithm>

namespace kernelwire {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::int64_t kMostRows = 1024 * kMib;  // that make a difference

/// From how many MiB on. Of rows of lanes, those of half a warp have the most instructions for their elements, and gain
/// in the smallest tensors; those of a warp in the largest only.
std::int64_t LeastMibOf(const RowTuning& tuning) {
  return tuning.method == RowTuning::Method::kBlocks ? 48 : tuning.threads < 32 ? 12 : 192;
}

/// Rows that a block takes at a time: few, since the last ones leave others without work, but so many that tickets are
/// not waited for, which are taken one after another. Or rows that each warp of one has: the first waits for the
/// parameters, so fewer are slower.
int TurnsOf(const RowTuning& tuning, std::int64_t row_bytes, std::int64_t mib) {
  if (tuning.method == RowTuning::Method::kBlocks) {
    const int most = row_bytes <= 8400 ? 4 : row_bytes <= 30000 ? 2 : 1;
    return mib >= 384 ? most : std::max(most / 2, 1);
  }
  if (tuning.threads < 32) {
    return mib >= 96 ? 3 : 2;
  }
  return tuning.vectors > 20 ? 3 : tuning.vectors <= 10 ? 6 : 4;
}

}  // namespace

RowTuning KeepParametersOfMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                               RowTuning tuning) {
  const bool of_lanes = tuning.method == RowTuning::Method::kLanes;
  const bool has_kernels =
      tuning.vector_bytes == 4 && HasKeptParameters(work, element_bytes, of_lanes ? tuning.threads : 32);
  const bool alone = of_lanes || (tuning.method == RowTuning::Method::kBlocks && tuning.cluster_blocks == 1);
  const std::int64_t mib = row_bytes * std::min(rows, kMostRows) / kMib;
  const bool begin_with_words = row_bytes % 4 == 0;  // all of them: no word is moved anyway
  if (!has_kernels || !alone || begin_with_words || mib < LeastMibOf(tuning)) {
    return tuning;
  }
  tuning.keeps_parameters = true;
  tuning.rows_of_block = of_lanes ? ThreadsOfKeptBlock(tuning.vectors) / tuning.threads : 1;
  tuning.turns = TurnsOf(tuning, row_bytes, mib);
  tuning.rows_ahead = 0;  // a block asks for its next one
  return tuning;
}

}  // namespace kernelwire

#include "kernels/primitives/row_keeping.h"

#include <algorithm>

#include "kernels/primitives/row_tuning_tables.h"

namespace kernelwire {
namespace {

/// From how many MiB on. Of rows of lanes, those of half a warp have the most instructions for their elements, and gain
/// in the smallest tensors; those of a warp in the largest only. Clusters have few rows each, so that what they begin
/// with counts; the longest rows gain most.
std::int64_t LeastMibOf(const RowTuning& tuning, std::int64_t row_bytes) {
  if (tuning.method == RowTuning::Method::kLanes) {
    return tuning.threads < 32 ? 12 : 192;
  }
  return tuning.cluster_blocks == 1 ? 48 : row_bytes > 180 * kKiB && row_bytes <= 224 * kKiB ? 64 : 24;
}

/// Rows that a block takes at a time: few, since the last ones leave others without work, but so many that tickets are
/// not waited for, which are taken one after another. Or rows that each warp of one has: the first waits for the
/// parameters, so fewer are slower.
int TurnsOf(const RowTuning& tuning, std::int64_t row_bytes, std::int64_t mib) {
  if (tuning.cluster_blocks > 1) {
    return 1;
  }
  if (tuning.method == RowTuning::Method::kBlocks) {
    const int most = row_bytes <= 8400 ? 4 : row_bytes <= 30000 ? 2 : 1;
    return mib >= 384 ? most : std::max(most / 2, 1);
  }
  if (tuning.threads < 32) {
    return mib >= 96 ? 3 : 2;
  }
  return tuning.vectors > 20 ? 3 : tuning.vectors <= 10 ? 6 : 4;
}

bool HasKernels(RowWork work, int element_bytes, const RowTuning& tuning) {
  const bool of_lanes = tuning.method == RowTuning::Method::kLanes;
  if (tuning.vector_bytes != 4 || (!of_lanes && tuning.method != RowTuning::Method::kBlocks)) {
    return false;
  }
  return tuning.cluster_blocks == 1 ? HasKeptParameters(work, element_bytes, of_lanes ? tuning.threads : 32)
                                    : HasKeptClusters(work, element_bytes, tuning.vectors, tuning.threads) &&
                                          tuning.threads <= MostThreadsOfKeptCluster(tuning.vectors);
}

/// Where elements are words each block keeps much beside what is found as fast where it lies.
RowTuning KeepWideParametersOfMany(std::int64_t row_bytes, std::int64_t mib, RowTuning tuning) {
  const bool gain_most = row_bytes > 224 * kKiB && row_bytes <= 544 * kKiB;
  if (mib < (gain_most ? 48 : 96)) {
    return tuning;
  }
  tuning.keeps_parameters = tuning.looks_ahead = true;
  tuning.balanced = tuning.cluster_blocks > 2;
  tuning.rows_ahead = 0;
  return tuning;
}

}  // namespace

RowTuning KeepParametersOfMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                               RowTuning tuning) {
  const std::int64_t mib = MibOf(row_bytes, rows);
  if (!HasKernels(work, element_bytes, tuning)) {
    return tuning;
  }
  if (element_bytes == 4) {
    return KeepWideParametersOfMany(row_bytes, mib, tuning);
  }
  if (mib < LeastMibOf(tuning, row_bytes)) {
    return tuning;
  }
  const bool of_lanes = tuning.method == RowTuning::Method::kLanes;
  tuning.keeps_parameters = true;
  tuning.rows_of_block = of_lanes ? ThreadsOfKeptBlock(tuning.vectors) / tuning.threads : 1;
  tuning.turns = TurnsOf(tuning, row_bytes, mib);
  tuning.rows_ahead = 0;  // a block asks for its next one
  // Of which a multiprocessor has but two at a time, one with two of a cluster's would be late.
  tuning.balanced = tuning.cluster_blocks > 2 && tuning.threads * tuning.vectors <= 256 * 24;
  return tuning;
}

}  // namespace kernelwire

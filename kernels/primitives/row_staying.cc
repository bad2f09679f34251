#include "kernels/primitives/row_staying.h"

#include <algorithm>

#include "kernels/primitives/row_tuning_tables.h"

namespace kernelwire {
namespace {

/// From how many MiB on. Shorter rows, of which many are on their way, gain in the largest tensors, those of softmax in
/// 2-byte elements nowhere.
std::int64_t LeastMibOf(RowWork work, std::int64_t row_bytes, int element_bytes) {
  constexpr std::int64_t kNever = std::int64_t{1} << 40;
  if (row_bytes > 176 * kKiB) {
    return 32;
  }
  return work == RowWork::kTwoInputs || (work == RowWork::kSoftmax && element_bytes == 2) ? kNever : 512;
}

}  // namespace

RowTuning StayForMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, RowTuning tuning) {
  const bool has_kernels = tuning.method == RowTuning::Method::kBlocks && tuning.cluster_blocks > 1 &&
                           !tuning.in_shared && HasStayingClusters(work, element_bytes, tuning.vectors);
  if (!has_kernels || MibOf(row_bytes, rows) < LeastMibOf(work, row_bytes, element_bytes)) {
    return tuning;
  }
  // What is asked for ahead are rows that clusters take soon, of long ones more.
  const std::int64_t kib_ahead = row_bytes > 176 * kKiB ? 4096 : 1536;
  const std::int64_t read_bytes = (work == RowWork::kTwoInputs ? 2 : 1) * row_bytes;
  tuning.stays = true;
  tuning.rows_ahead = static_cast<int>(std::max<std::int64_t>(kib_ahead * kKiB / read_bytes, 1));
  return tuning;
}

RowTuning StayForManyInVectors(RowWork work, std::int64_t row_bytes, std::int64_t rows, RowTuning tuning) {
  constexpr std::int64_t kLeastMib = 96;  // of fewer, rows are held otherwise
  const bool has_kernels = tuning.method == RowTuning::Method::kBlocks && tuning.cluster_blocks > 1 &&
                           !tuning.in_shared && !tuning.roomy &&
                           HasStayingClustersInVectors(work, tuning.vectors, tuning.looks_ahead);
  tuning.stays = has_kernels && row_bytes > 256 * kKiB && MibOf(row_bytes, rows) >= kLeastMib;
  return tuning;
}

}  // namespace kernelwire

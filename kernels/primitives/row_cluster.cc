#include "kernels/primitives/row_cluster.h"

#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

ClusterOfWarps::ClusterOfWarps(std::int64_t row_warps, std::int64_t warps_of_block,
                               std::int64_t warps_of_multiprocessor)
    : warps(warps_of_block), blocks((row_warps + warps - 1) / warps) {
  const std::int64_t blocks_of_group = kMultiprocessorsOfGroup * (warps_of_multiprocessor / warps);
  filled = blocks_of_group / blocks * row_warps;
}

bool ClusterOfWarps::Exist() const { return blocks > 1 && blocks <= kMostBlocksOfRow; }

ClusterOfWarps ShareWarps(std::int64_t row_warps, const BlocksOfWarps& which) {
  ClusterOfWarps best;
  for (std::int64_t warps = which.least; warps <= which.most; ++warps) {
    const ClusterOfWarps next(row_warps, warps, which.of_multiprocessor);
    if (next.Exist() && (next.filled > best.filled || (next.filled == best.filled && warps <= which.better))) {
      best = next;
    }
  }
  return best;
}

ClusterOfWarps ShareAmongMost(std::int64_t row_warps, const BlocksOfWarps& which) {
  return {row_warps, (row_warps + kMostBlocksOfRow - 1) / kMostBlocksOfRow, which.of_multiprocessor};
}

}  // namespace kernelwire

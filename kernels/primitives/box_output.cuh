// The last part of suppression on the device: from a flag by rank to the outputs, in the order of scores.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_OUTPUT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_OUTPUT_CUH_

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/box_rank.cuh"
#include "kernels/primitives/box_tile.cuh"

namespace kernelwire::box {

/// Writes the columns of kept boxes in order of rank, fills the others, and counts.
template <typename P>
__global__ void __launch_bounds__(kSortTile)
    WriteKeptKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork(arguments);
  __shared__ int of_warps[32];
  const BoxImage image = FindImage<P>(arguments);
  if (!IsChained<P>(P::Rules(arguments.params), image)) {
    return;
  }
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t candidates = image.space.header()->candidates;
  const std::uint64_t* const ranked = RankedKeys<P>(image);
  // Counts of other tiles have not been cleared.
  const std::int64_t ranked_tiles = (candidates + kSortTile - 1) / kSortTile;
  ForEachTile(arguments, max(candidates, image.columns), kSortTile, [&](std::int64_t tile) {
    int ahead = 0;
    int all = 0;
    for (std::int64_t other = thread; other < ranked_tiles; other += kSortTile) {
      const int kept = image.space.kept_of_ranks()[other];
      all += kept;
      ahead += other < tile ? kept : 0;
    }
    ahead = BlockSum(ahead, of_warps);
    const std::int64_t total = min(std::int64_t{BlockSum(all, of_warps)}, image.columns);
    const std::int64_t rank = tile * kSortTile + thread;
    const bool kept = rank < candidates && image.space.flags()[rank] != 0;
    const std::int64_t column = ahead + CountAhead(kept, of_warps);
    if (kept && column < total) {
      P::Write(arguments.params, image, column, ranked[rank]);
    }
    if (rank >= total && rank < image.columns) {  // ranks number the columns here
      P::Pad(arguments.params, image, rank);
    }
    if (rank == 0) {
      P::WriteCount(arguments.params, image, static_cast<std::int32_t>(total));
    }
  });
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_OUTPUT_CUH_

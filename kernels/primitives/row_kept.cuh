// The launch of blocks that stay for many rows which all begin alike (row_alike.cuh), and keep their parameters
// (kept_parameters.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_KEPT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_KEPT_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_room.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// For __launch_bounds__: threads of a block, and how many of so many a multiprocessor has at a time. More would leave
/// registers in memory, whose way back is long while rows pass through the first-level cache.
template <typename Shape>
inline constexpr int kKeptThreads = Shape::kOfBlocks ? Shape::BlockThreads(RowAccess::kOdd)
                                                     : ThreadsOfKeptBlock(Shape::kBytes / 4);
template <typename Shape>
inline constexpr int kKeptBlocks = Shape::kOfBlocks      ? Shape::ResidentBlocks(RowAccess::kOdd)
                                   : Shape::kBytes <= 48 ? 4
                                   : Shape::kBytes <= 56 ? 3
                                   : Shape::kBytes < 160 ? 5
                                                         : 4;

/// Launches a kernel over `rows` rows in words, of parameters that take kPairBytes a word: as AlikeRowsOfLanes has
/// them, or AlikeRowsOfBlock, by no more blocks than there is room for.
template <typename Shape, std::size_t kPairBytes, auto kKernel, typename Arguments>
cudaError_t LaunchKept(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  const RowTuning& tuning = arguments.tuning;
  // Lanes read pairs of what they could hold beyond a row's end, too, a block's as far as one of their warp has a word.
  const auto words = static_cast<std::size_t>(arguments.width / 2 + 1);
  const std::size_t pairs =
      Shape::kOfBlocks ? (words + 31) / 32 * 32 : std::size_t{Shape::Group::kLanes} * (Shape::kBytes / 4);
  LaunchShape shape;
  shape.threads = static_cast<unsigned>(tuning.threads * tuning.rows_of_block);
  shape.shared_bytes = pairs * kPairBytes;
  const std::int64_t of_two = std::int64_t{2} * tuning.rows_of_block * tuning.turns;
  shape.blocks = (rows + of_two - 1) / of_two * 2;
  if (Shape::kOfBlocks) {
    const std::int64_t room = RoomForClusters<kKernel>(shape);
    shape.blocks = std::min(shape.blocks, std::max<std::int64_t>(room / 2 * 2, 2));
  }
  return LaunchKernel(kKernel, shape, stream, arguments);
}

/// The same by clusters, or blocks (row_tickets.cuh), each block of which keeps what its threads have room for behind
/// its HeldSpace `Space`: twice the row, but for weights in registers. `kAlike`: which rows begin alike, see
/// TicketRows.
template <typename Shape, typename Space, auto kKernel, std::int64_t kAlike, typename Arguments>
cudaError_t LaunchKeptByClusters(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  const RowTuning& tuning = arguments.tuning;
  LaunchShape shape;
  shape.threads = static_cast<unsigned>(tuning.threads);
  shape.cluster_blocks = static_cast<unsigned>(tuning.cluster_blocks);
  shape.balances_clusters = tuning.balanced;
  constexpr std::size_t kKeptOfThread = 2 * Shape::kBytes - Shape::kBytesOfWeights;
  shape.shared_bytes = Space::BytesOfBlock(shape.threads) + kKeptOfThread * shape.threads +
                       BlockGroup::SpaceOf(shape.threads / 32, shape.cluster_blocks, Shape::kWholeBlocks);
  const std::int64_t room = RoomForClusters<kKernel>(shape);
  const std::int64_t alike = std::min((rows + kAlike - 1) / kAlike, std::max<std::int64_t>(room / kAlike, 1));
  shape.blocks = alike * kAlike * shape.cluster_blocks;
  return LaunchKernel(kKernel, shape, stream, arguments);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_KEPT_CUH_

// Blocks that work on several rows which all begin alike, and keep their parameters (kept_parameters.cuh): which rows
// they have, and their launch.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_KEPT_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_KEPT_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// The rows of a thread's group: every second one of those that two neighbouring blocks have. Of rows that follow each
/// other in memory these all begin at a word, or all in the middle of one.
template <typename Group>
struct RowsThatBeginAlike {
  unsigned first;
  unsigned step;
  unsigned end;

  __device__ __forceinline__ explicit RowsThatBeginAlike(int turns) {
    const unsigned groups = std::is_same_v<Group, BlockGroup> ? 1 : blockDim.x / Group::kLanes;
    step = 2 * groups;
    const unsigned of_both = step * static_cast<unsigned>(turns);
    const unsigned first_of_both = blockIdx.x / 2 * of_both;
    first = first_of_both + 2 * (threadIdx.x / Group::kLanes % groups) + blockIdx.x % 2;
    end = first_of_both + of_both;
  }
};

/// For __launch_bounds__: threads of a block, and how many of so many a multiprocessor has at a time. More would leave
/// registers in memory, whose way back is long while rows pass through the first-level cache.
template <typename Shape>
inline constexpr int kKeptThreads = Shape::kOfBlocks ? kMostThreadsOfKeptBlock : ThreadsOfKeptBlock(Shape::kBytes / 4);
template <typename Shape>
inline constexpr int kKeptBlocks = Shape::kOfBlocks      ? (Shape::kBytes <= 80 ? 4 : 3)
                                   : Shape::kBytes <= 48 ? 4
                                   : Shape::kBytes <= 56 ? 3
                                   : Shape::kBytes < 160 ? 5
                                                         : 4;

/// Launches a kernel over `rows` rows in words, of parameters that take kPairBytes a word.
template <typename Shape, std::size_t kPairBytes, auto kKernel, typename Arguments>
cudaError_t LaunchKept(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  const RowTuning& tuning = arguments.tuning;
  const std::int64_t of_both = std::int64_t{2} * tuning.rows_of_block * tuning.turns;  // RowsThatBeginAlike
  // Lanes read pairs of what they could hold beyond a row's end, too, a block's as far as one of their warp has a word.
  const auto words = static_cast<std::size_t>(arguments.width / 2 + 1);
  const std::size_t pairs =
      Shape::kOfBlocks ? (words + 31) / 32 * 32 : std::size_t{Shape::Group::kLanes} * (Shape::kBytes / 4);
  LaunchShape shape;
  shape.blocks = (rows + of_both - 1) / of_both * 2;
  shape.threads = static_cast<unsigned>(tuning.threads * tuning.rows_of_block);
  shape.shared_bytes = pairs * kPairBytes;
  return LaunchKernel(kKernel, shape, stream, arguments);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_KEPT_CUH_

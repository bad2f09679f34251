// Which rows of a launch a group of threads has.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_GRID_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_GRID_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/row_group.cuh"

namespace kernelwire {

/// How a kernel's blocks and groups are laid over the rows of a launch.
template <typename Group>
struct RowGrid;

template <int kLanes>
struct RowGrid<LaneGroup<kLanes>> {
  static __device__ __forceinline__ LaneGroup<kLanes> GroupOf(int /*cluster_blocks*/, bool /*of_words*/) { return {}; }
  /// Before row `index` of `rows` is worked on.
  static __device__ __forceinline__ void Begin(LaneGroup<kLanes>& group, std::int64_t index, std::int64_t rows) {
    const int after = 32 / kLanes - 1 - static_cast<int>(threadIdx.x % 32) / kLanes;  // other rows of the warp
    group.Begin(index + after < rows);
  }
  static __device__ __forceinline__ std::int64_t FirstRow(int /*cluster_blocks*/) {
    return std::int64_t{blockIdx.x} * RowsOfBlock() + threadIdx.x / kLanes;
  }
  static __device__ __forceinline__ std::int64_t RowsOfGrid(int /*cluster_blocks*/) {
    return std::int64_t{gridDim.x} * RowsOfBlock();
  }

 private:
  static __device__ __forceinline__ unsigned RowsOfBlock() { return blockDim.x / kLanes; }
};

template <>
struct RowGrid<BlockGroup> {
  static constexpr int kBlockThreads = BlockGroup::kMostThreads;

  static __device__ __forceinline__ BlockGroup GroupOf(int cluster_blocks, bool of_words) {
    return BlockGroup(cluster_blocks, of_words);
  }
  static __device__ __forceinline__ void Begin(BlockGroup& /*group*/, std::int64_t /*index*/, std::int64_t /*rows*/) {}
  static __device__ __forceinline__ std::int64_t FirstRow(int cluster_blocks) {
    return Clusters(blockIdx.x, cluster_blocks);
  }
  static __device__ __forceinline__ std::int64_t RowsOfGrid(int cluster_blocks) {
    return Clusters(gridDim.x, cluster_blocks);
  }

 private:
  /// Most rows have a block each, and a division takes as long as the rest of the way to their first read.
  static __device__ __forceinline__ unsigned Clusters(unsigned blocks, int cluster_blocks) {
    return cluster_blocks == 1 ? blocks : blocks / static_cast<unsigned>(cluster_blocks);
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_GRID_CUH_

// The threads that share a row, and reductions over them whose result is the same, to the bit, in each of them: a few
// lanes of a warp, or a block, or a cluster of blocks that exchange partial results through distributed shared memory.
//
// A group tells a thread which of its members it is (`rank` of `size`), and `Reduce` merges a value of each. `combine`
// must give the same bits for (a, b) and (b, a), and `identity` must change nothing: then the lanes of an exchange
// agree, and the order of merging follows from the group's shape alone.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_GROUP_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_GROUP_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/cluster_exchange.cuh"
#include "kernels/primitives/row_reduce.cuh"

namespace kernelwire {

/// An aligned group of 2, 4, ... 32 lanes. Other groups of the warp may do something else meanwhile.
template <int kLanesOfRow>
struct LaneGroup {
  static_assert(kLanesOfRow >= 2 && kLanesOfRow <= 32 && (kLanesOfRow & (kLanesOfRow - 1)) == 0);
  static constexpr int kLanes = kLanesOfRow;  // neighbours in rank that can shuffle: `members`

  __device__ __forceinline__ int rank() const { return static_cast<int>(threadIdx.x) % kLanes; }
  __device__ __forceinline__ int size() const { return kLanes; }
  __device__ __forceinline__ unsigned members() const { return MembersOfGroup<kLanes>(); }

  template <typename T, typename Combine>
  __device__ __forceinline__ T Reduce(T value, T /*identity*/, const Combine& combine) {
    return ReduceLanes<kLanes>(value, combine);
  }
};

/// A block, or a cluster of `cluster_blocks` blocks. Every thread of them constructs one, before it waits for memory,
/// and all reduce the same number of times. Requires: whole warps; at most 1024 threads a block.
class BlockGroup {
 public:
  static constexpr int kLanes = 32;

  __device__ __forceinline__ explicit BlockGroup(int cluster_blocks)
      : cluster_blocks_(cluster_blocks), exchange_(cluster_blocks) {}

  __device__ __forceinline__ int rank() const { return static_cast<int>(exchange_.block() * blockDim.x + threadIdx.x); }
  __device__ __forceinline__ int size() const { return static_cast<int>(blockDim.x) * cluster_blocks_; }
  __device__ __forceinline__ unsigned members() const { return 0xFFFFFFFFU; }

  /// Results of warps alternate between two places, so that one barrier a reduction is enough: a warp that is already
  /// in the next reduction does not write where another still reads.
  template <typename T, typename Combine>
  __device__ __forceinline__ T Reduce(T value, T identity, const Combine& combine) {
    __shared__ T of_warps[2][32];
    turn_ ^= 1U;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warps = blockDim.x / 32;
    value = ReduceLanes<32>(value, combine);
    if (warps > 1) {
      if (lane == 0) {
        of_warps[turn_][threadIdx.x / 32] = value;
      }
      __syncthreads();
      value = ReduceLanes<32>(lane < warps ? of_warps[turn_][lane] : identity, combine);
    }
    if (cluster_blocks_ > 1) {
      const T* const of_blocks = exchange_.AllToAll(value);
      const unsigned block = lane % kMaxClusterBlocks;
      value = ReduceLanes<kMaxClusterBlocks>(
          block < static_cast<unsigned>(cluster_blocks_) ? of_blocks[block] : identity, combine);
    }
    return value;
  }

 private:
  int cluster_blocks_;
  unsigned turn_ = 0;
  ClusterExchange exchange_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_GROUP_CUH_

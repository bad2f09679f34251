// The threads that share a row, and reductions over them whose result is the same, to the bit, in each of them: a few
// lanes of a warp, or a block, or a cluster of blocks that exchange partial results through distributed shared memory.
//
// The order of a reduction does not depend on how many threads share the row. A row longer than lanes hold is cut into
// stretches of 2 KiB, one a warp: 32 lanes with 64 bytes each. A lane combines its 64 bytes, the lanes combine theirs,
// and the stretches are the leaves of a binary tree, neighbours first. Whether a warp has one stretch or two, whether a
// block has three warps or sixteen, and how many blocks there are, only decides who computes which part of that tree.
// So the choice may follow from what is fastest, and the bits stay. (Blocks that hold rows in words have as many warps
// as follow from a row's bytes instead, and no choice: row_share.cc.)
//
// `combine` must give the same bits for (a, b) and (b, a), and `identity` must change nothing.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_GROUP_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_GROUP_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/primitives/cluster_exchange.cuh"
#include "kernels/primitives/row_reduce.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {

inline constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

/// What a thread has of a reduction: a value for each of the stretches that its warp holds.
template <typename T, int kStretches>
struct RowParts {
  T of_stretch[kStretches];
};

/// An aligned group of 1, 2, 4, ... 32 lanes. Other groups of the warp may do something else meanwhile, but they reduce
/// together as long as all of them are known to.
template <int kLanesOfRow>
class LaneGroup {
 public:
  static_assert(kLanesOfRow >= 1 && kLanesOfRow <= 32 && (kLanesOfRow & (kLanesOfRow - 1)) == 0);
  static constexpr int kLanes = kLanesOfRow;  // neighbours in rank that can shuffle: `members`

  /// Before a row: whether all groups of the warp have one.
  __device__ __forceinline__ void Begin(bool together) { together_ = together; }
  /// From here on other groups may not reduce when this one does.
  __device__ __forceinline__ void GoAlone() { together_ = false; }
  /// The same of all groups of the warp, if any of them asks for it. Called by all of them that have a row.
  __device__ __forceinline__ void PartIf(bool wanted) {
    if (kLanes < 32 && together_) {
      together_ = __any_sync(kWholeWarp, static_cast<int>(wanted)) == 0;
    }
  }
  /// The same unless there is a way that all of them go.
  template <typename... Way>
  __device__ __forceinline__ void PartUnlessAll(Way... ways) {
    if (kLanes < 32 && together_) {
      together_ = ((__all_sync(kWholeWarp, static_cast<int>(ways)) != 0) || ...);
    }
  }
  /// Whether all lanes of the warp are known to come along.
  __device__ __forceinline__ bool IsTogether() const { return kLanes == 32 || together_; }

  __device__ __forceinline__ int rank() const { return static_cast<int>(threadIdx.x % kLanes); }
  __device__ __forceinline__ int lane() const { return rank(); }
  __device__ __forceinline__ unsigned members() const { return MembersOfGroup<kLanes>(); }
  __device__ __forceinline__ bool IsInTurnOf(const LaneGroup& /*other*/) const { return true; }

  template <typename T, typename Combine>
  __device__ __forceinline__ T Reduce(const RowParts<T, 1>& parts, T /*identity*/, const Combine& combine) const {
    return ReduceWarp(parts.of_stretch[0], combine);
  }
  /// Of a value of each lane, or of kSome neighbours among them.
  template <int kSome = kLanes, typename T, typename Combine>
  __device__ __forceinline__ T ReduceWarp(const T& value, const Combine& combine) const {
    return kLanes == 32 || together_ ? ReduceLanes<kSome>(value, combine, kWholeWarp)
                                     : ReduceLanes<kSome>(value, combine);
  }
  /// `value` of the first lane.
  template <typename T>
  __device__ __forceinline__ T FromFirst(const T& value) const {
    if constexpr (kLanes == 1) {
      return value;
    } else {
      return kLanes == 32 || together_ ? __shfl_sync(kWholeWarp, value, 0, kLanes)
                                       : __shfl_sync(members(), value, 0, kLanes);
    }
  }
  /// `value` of the lane at this one's place in the other half of the group.
  template <typename T>
  __device__ __forceinline__ T FromOtherHalf(const T& value) const {
    return kLanes == 32 || together_ ? ShuffleXor(kWholeWarp, value, kLanes / 2)
                                     : ShuffleXor(members(), value, kLanes / 2);
  }

 private:
  bool together_ = false;
};

/// A block, or a cluster of `cluster_blocks` blocks. Every thread of them constructs one, before it waits for memory,
/// and all reduce the same number of times. `whole`: a block counts as a leaf of the tree that blocks make up, whatever
/// it has. Requires: whole warps, at most kMostThreads a block; where blocks share a row, the launch has added SpaceOf;
/// `whole` only if all rows of so many bytes are shared alike.
class BlockGroup {
 public:
  static constexpr int kLanes = 32;
  static constexpr int kMostThreads = kMostThreadsOfRowBlock;

  __device__ __forceinline__ explicit BlockGroup(int cluster_blocks, bool whole = false)
      : cluster_blocks_(cluster_blocks), whole_(whole), exchange_(cluster_blocks) {}

  /// For a launch: dynamic shared memory beside what its kernel has else.
  static std::size_t SpaceOf(unsigned warps, unsigned cluster_blocks, bool whole = false) {
    return cluster_blocks == 1 ? 0 : ClusterExchange::SpaceOf(whole ? cluster_blocks : warps * cluster_blocks);
  }

  /// This block's number among those that share the row.
  __device__ __forceinline__ unsigned block() const { return exchange_.block(); }
  __device__ __forceinline__ int rank() const { return static_cast<int>(block() * blockDim.x + threadIdx.x); }
  /// Among the neighbours that can shuffle.
  __device__ __forceinline__ int lane() const { return rank() % kLanes; }
  __device__ __forceinline__ int size() const { return static_cast<int>(blockDim.x) * cluster_blocks_; }
  __device__ __forceinline__ unsigned members() const { return kWholeWarp; }
  __device__ __forceinline__ void GoAlone() {}
  __device__ __forceinline__ void PartIf(bool /*wanted*/) {}
  template <typename... Way>
  __device__ __forceinline__ void PartUnlessAll(Way... /*ways*/) {}
  __device__ __forceinline__ static constexpr bool IsTogether() { return true; }
  /// Whether the next reduction takes the places that it would take as that of `other`, a copy; see ReturnTo.
  __device__ __forceinline__ bool IsInTurnOf(const BlockGroup& other) const {
    return turn_ == other.turn_ && exchange_.IsInTurnOf(other.exchange_);
  }

  /// Of a value of each lane of a warp.
  template <typename T, typename Combine>
  __device__ __forceinline__ T ReduceWarp(const T& value, const Combine& combine) const {
    return ReduceLanes<32>(value, combine, kWholeWarp);
  }

  template <typename T, int kStretches, typename Combine>
  __device__ __forceinline__ T Reduce(RowParts<T, kStretches> parts, T identity, const Combine& combine) {
#pragma unroll
    for (T& part : parts.of_stretch) {
      part = ReduceWarp(part, combine);
    }
    return ReduceStretches(parts, identity, combine);
  }

  /// The same where the lanes of a warp have agreed on its stretches already.
  ///
  /// A block's warps need not be a whole part of the tree: three are one of two, and one. So they tell all of a cluster
  /// what they have, without a barrier, and each finishes the tree.
  ///
  /// Results of warps alternate between two places, so that one barrier a reduction is enough: a warp that is already
  /// in the next reduction does not write where another still reads.
  template <typename T, int kStretches, typename Combine>
  __device__ __forceinline__ T ReduceStretches(const RowParts<T, kStretches>& parts, T identity,
                                               const Combine& combine) {
    static_assert(kStretches <= 4);
    T value = parts.of_stretch[0];
    if constexpr (kStretches > 1) {
      value = combine(value, parts.of_stretch[1]);
    }
    if constexpr (kStretches == 3) {  // all of a row: in longer ones a warp's are a part of the tree
      value = combine(value, parts.of_stretch[2]);
    }
    if constexpr (kStretches == 4) {
      value = combine(value, combine(parts.of_stretch[2], parts.of_stretch[3]));
    }
    const unsigned warps = blockDim.x / 32;
    const unsigned warp = threadIdx.x / 32;
    const auto blocks = static_cast<unsigned>(cluster_blocks_);
    if (!whole_ && blocks > 1) {
      const unsigned count = warps * blocks;
      const unsigned place = PlaceInList(block() * warps + warp);
      return ReduceLongList(exchange_.AllToAll(value, count, place, true), count, identity, combine);
    }
    if (warps > 1) {
      __shared__ T of_warps[2][kMostThreads / 32];
      turn_ ^= 1U;
      if (threadIdx.x % 32 == 0) {
        of_warps[turn_][warp] = value;
      }
      __syncthreads();
      value = ReduceList(of_warps[turn_], warps, identity, combine);
    }
    if (blocks > 1) {
      value = ReduceList(exchange_.AllToAll(value, blocks, block(), warp == 0), blocks, identity, combine);
    }
    return value;
  }

 private:
  int cluster_blocks_;
  bool whole_;
  unsigned turn_ = 0;
  ClusterExchange exchange_;
};

/// The sum of all parts of a row.
template <typename Group, typename Acc, int kStretches>
__device__ __forceinline__ Acc RowSum(Group& group, const RowParts<Acc, kStretches>& parts) {
  return group.Reduce(parts, Acc{0}, [](Acc a, Acc b) { return a + b; });
}

/// The same in more digits than f32 has. Sums of many numbers that are much alike are nearly the same in all such rows,
/// and so is their rounding; those of a thousand numbers and less, which half a warp has, still differ enough. Two
/// parts are quicker where lanes have a row, f64 where others meet.
template <int kLanes>
__device__ __forceinline__ TwoParts<float> PreciseRowSum(const LaneGroup<kLanes>& group,
                                                         const RowParts<float, 1>& parts) {
  if constexpr (kLanes == 1) {
    return {parts.of_stretch[0], 0.0F};
  } else {
    const float half =
        group.template ReduceWarp<kLanes / 2>(parts.of_stretch[0], [](float a, float b) { return a + b; });
    return SumInTwo(half, group.FromOtherHalf(half));
  }
}
template <int kStretches>
__device__ __forceinline__ double PreciseRowSum(BlockGroup& group, const RowParts<float, kStretches>& parts) {
  RowParts<double, kStretches> of_warp;
#pragma unroll
  for (int s = 0; s < kStretches; ++s) {
    const float half = ReduceLanes<16>(
        parts.of_stretch[s], [](float a, float b) { return a + b; }, kWholeWarp);
    of_warp.of_stretch[s] = static_cast<double>(half) + static_cast<double>(ShuffleXor(kWholeWarp, half, 16));
  }
  return group.ReduceStretches(of_warp, 0.0, [](double a, double b) { return a + b; });
}

/// Reduces until `group` is in the turn of `before`, a copy that has reduced at least once. A function that is kept out
/// of line has a copy of its caller's group, which knows nothing of the reductions there; a reference to it, or a group
/// that is returned, would cost the caller registers.
template <typename Group>
__device__ __forceinline__ void ReturnTo(const Group& before, Group& group) {
  while (!group.IsInTurnOf(before)) {
    RowSum(group, RowParts<double, 1>{{0.0}});
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_GROUP_CUH_

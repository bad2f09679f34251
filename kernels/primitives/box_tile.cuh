// Deciding a tile of kTile boxes in their order: which overlap which, and then who stays. Shared by the kernel that
// spreads an image over many blocks and the one that does a small image in one.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_TILE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_TILE_CUH_

#include <cstdint>

#include "kernels/primitives/box_geometry.h"
#include "kernels/primitives/box_workspace.h"
#include "kernels/primitives/sort_tiles.cuh"

namespace kernelwire::box {

template <typename Box>
__device__ inline Box NowhereOf() {
  Box box;
  MakeNowhere(&box);
  return box;
}

/// Boxes with their areas, so that these are computed once.
template <typename Box, int kCount = kTile>
struct BoxTile {
  Box boxes[kCount];
  float areas[kCount];

  __device__ void Set(int i, const Box& box) {
    boxes[i] = box;
    areas[i] = Area(box);
  }
  __device__ bool Hits(int i, const Box& box, float area, float threshold) const {
    return Overlap(box, area, boxes[i], areas[i], threshold);
  }
  /// Which of the boxes first, first + 1, ... may overlap: bit k for first + k. Without branches, so that tests lie
  /// abreast.
  template <int kTests>
  __device__ unsigned MayHit(int first, const Box& box, float area, float threshold, float bar) const {
    unsigned found = 0;
#pragma unroll
    for (int k = 0; k < kTests; ++k) {
      found |= MayOverlap(box, area, boxes[first + k], areas[first + k], threshold, bar) ? 1u << k : 0;
    }
    return found;
  }
};

/// Bit j of word w of row i: box i overlaps box 32 w + j of some other tile, or of its own and ahead of it. Words of a
/// row lie kTile apart, so that neighbouring threads meet different banks.
using OverlapBits = unsigned[kWords][kTile];

struct ResolveShared {
  OverlapBits before;
  uint2 round[2][kWords];  // kept and undecided boxes, in turns
  unsigned kept[kWords];
  unsigned same_class[kWords][kTile];  // only with a limit by class
};

/// The bits of word `word` at and behind position `first` of a tile.
__device__ inline unsigned BitsFrom(int first, int word) {
  const int shift = first - 32 * word;
  return shift <= 0 ? kAllLanes : shift >= 32 ? 0u : kAllLanes << shift;
}

/// Words of overlaps of this thread's box with boxes [first, end) of `rivals`. The block's threads share the words: the
/// thread t works on box t % kTile and on every (blockDim / kTile)-th word.
template <typename Box>
__device__ inline void FindOverlaps(const Box& mine, float area, int first, int end, const BoxTile<Box>& rivals,
                                    float threshold, OverlapBits& bits) {
  const int thread = static_cast<int>(threadIdx.x) % kTile;
  const int step = static_cast<int>(blockDim.x) / kTile;
  const float bar = MayOverlapBar(area, threshold);
  for (int word = static_cast<int>(threadIdx.x) / kTile; word < kWords; word += step) {
    unsigned found = IsActive(mine) ? BitsFrom(first, word) & ~BitsFrom(end, word) : 0;
    if (found != 0) {
      found &= rivals.template MayHit<32>(32 * word, mine, area, threshold, bar);
    }
    for (unsigned left = found; left != 0; left &= left - 1) {
      const int i = __ffs(static_cast<int>(left)) - 1;
      found &= rivals.Hits(32 * word + i, mine, area, threshold) ? kAllLanes : ~(1u << i);
    }
    bits[word][thread] = found;
  }
}

/// Decides the boxes of a tile: box t, of thread t, takes part if `open`. A box stays unless one that stays overlaps it
/// (`shared.before`). Rounds: whatever no longer depends on an undecided box is decided, a warp following chains among
/// its own 32 to their end, so there are as many rounds as there are steps from warp to warp, at most kWords. Leaves
/// shared.kept. Called by all threads of the block, after a barrier behind the writing of `before`.
__device__ inline void ResolveTile(bool open, ResolveShared& shared) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool decides = warp < kWords;
  unsigned undecided = __ballot_sync(kAllLanes, open);
  unsigned kept = 0;
  unsigned before[kWords];  // overlaps with boxes of earlier warps
  unsigned before_here = 0;
  if (decides) {
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      before[word] = word < warp ? shared.before[word][threadIdx.x] : 0;
    }
    before_here = shared.before[warp][threadIdx.x];
    if (lane == 0) {
      shared.round[0][warp] = make_uint2(0, undecided);
    }
  }
  __syncthreads();
  for (int turn = 0;; turn ^= 1) {
    if (decides && undecided != 0) {
      bool hit = false;
      bool waits = false;
#pragma unroll
      for (int word = 0; word < kWords - 1; ++word) {
        if (word < warp) {
          const uint2 earlier = shared.round[turn][word];
          hit = hit || (before[word] & earlier.x) != 0;
          waits = waits || (before[word] & earlier.y) != 0;
        }
      }
      unsigned decided = 0;
      do {
        const bool mine = (undecided >> lane & 1u) != 0;
        const bool gone = hit || (before_here & kept) != 0;
        const unsigned dropped = __ballot_sync(kAllLanes, mine && gone);
        const unsigned stays = __ballot_sync(kAllLanes, mine && !gone && !waits && (before_here & undecided) == 0);
        kept |= stays;
        decided = dropped | stays;
        undecided &= ~decided;
      } while (decided != 0 && undecided != 0);
    }
    if (decides && lane == 0) {
      shared.round[turn ^ 1][warp] = make_uint2(kept, undecided);
    }
    if (__syncthreads_or(decides && undecided != 0 ? 1 : 0) == 0) {
      break;
    }
  }
  if (decides && lane == 0) {
    shared.kept[warp] = kept;
  }
  __syncthreads();
}

/// The same one box after another, for groups of several classes of which each keeps at most `limit`: `kept_before` is
/// what the class of this thread's box has kept ahead of the tile, shared.same_class the boxes of the same class ahead
/// in the tile. One warp decides.
__device__ inline void ResolveTileByClass(bool open, int kept_before, int limit, int* scratch, ResolveShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kTile) {
    scratch[thread] = open ? kept_before : -1;
  }
  __syncthreads();
  if (thread < 32) {
    unsigned kept = 0;  // lane w holds word w
    for (int i = 0; i < kTile; ++i) {
      const bool mine = thread < kWords;
      const unsigned hit = mine ? shared.before[thread % kWords][i] & kept : 0;
      int of_class = mine ? __popc(shared.same_class[thread % kWords][i] & kept) : 0;
      for (int step = kWords / 2; step > 0; step /= 2) {
        of_class += __shfl_xor_sync(kAllLanes, of_class, step);
      }
      of_class = __shfl_sync(kAllLanes, of_class, 0) + scratch[i];
      const bool stays = scratch[i] >= 0 && of_class < limit && !__any_sync(kAllLanes, hit != 0);  // alike in all lanes
      if (stays && thread == i / 32) {
        kept |= 1u << (i % 32);
      }
    }
    if (thread < kWords) {
      shared.kept[thread] = kept;
    }
  }
  __syncthreads();
}

/// One word of what a tile has decided of its last group, the one that may go on in the next tile: which of 32 boxes
/// were kept, and how many the group has kept since it began. Zero until then.
struct TileState {
  std::uint64_t word;
  static constexpr std::uint64_t kReady = std::uint64_t{1} << 63;
  __device__ static TileState Make(unsigned kept, int of_group) {
    return {kReady | static_cast<std::uint64_t>(of_group) << 32 | kept};
  }
  __device__ bool ready() const { return (word & kReady) != 0; }
  __device__ unsigned kept() const { return static_cast<unsigned>(word); }
  __device__ int of_group() const { return static_cast<int>(word >> 32 & 0x7fffffff); }
};

/// The position in the tile where the group at `position` begins, or -1 if it began before the tile.
__device__ inline int FirstOfGroup(const unsigned (&starts)[kWords], int position) {
  int word = position / 32;
  unsigned bits = starts[word] & (kAllLanes >> (31 - position % 32));
  while (bits == 0 && word > 0) {
    bits = starts[--word];
  }
  return bits == 0 ? -1 : 32 * word + 31 - __clz(static_cast<int>(bits));
}

/// Kept boxes from position `first` of a tile to before position `end`.
__device__ inline int CountBetween(const unsigned (&kept)[kWords], int first, int end) {
  int count = 0;
#pragma unroll
  for (int word = 0; word < kWords; ++word) {
    count += __popc(kept[word] & BitsFrom(first, word) & ~BitsFrom(end, word));
  }
  return count;
}

/// The sum over a warp. Called by all lanes.
__device__ inline int WarpSum(int value) {
  for (int step = 16; step > 0; step /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, step);
  }
  return value;
}

/// The sum over the kSortTile threads of the block. Called by all.
__device__ inline int BlockSum(int value, int (&of_warps)[32]) {
  value = WarpSum(value);
  if (threadIdx.x % 32 == 0) {
    of_warps[threadIdx.x / 32] = value;
  }
  __syncthreads();
  const int sum = WarpSum(of_warps[threadIdx.x % 32]);
  __syncthreads();  // `of_warps` may be used again
  return sum;
}

/// How many threads of the block ahead of this one have `counts`, of kSortTile. Called by all.
__device__ inline int CountAhead(bool counts, int (&of_warps)[32]) {
  const unsigned bits = __ballot_sync(kAllLanes, counts);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane == 0) {
    of_warps[warp] = __popc(bits);
  }
  __syncthreads();
  const int ahead = WarpSum(lane < warp ? of_warps[lane] : 0);
  __syncthreads();  // `of_warps` may be used again
  return ahead + __popc(bits & ((1u << lane) - 1));
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_TILE_CUH_

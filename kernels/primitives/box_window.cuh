// Deciding a window, up to kWindow boxes in their order: which overlap which ahead of them, found by all blocks of an
// image and left in memory, and then who stays, decided by one block.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_WINDOW_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_WINDOW_CUH_

#include <cstdint>

#include "kernels/primitives/box_geometry.h"
#include "kernels/primitives/box_tile.cuh"
#include "kernels/primitives/box_workspace.h"

namespace kernelwire::box {

inline constexpr int kRoundThreads = 512;
inline constexpr int kRoundWarps = kRoundThreads / 32;
static_assert(2 * kRoundWarps == kWindowWords, "a warp decides two words of a window");

/// Boxes of several groups.
template <typename Box, int kCount>
struct GroupedBoxes : BoxTile<Box, kCount> {
  std::int32_t groups[kCount];

  __device__ void Set(int i, const Box& box, std::int32_t group) {
    BoxTile<Box, kCount>::Set(i, box);
    groups[i] = group;
  }
  /// Whether box i is of this group and overlaps.
  __device__ bool Hits(int i, const Box& box, float area, std::int32_t group, float threshold) const {
    return groups[i] == group && BoxTile<Box, kCount>::Hits(i, box, area, threshold);
  }
};

struct WindowShared {
  std::int32_t positions[kWindow];  // of its boxes, rising
  int size;
  bool covers_all;                    // no undecided box lies behind it
  uint4 states[2][kWindowWords / 2];  // of two words each, in turns: kept, undecided, kept, undecided
  unsigned kept[kWindowWords];        // a bit a box
  int kept_ahead[kWindowWords];       // kept boxes in earlier words
  std::int32_t kept_groups[kWindow];  // of kept boxes in order; only with a limit by group
  int of_warps[2][kRoundWarps];
};

/// The overlaps of 32 boxes of a window with 32 others ahead of them, or with themselves: bit j of lane i's word tells
/// whether box 32 row + i overlaps box 32 column + j, ahead of it. Rows lie behind each other, the words of a row as
/// far as its own. column <= row.
__device__ inline std::uint32_t& OverlapWord(std::uint32_t* overlaps, int row, int column, int lane) {
  return overlaps[32 * (row * (row + 1) / 2 + column) + lane];
}

/// Visits the pairs (row, column), column <= row < words, that fall to number `first` of those that share them, and to
/// every `step`-th. The rows i from above and from below make lines of equal length.
template <typename Body>
__device__ inline void ForEachWordPair(int words, int first, int step, const Body& body) {
  const int even = words + words % 2;
  for (int i = first; i < even / 2 * (even + 1); i += step) {
    const int line = i / (even + 1);
    const int place = i % (even + 1);
    const bool above = place <= line;
    const int row = above ? line : even - 1 - line;
    if (row < words) {
      body(row, above ? place : place - line - 1);
    }
  }
}

/// Which of the boxes [first, first + kTests) of a word overlap this lane's box, which lies in a later word or, at its
/// lane, in the same one: bit k for first + k. Called by whole warps.
template <int kTests, typename Box>
__device__ inline unsigned OverlapsAhead(const GroupedBoxes<Box, 32>& ahead, int first, bool same_word, const Box& box,
                                         std::int32_t group, float threshold) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float area = Area(box);
  const float bar = MayOverlapBar(area, threshold);
  unsigned found = IsActive(box) ? ahead.template MayHit<kTests>(first, box, area, threshold, bar) : 0;
  found &= same_word ? ((1u << lane) - 1) >> first : kAllLanes;
  for (unsigned left = found; left != 0; left &= left - 1) {
    const int j = __ffs(static_cast<int>(left)) - 1;
    found &= ahead.Hits(first + j, box, area, group, threshold) ? kAllLanes : ~(1u << j);
  }
  return found;
}

/// Finds the overlaps of a word's boxes with those of an earlier one, or the same, and leaves them in memory. `ahead`
/// is scratch of the warp. Called by whole warps.
template <typename Box>
__device__ inline void FindOverlaps(const Workspace& space, const WindowShared& window, int row, int column,
                                    bool grouped, float threshold, GroupedBoxes<Box, 32>& ahead) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Box box = NowhereOf<Box>();
  Box other = box;
  std::int32_t group = 0;
  std::int32_t other_group = 0;
  if (32 * row + lane < window.size) {
    const std::int32_t position = window.positions[32 * row + lane];
    box = space.boxes<Box>()[position];
    group = grouped ? space.groups()[position] : 0;
  }
  if (32 * column + lane < window.size) {
    const std::int32_t position = window.positions[32 * column + lane];
    other = space.boxes<Box>()[position];
    other_group = grouped ? space.groups()[position] : 0;
  }
  ahead.Set(lane, other, other_group);
  __syncwarp();
  OverlapWord(space.overlaps(), row, column, lane) = OverlapsAhead<32>(ahead, 0, row == column, box, group, threshold);
  __syncwarp();
}

/// Lists the set bits of a warp's words, the lowest one's first bit at `position`; `place` is where those of this
/// lane's word belong in the list. A word at a time, a lane a bit. Called by whole warps.
__device__ inline void List(unsigned bits, int position, int place, WindowShared& shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned words = __ballot_sync(kAllLanes, bits != 0 && place < kWindow);
  constexpr int kAtOnce = 8;
  for (int first = 0; first < 32; first += kAtOnce) {
    if ((words >> first & ((1u << kAtOnce) - 1)) == 0) {
      continue;  // alike in all lanes
    }
#pragma unroll
    for (int word = first; word < first + kAtOnce; ++word) {
      const unsigned of_word = __shfl_sync(kAllLanes, bits, word);
      const int at = __shfl_sync(kAllLanes, place, word) + __popc(of_word & ((1u << lane) - 1));
      if ((of_word >> lane & 1u) != 0 && at < kWindow) {
        shared.positions[at] = position + 32 * word + lane;
      }
    }
  }
}

/// Finds the window: the first undecided boxes, as far as kWindow, from position `from` on. Called by all kRoundThreads
/// threads of the block; so are all functions below.
__device__ inline void FindWindow(const std::uint32_t* undecided, std::int64_t from, std::int64_t candidates,
                                  WindowShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t words = (candidates + 31) / 32;
  int found = 0;
  int turn = 0;
  std::int64_t first = from / 32;
  for (; first < words && found < kWindow; first += kRoundThreads, turn ^= 1) {
    const std::int64_t word = first + thread;
    unsigned bits = word < words ? undecided[word] : 0;
    int place = __popc(bits);
    for (int step = 1; step < 32; step *= 2) {
      const int before = __shfl_up_sync(kAllLanes, place, step);
      place += thread % 32 >= step ? before : 0;
    }
    if (thread % 32 == 31) {
      shared.of_warps[turn][thread / 32] = place;
    }
    __syncthreads();
    place += found - __popc(bits);
    for (int warp = 0; warp < kRoundWarps; ++warp) {
      const int of_warp = shared.of_warps[turn][warp];
      place += warp < thread / 32 ? of_warp : 0;
      found += of_warp;
    }
    List(bits, static_cast<int>(32 * (word - thread % 32)), place, shared);
  }
  if (thread == 0) {
    shared.size = min(found, kWindow);
    shared.covers_all = first >= words && found <= kWindow;
  }
  __syncthreads();
}

/// The window of the first round.
__device__ inline void TakeFirstWindow(std::int64_t candidates, WindowShared& shared) {
  for (int i = static_cast<int>(threadIdx.x); i < kWindow; i += kRoundThreads) {
    shared.positions[i] = i;
  }
  if (threadIdx.x == 0) {
    shared.size = static_cast<int>(min(candidates, std::int64_t{kWindow}));
    shared.covers_all = candidates <= kWindow;
  }
  __syncthreads();
}

/// Boxes of one word, a box a lane, as far as they are decided.
struct WordState {
  unsigned here;  // overlaps within the word, this lane's
  bool hit;       // a kept box of an earlier word suppresses this lane's
  bool waits;     // an undecided one may
  unsigned kept;
  unsigned undecided;

  /// Drops and keeps what no longer depends on an undecided box. Returns whether there was any.
  __device__ bool Step() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool mine = (undecided >> lane & 1u) != 0;
    const bool gone = hit || (here & kept) != 0;
    const unsigned dropped = __ballot_sync(kAllLanes, mine && gone);
    const unsigned stays = __ballot_sync(kAllLanes, mine && !gone && !waits && (here & undecided) == 0);
    kept |= stays;
    undecided &= ~(dropped | stays);
    return (dropped | stays) != 0;
  }
};

/// Decides the boxes of a window into shared.kept: a box stays unless one that stays overlaps it. Rounds of warps, each
/// of which has a word from the front and one from the back, so that all have as much to look at; whatever no longer
/// depends on an undecided box is decided, a warp following chains among its own 32 to their end.
__device__ inline void DecideWindow(std::uint32_t* overlaps, WindowShared& shared) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int words = (shared.size + 31) / 32;
  const int front = warp;
  const int back = kWindowWords - 1 - warp;
  const auto all_of = [&](int word) {
    const int boxes = min(max(shared.size - 32 * word, 0), 32);
    return boxes == 0 ? 0u : kAllLanes >> (32 - boxes);
  };
  unsigned front_words[kRoundWarps];
  unsigned back_words[kWindowWords];
#pragma unroll
  for (int word = 0; word < kRoundWarps; ++word) {
    front_words[word] = word < front && front < words ? OverlapWord(overlaps, front, word, lane) : 0;
  }
#pragma unroll
  for (int word = 0; word < kWindowWords; ++word) {
    back_words[word] = word < back && back < words ? OverlapWord(overlaps, back, word, lane) : 0;
  }
  WordState of_front{front < words ? OverlapWord(overlaps, front, front, lane) : 0, false, false, 0, all_of(front)};
  WordState of_back{back < words ? OverlapWord(overlaps, back, back, lane) : 0, false, false, 0, all_of(back)};
  const auto put = [&](int turn) {
    if (lane == 0) {
      auto* const states = reinterpret_cast<uint2*>(shared.states[turn]);
      states[front] = make_uint2(of_front.kept, of_front.undecided);
      states[back] = make_uint2(of_back.kept, of_back.undecided);
    }
  };
  put(0);
  __syncthreads();
  for (int turn = 0;; turn ^= 1) {
    if ((of_front.undecided | of_back.undecided) != 0) {
      unsigned front_hit = 0, front_wait = 0, back_hit = 0, back_wait = 0;
#pragma unroll
      for (int pair = 0; pair < kWindowWords / 2; ++pair) {
        if (2 * pair < words) {
          const uint4 state = shared.states[turn][pair];
          if (pair < kRoundWarps / 2) {
            front_hit |= (front_words[2 * pair] & state.x) | (front_words[2 * pair + 1] & state.z);
            front_wait |= (front_words[2 * pair] & state.y) | (front_words[2 * pair + 1] & state.w);
          }
          back_hit |= (back_words[2 * pair] & state.x) | (back_words[2 * pair + 1] & state.z);
          back_wait |= (back_words[2 * pair] & state.y) | (back_words[2 * pair + 1] & state.w);
        }
      }
      of_front.hit = front_hit != 0;
      of_front.waits = front_wait != 0;
      of_back.hit = back_hit != 0;
      of_back.waits = back_wait != 0;
      for (bool goes_on = true; goes_on;) {  // both at once: a step waits longer than it works
        const bool front_moves = of_front.Step();
        goes_on = of_back.Step() || front_moves;
      }
    }
    put(turn ^ 1);
    if (__syncthreads_or((of_front.undecided | of_back.undecided) != 0 ? 1 : 0) == 0) {
      break;
    }
  }
  if (lane == 0) {
    shared.kept[front] = of_front.kept;
    shared.kept[back] = of_back.kept;
  }
  __syncthreads();
}

__device__ inline bool IsKept(const WindowShared& shared, int i) { return (shared.kept[i / 32] >> (i % 32) & 1u) != 0; }

/// How many boxes of the window before box i are kept. Requires: CountKept has been called.
__device__ inline int KeptAhead(const WindowShared& shared, int i) {
  return shared.kept_ahead[i / 32] + __popc(shared.kept[i / 32] & ((1u << (i % 32)) - 1));
}

/// Returns how many boxes of the window are kept, and counts them for KeptAhead.
__device__ inline int CountKept(WindowShared& shared) {
  static_assert(kWindowWords == 32, "a word a lane");
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int mine = __popc(shared.kept[lane]);
  int sum = mine;
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(kAllLanes, sum, step);
    sum += lane >= step ? before : 0;
  }
  if (threadIdx.x < 32) {
    shared.kept_ahead[lane] = sum - mine;
  }
  __syncthreads();
  return __shfl_sync(kAllLanes, sum, 31);
}

/// How many boxes of box i's group were kept before it: those in the window and, where they are counted, those before.
template <typename GroupAt>
__device__ inline int CountOfGroup(const WindowShared& shared, int i, const std::int32_t* kept_of_group,
                                   const GroupAt& group_at) {
  const std::int32_t group = group_at(i);
  const int ahead = KeptAhead(shared, i);
  int count = kept_of_group != nullptr ? kept_of_group[group] : 0;
  for (int k = 0; k < ahead; ++k) {
    count += shared.kept_groups[k] == group ? 1 : 0;
  }
  return count;
}

/// Drops boxes of groups that keep no more than `limit`: greedy order makes them their groups' last, so they have
/// suppressed nobody that counts. group_at(i) is the group of box i of the window; `kept_of_group` counts what earlier
/// windows kept and is null where there are none. Requires: CountKept has been called; and it has to be again.
template <typename GroupAt>
__device__ inline void DropBeyondLimit(WindowShared& shared, std::int32_t limit, std::int32_t* kept_of_group,
                                       const GroupAt& group_at) {
  for (int i = static_cast<int>(threadIdx.x); i < shared.size; i += kRoundThreads) {
    if (IsKept(shared, i)) {
      shared.kept_groups[KeptAhead(shared, i)] = group_at(i);
    }
  }
  __syncthreads();
  bool stays[kWindow / kRoundThreads];
  for (int k = 0; k < kWindow / kRoundThreads; ++k) {
    const int i = static_cast<int>(threadIdx.x) + k * kRoundThreads;
    stays[k] = i < shared.size && IsKept(shared, i) && CountOfGroup(shared, i, kept_of_group, group_at) < limit;
  }
  __syncthreads();
  for (int k = 0; k < kWindow / kRoundThreads; ++k) {
    const int i = static_cast<int>(threadIdx.x) + k * kRoundThreads;
    const unsigned kept = __ballot_sync(kAllLanes, stays[k]);
    if (i % 32 == 0) {
      shared.kept[i / 32] = kept;
    }
    if (stays[k] && kept_of_group != nullptr) {
      atomicAdd(&kept_of_group[group_at(i)], 1);
    }
  }
  __syncthreads();
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_WINDOW_CUH_

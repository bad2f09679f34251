// The second half of suppression on the device: SuppressKernel decides the boxes of an image. box_output.cuh puts the
// kept ones out.
//
// There is no N x N mask. A block takes a tile of kTile boxes in their order, and finds the overlaps within the tile
// and with the tile before it while others are still at work. What earlier tiles kept reaches it as kWords words a
// tile, which carry the decision themselves: whoever sees a word has the data, no fence between. So from one tile to
// the next there is one trip through the level-2 cache and the rounds of ResolveTile. Tiles are handed out in order by
// a ticket, so a waiting block waits only for blocks that run. Boxes of a group that begins in a tile are decided
// without waiting, and what the next tile needs of them is published first: chains of tiles are as long as groups.
//
// Source: the chain of published tiles follows the decoupled look-back of Merrill and Garland, 2016.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_SUPPRESS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_SUPPRESS_CUH_

#include <cstdint>
#include <cuda/atomic>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/box_rank.cuh"
#include "kernels/primitives/box_tile.cuh"

namespace kernelwire::box {

inline constexpr int kSuppressThreads = 2 * kTile;

using SharedWord = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;

/// Tiles whose decisions a block takes in at once, when they are there already.
inline constexpr int kLookAhead = 32 / kWords;

template <typename Box>
struct SuppressShared {
  BoxTile<Box> own;
  BoxTile<Box> rivals;  // the tile before, then kept boxes of earlier ones
  OverlapBits with_previous;
  ResolveShared resolve;
  unsigned starts[kWords];                  // bit i of word w: at 32 w + i another group begins than before it
  unsigned states[kWords];                  // what the tile before has kept of the group
  std::int32_t listed[kLookAhead * kTile];  // positions of kept boxes of earlier tiles
  int listed_count;
  int tiles_seen;
  int of_group;  // kept by the group up to there
  int scratch[kTile];
  std::int64_t first_of_group;  // position where the group at the tile's beginning began
};

/// Suppression of one tile by one block. Threads t and t + kTile share box t of the tile.
template <typename P>
class TileSuppressor {
 public:
  using Box = typename P::Box;

  __device__ TileSuppressor(const typename P::Params& params, const BoxImage& image, SuppressShared<Box>& shared)
      : params_(params),
        rules_(P::Rules(params)),
        image_(image),
        shared_(shared),
        candidates_(image.space.header()->candidates),
        ranked_(RankedKeys<P>(image)),
        grouped_(image.space.keys(GroupBuffer(MergePasses(image.slots), MergePasses(image.slots)))),
        boxes_(image.space.boxes<Box>()),
        thread_(static_cast<int>(threadIdx.x) % kTile),
        leads_(threadIdx.x < kTile) {}

  __device__ std::int64_t tiles() const { return (candidates_ + kTile - 1) / kTile; }

  /// Called by all threads of the block.
  __device__ void Run(std::int64_t tile) {
    tile_ = tile;
    kept_ = false;
    Load();
    const int size = static_cast<int>(min(std::int64_t{kTile}, candidates_ - tile * kTile));
    const int tail = FirstOfGroup(shared_.starts, size - 1);  // where the tile's last group begins
    const bool begins_inside = (shared_.starts[0] & 1u) != 0;
    FindOverlaps(mine_, area_, max(first_, 0), thread_, shared_.own, rules_.iou_threshold, shared_.resolve.before);
    __syncthreads();
    if (begins_inside || tail > 0) {  // some groups depend on nobody
      Resolve(in_range_ && first_ >= 0, 0);
      if (tail >= 0) {
        Publish(tail, size, 0);
      }
    }
    if (!begins_inside) {
      bool alive = false;
      const int of_group = TestAgainstEarlierTiles(&alive);
      Resolve(alive, of_group);
      if (tail < 0) {
        Publish(0, size, of_group);
      }
    }
    if (leads_ && in_range_) {
      image_.space.flags()[rank_] = kept_ ? 1 : 0;
      if (kept_) {
        atomicAdd(&image_.space.kept_of_ranks()[rank_ / kSortTile], 1);
      }
    }
    __syncthreads();  // the shared memory may be used for another tile
  }

 private:
  __device__ std::int64_t position() const { return tile_ * kTile + thread_; }

  /// Loads the box of each thread into registers and shared memory and finds out where its group begins.
  __device__ void Load() {
    in_range_ = position() < candidates_;
    bool starts = position() == 0;
    rank_ = static_cast<std::uint32_t>(position());
    mine_ = NowhereOf<Box>();
    if (in_range_) {
      if (rules_.has_groups) {
        const std::uint64_t key = grouped_[position()];
        rank_ = static_cast<std::uint32_t>(key);
        starts = starts || grouped_[position() - 1] >> 32 != key >> 32;
      }
      mine_ = boxes_[position()];
    }
    const unsigned bits = __ballot_sync(kAllLanes, starts);
    if (leads_) {
      if (thread_ % 32 == 0) {
        shared_.starts[thread_ / 32] = bits;
      }
      shared_.own.Set(thread_, mine_);
    }
    area_ = Area(mine_);
    __syncthreads();
    first_ = FirstOfGroup(shared_.starts, thread_);
  }

  /// Decides the open boxes, `of_group` having been kept of their group before the tile.
  __device__ void Resolve(bool open, int of_group) {
    const bool by_class = rules_.per_class != kNoLimit;
    if (by_class) {
      ResolveByClass(open);
    } else {
      ResolveTile(open && leads_, shared_.resolve);
    }
    if (rules_.per_group != kNoLimit) {
      DropBeyondLimit(of_group);
    }
    if (leads_ && open) {
      kept_ = IsKept();
      if (kept_ && by_class) {
        atomicAdd(&image_.kept_of_class[ClassOfMine()], 1);
      }
    }
  }

  __device__ bool IsKept() const { return (shared_.resolve.kept[thread_ / 32] >> (thread_ % 32) & 1u) != 0; }
  __device__ int ClassOfMine() const {
    return static_cast<int>(P::ClassOf(params_, image_, static_cast<std::uint32_t>(ranked_[rank_])));
  }

  /// Boxes of a group that keeps no more: greedy order makes them its last, so they have suppressed nobody that counts.
  __device__ void DropBeyondLimit(int of_group) {
    const int before = CountBetween(shared_.resolve.kept, max(first_, 0), thread_);
    const bool kept = IsKept() && of_group + before < rules_.per_group;
    __syncthreads();
    const unsigned bits = __ballot_sync(kAllLanes, kept);
    if (leads_ && thread_ % 32 == 0) {
      shared_.resolve.kept[thread_ / 32] = bits;
    }
    __syncthreads();
  }

  __device__ void ResolveByClass(bool open) {
    const int class_id = in_range_ ? ClassOfMine() : -1;
    const int kept_before = in_range_ ? SharedCount(image_.kept_of_class[max(class_id, 0)]) : 0;
    if (leads_) {
      shared_.scratch[thread_] = class_id;
    }
    __syncthreads();
    if (leads_) {
      for (int word = 0; word < kWords; ++word) {
        unsigned same = 0;
        for (int i = 32 * word; i < min(thread_, 32 * word + 32); ++i) {
          same |= shared_.scratch[i] == class_id ? 1u << (i - 32 * word) : 0;
        }
        shared_.resolve.same_class[word][thread_] = same;
      }
    }
    __syncthreads();
    ResolveTileByClass(open && leads_, kept_before, rules_.per_class, shared_.scratch, shared_.resolve);
  }

  /// A counter that blocks before this one have written.
  __device__ static int SharedCount(std::int32_t& counter) {
    return cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(counter).load(cuda::memory_order_relaxed);
  }

  /// Lets the next tiles know which boxes [tail, size) were kept.
  __device__ void Publish(int tail, int size, int of_group) {
    if (rules_.per_class != kNoLimit) {
      __threadfence();  // the counters by class come first
      __syncthreads();
    }
    if (threadIdx.x < kWords) {
      const int word = static_cast<int>(threadIdx.x);
      const int count = of_group + CountBetween(shared_.resolve.kept, tail, size);
      const TileState state = TileState::Make(shared_.resolve.kept[word] & BitsFrom(tail, word), count);
      SharedWord(image_.space.states()[tile_ * kWords + word]).store(state.word, cuda::memory_order_relaxed);
    }
  }

  __device__ TileState Look(std::int64_t tile, int word) const {
    return {SharedWord(image_.space.states()[tile * kWords + word]).load(cuda::memory_order_relaxed)};
  }

  /// Waits until tile `first` has been decided, and takes in what it kept and, as far as they have been decided too,
  /// the tiles behind it and before `end`. Tiles are handed out in order, so the awaited one's block has begun, and
  /// waits for none later. Called by all threads.
  __device__ void ListKept(std::int64_t first, std::int64_t end) {
    if (threadIdx.x < 32) {
      const int lane = static_cast<int>(threadIdx.x);
      const std::int64_t tile = first + lane / kWords;
      TileState seen{0};
      unsigned ready = 0;
      while ((ready & 0xffu) != 0xffu) {  // the words of the first
        seen = tile < end ? Look(tile, lane % kWords) : TileState{0};
        ready = __ballot_sync(kAllLanes, seen.ready());
      }
      const int words = ready == kAllLanes ? 32 : (__ffs(static_cast<int>(~ready)) - 1) / kWords * kWords;
      unsigned kept = lane < words ? seen.kept() : 0;
      int place = __popc(kept);
      for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(kAllLanes, place, step);
        place += lane >= step ? before : 0;
      }
      if (lane == words - 1) {
        shared_.listed_count = place;
        shared_.tiles_seen = words / kWords;
        shared_.of_group = seen.of_group();
      }
      for (place -= __popc(kept); kept != 0; kept &= kept - 1) {
        shared_.listed[place++] =
            static_cast<std::int32_t>(tile * kTile) + 32 * (lane % kWords) + __ffs(static_cast<int>(kept)) - 1;
      }
      AcquireCounters();
    }
    __syncthreads();
  }

  /// Waits for the tile before this one, whose overlaps are known already.
  __device__ void WaitForPrevious() {
    if (threadIdx.x < kWords) {
      TileState seen = Look(tile_ - 1, static_cast<int>(threadIdx.x));
      while (!seen.ready()) {
        seen = Look(tile_ - 1, static_cast<int>(threadIdx.x));
      }
      shared_.states[threadIdx.x] = seen.kept();
      if (threadIdx.x == 0) {
        shared_.of_group = seen.of_group();
      }
      AcquireCounters();
    }
    __syncthreads();
  }

  __device__ void AcquireCounters() const {
    if (rules_.per_class != kNoLimit) {
      __threadfence();
    }
  }

  /// Where the group at the tile's beginning began: the first position of its class among the sorted keys.
  __device__ std::int64_t FindGroup() const {
    if (!rules_.has_groups) {
      return 0;
    }
    const std::uint64_t least = grouped_[tile_ * kTile] >> 32 << 32;
    return LowerBound(grouped_, static_cast<int>(tile_ * kTile), least);
  }

  /// Finds the overlaps with the tile before, as far as it is of the same group, while that is still being decided.
  __device__ void FindOverlapsWithPrevious(bool chained, std::int64_t group) {
    if (leads_) {
      const std::int64_t other = (tile_ - 1) * kTile + thread_;
      shared_.rivals.Set(thread_, other >= group ? boxes_[other] : NowhereOf<Box>());
    }
    __syncthreads();
    FindOverlaps(chained ? mine_ : NowhereOf<Box>(), area_, 0, kTile, shared_.rivals, rules_.iou_threshold,
                 shared_.with_previous);
    __syncthreads();
  }

  /// Whether a listed box overlaps this thread's. The two threads of a box share the list. Called by all threads.
  __device__ bool OverlapsListed(bool open) {
    const float bar = MayOverlapBar(area_, rules_.iou_threshold);
    for (int begin = 0; begin < shared_.listed_count; begin += kTile) {
      const int count = min(kTile, shared_.listed_count - begin);
      if (leads_ && thread_ < count) {
        shared_.rivals.Set(thread_, boxes_[shared_.listed[begin + thread_]]);
      }
      __syncthreads();
      for (int i = leads_ ? 0 : 1; i < count && open; i += 2) {
        open =
            !(MayOverlap(mine_, area_, shared_.rivals.boxes[i], shared_.rivals.areas[i], rules_.iou_threshold, bar) &&
              Overlap(mine_, area_, shared_.rivals.boxes[i], shared_.rivals.areas[i], rules_.iou_threshold));
      }
      __syncthreads();
    }
    return !open;
  }

  /// Holds the boxes of the group that comes in from earlier tiles against what those kept; `alive` for one that none
  /// of them suppresses. Returns how many the group has kept so far. Called by all threads.
  __device__ int TestAgainstEarlierTiles(bool* alive) {
    if (threadIdx.x == 0) {
      shared_.first_of_group = FindGroup();
    }
    __syncthreads();
    const std::int64_t group = shared_.first_of_group;
    const std::int64_t previous = tile_ - 1;
    const bool chained = in_range_ && first_ < 0;
    FindOverlapsWithPrevious(chained, group);
    bool gone = !chained;
    int of_group = 0;
    for (std::int64_t earlier = group / kTile; earlier < previous && of_group < rules_.per_group;
         earlier += shared_.tiles_seen) {
      __syncthreads();
      ListKept(earlier, previous);
      of_group = shared_.of_group;
      gone = OverlapsListed(!gone) || gone;
    }
    if (of_group < rules_.per_group) {
      __syncthreads();  // all have read what ListKept left
      WaitForPrevious();
      of_group = shared_.of_group;
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        gone = gone || (shared_.with_previous[word][thread_] & shared_.states[word]) != 0;
      }
    }
    if (!leads_) {
      shared_.scratch[thread_] = gone ? 1 : 0;
    }
    __syncthreads();
    *alive = leads_ && !gone && shared_.scratch[thread_] == 0 && of_group < rules_.per_group;
    __syncthreads();
    return of_group;
  }

  const typename P::Params& params_;
  const SuppressionRules rules_;
  const BoxImage& image_;
  SuppressShared<Box>& shared_;
  const std::int64_t candidates_;
  const std::uint64_t* const ranked_;
  const std::uint64_t* const grouped_;
  const Box* const boxes_;
  const int thread_;
  const bool leads_;

  std::int64_t tile_ = 0;
  Box mine_;
  float area_ = 0.0f;
  std::uint32_t rank_ = 0;
  int first_ = 0;  // of the group in the tile; -1: before it
  bool in_range_ = false;
  bool kept_ = false;
};

/// Greedy suppression of all groups of an image, a tile of boxes a block.
template <typename P>
__global__ void __launch_bounds__(kSuppressThreads)
    SuppressKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork(arguments);
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<SuppressShared<typename P::Box>*>(memory);
  __shared__ unsigned ticket;
  const BoxImage image = FindImage<P>(arguments);
  if (!IsChained<P>(P::Rules(arguments.params), image)) {
    return;
  }
  TileSuppressor<P> suppressor(arguments.params, image, shared);
  while (true) {
    if (threadIdx.x == 0) {
      ticket = atomicAdd(&image.space.header()->ticket, 1u);
    }
    __syncthreads();
    const std::int64_t tile = ticket;
    if (tile >= suppressor.tiles()) {
      return;
    }
    suppressor.Run(tile);
  }
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_SUPPRESS_CUH_

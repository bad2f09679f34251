// Suppression of a small image by one block: all in one kernel, a thread a box.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_SMALL_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_SMALL_CUH_

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/box_rank.cuh"
#include "kernels/primitives/box_tile.cuh"

namespace kernelwire::box {

template <typename Box>
struct SmallShared {
  union {
    SortShared sort;  // done before the others begin
    struct {
      BoxTile<Box> tile;    // undecided boxes, the first ones in their order
      int group[kTile];     // of each: the position where its group begins
      int class_id[kTile];  // of each, with a limit by class
      int scratch[kTile];
      unsigned starts[kWords];
    };
  };
  ResolveShared resolve;
  std::uint64_t ranked[kSortTile];
  int of_warps[32];
  unsigned group_starts[32];
  int kept_before[kSortTile];     // by position
  std::uint8_t flags[kSortTile];  // by rank
};

/// One image of at most kSortTile candidates; this thread's box is the one at position threadIdx.x of their order.
template <typename P>
class SmallSuppressor {
 public:
  using Box = typename P::Box;

  __device__ SmallSuppressor(const typename P::Params& params, const BoxImage& image, SmallShared<Box>& shared)
      : params_(params),
        rules_(P::Rules(params)),
        image_(image),
        shared_(shared),
        thread_(static_cast<int>(threadIdx.x)) {}

  /// Called by all threads of the block.
  __device__ void Run() {
    Rank();
    bool undecided = active_;
    while (__syncthreads_or(undecided ? 1 : 0) != 0) {
      undecided = DecideFirst(undecided);
    }
    Write();
  }

 private:
  /// Sorts by score and by group, and loads this thread's box.
  __device__ void Rank() {
    const std::int64_t slots = P::kCollects ? std::int64_t{image_.space.header()->found} : image_.slots;
    std::uint64_t key = thread_ < slots ? P::KeyOf(params_, image_, thread_) : kNoKey;
    const int found = __syncthreads_count(key != kNoKey ? 1 : 0);
    int size = 32;
    while (size < slots) {
      size *= 2;
    }
    key = SortBlock(key, size, shared_.sort);
    shared_.ranked[thread_] = key;
    candidates_ = min(found, rules_.top_k);
    active_ = thread_ < candidates_;
    rank_ = thread_;
    __syncthreads();
    if (rules_.has_groups) {
      const std::uint32_t id = static_cast<std::uint32_t>(key);
      const std::uint64_t grouped = SortBlock(
          active_ ? std::uint64_t{P::GroupOf(params_, image_, id)} << 32 | static_cast<std::uint32_t>(thread_) : kNoKey,
          size, shared_.sort);
      rank_ = static_cast<int>(static_cast<std::uint32_t>(grouped) % kSortTile);
      FindGroup(static_cast<std::uint32_t>(grouped >> 32));
    }
    box_ = active_ ? P::BoxOf(params_, image_, Id()) : NowhereOf<Box>();
    area_ = Area(box_);
  }

  __device__ std::uint32_t Id() const { return static_cast<std::uint32_t>(shared_.ranked[rank_]); }

  /// Finds the position where the group at this thread's begins.
  __device__ void FindGroup(std::uint32_t group) {
    shared_.kept_before[thread_] = static_cast<int>(group);
    __syncthreads();
    const bool starts = thread_ == 0 || shared_.kept_before[thread_ - 1] != static_cast<int>(group);
    const unsigned bits = __ballot_sync(kAllLanes, starts);
    if (thread_ % 32 == 0) {
      shared_.group_starts[thread_ / 32] = bits;
    }
    __syncthreads();
    int word = thread_ / 32;
    unsigned ahead = bits & (kAllLanes >> (31 - thread_ % 32));
    while (ahead == 0) {
      ahead = shared_.group_starts[--word];
    }
    group_ = 32 * word + 31 - __clz(static_cast<int>(ahead));
  }

  /// Decides the first kTile undecided boxes, and drops what they suppress among the others. Returns whether this
  /// thread's box is still undecided.
  __device__ bool DecideFirst(bool undecided) {
    const int ahead = CountAhead(undecided, shared_.of_warps);
    const bool chosen = undecided && ahead < kTile;
    const int size = min(kTile, __syncthreads_count(undecided ? 1 : 0));
    if (chosen) {
      shared_.tile.Set(ahead, box_);
      shared_.group[ahead] = group_;
    }
    if (chosen && rules_.per_class != kNoLimit) {
      shared_.class_id[ahead] = static_cast<int>(P::ClassOf(params_, image_, Id()));
    }
    __syncthreads();
    MarkGroups(size);
    const int row = thread_ % kTile;
    const int first = row < size ? FirstOfGroup(shared_.starts, row) : 0;
    const Box mine = row < size ? shared_.tile.boxes[row] : NowhereOf<Box>();
    FindOverlaps(mine, Area(mine), first, row, shared_.tile, rules_.iou_threshold, shared_.resolve.before);
    __syncthreads();
    Resolve(size);
    if (chosen) {
      kept_ = (shared_.resolve.kept[ahead / 32] >> (ahead % 32) & 1u) != 0;
      return false;
    }
    return undecided && !IsSuppressed(size);
  }

  /// Fills shared.starts for the chosen boxes.
  __device__ void MarkGroups(int size) {
    const bool starts = thread_ == 0 || (thread_ < size && shared_.group[thread_] != shared_.group[thread_ - 1]);
    const unsigned bits = __ballot_sync(kAllLanes, starts);
    if (thread_ % 32 == 0 && thread_ < kTile) {
      shared_.starts[thread_ / 32] = bits;
    }
    __syncthreads();
  }

  __device__ void Resolve(int size) {
    if (rules_.per_class == kNoLimit) {
      ResolveTile(thread_ < size, shared_.resolve);
      return;
    }
    const int class_id = thread_ < size ? shared_.class_id[thread_] : -1;
    for (int word = 0; word < kWords && thread_ < kTile; ++word) {
      unsigned same = 0;
      for (int i = 32 * word; i < min(min(thread_, size), 32 * word + 32); ++i) {
        same |= shared_.class_id[i] == class_id ? 1u << (i - 32 * word) : 0;
      }
      shared_.resolve.same_class[word][thread_] = same;
    }
    const int kept_before = class_id >= 0 ? image_.kept_of_class[class_id] : 0;
    ResolveTileByClass(thread_ < size, kept_before, rules_.per_class, shared_.scratch, shared_.resolve);
    if (thread_ < size && (shared_.resolve.kept[thread_ / 32] >> (thread_ % 32) & 1u) != 0) {
      atomicAdd(&image_.kept_of_class[class_id], 1);
    }
    __syncthreads();
  }

  /// Whether one of the boxes just kept suppresses this thread's. Only their last group goes on behind them.
  __device__ bool IsSuppressed(int size) const {
    if (shared_.group[size - 1] != group_) {
      return false;
    }
    const int first = FirstOfGroup(shared_.starts, size - 1);
    for (int word = first / 32; 32 * word < size; ++word) {
      for (unsigned kept = shared_.resolve.kept[word] & BitsFrom(first, word); kept != 0; kept &= kept - 1) {
        const int i = 32 * word + __ffs(static_cast<int>(kept)) - 1;
        if (Overlap(box_, area_, shared_.tile.boxes[i], shared_.tile.areas[i], rules_.iou_threshold)) {
          return true;
        }
      }
    }
    return false;
  }

  /// Drops what is beyond the limit of its group, and puts the others out in the order of their scores.
  __device__ void Write() {
    if (rules_.per_group != kNoLimit) {
      const int ahead = CountAhead(kept_, shared_.of_warps);
      shared_.kept_before[thread_] = ahead;
      __syncthreads();
      kept_ = kept_ && ahead - shared_.kept_before[group_] < rules_.per_group;
    }
    if (active_) {
      shared_.flags[rank_] = kept_ ? 1 : 0;
    }
    __syncthreads();
    const bool kept = active_ && shared_.flags[thread_] != 0;
    const std::int64_t column = CountAhead(kept, shared_.of_warps);
    const std::int64_t total = min(std::int64_t{__syncthreads_count(kept ? 1 : 0)}, image_.columns);
    if (kept && column < total) {
      P::Write(params_, image_, column, shared_.ranked[thread_]);
    }
    for (std::int64_t i = total + thread_; i < image_.columns; i += kSortTile) {
      P::Pad(params_, image_, i);
    }
    if (thread_ == 0) {
      P::WriteCount(params_, image_, static_cast<std::int32_t>(total));
    }
  }

  const typename P::Params& params_;
  const SuppressionRules rules_;
  const BoxImage& image_;
  SmallShared<Box>& shared_;
  const int thread_;
  int candidates_ = 0;
  int rank_ = 0;
  int group_ = 0;        // position where the group begins
  bool active_ = false;  // the position holds a candidate
  bool kept_ = false;
  Box box_;
  float area_ = 0.0f;
};

/// A block an image; images that are not small are left to the other kernels.
template <typename P>
__global__ void __launch_bounds__(kSortTile)
    SmallImagesKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork();
  extern __shared__ __align__(16) unsigned char memory[];
  const BoxImage image = FindImage<P>(arguments);
  if (IsSmall<P>(image)) {
    SmallSuppressor<P>(arguments.params, image, *reinterpret_cast<SmallShared<typename P::Box>*>(memory)).Run();
  }
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_SMALL_CUH_

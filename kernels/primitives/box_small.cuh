// Suppression of small images, of at most kWindow boxes, in one launch: a cluster of blocks an image (compute
// capability 9.0 and above). What blocks have to tell each other goes through distributed shared memory, and barriers
// of the cluster take the place of launches: every block ranks its share of the boxes by counting and gives each to
// all, at its rank; every block finds its share of the overlaps and gives them to the first; that one decides and puts
// out.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_SMALL_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_SMALL_CUH_

#include <cooperative_groups.h>

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/box_rank.cuh"
#include "kernels/primitives/box_window.cuh"

namespace kernelwire::box {

/// What one block knows of an image.
template <typename Box>
struct SmallShared {
  GroupedBoxes<Box, 32> words[kWindowWords];  // the candidates by rank
  WindowShared window;
  union {
    struct {
      std::uint64_t keys[kWindow];  // by slot
      int before[kRoundThreads];    // of the block's share
    } ranking;
    std::uint32_t overlaps[kWindowWords * (kWindowWords + 1) / 2 * 32];  // of the first block: see OverlapWord
  };
};

#if __CUDA_ARCH__ >= 900

/// One image as one block sees it. All functions are called by all kRoundThreads threads.
template <typename P>
class SmallImage {
 public:
  using Box = typename P::Box;
  using Cluster = cooperative_groups::cluster_group;

  __device__ SmallImage(const typename P::Params& params, const BoxImage& image, SmallShared<Box>& shared)
      : params_(params),
        rules_(P::Rules(params)),
        image_(image),
        slots_(static_cast<int>(image.slots)),
        cluster_(cooperative_groups::this_cluster()),
        blocks_(static_cast<int>(cluster_.num_blocks())),
        block_(static_cast<int>(cluster_.block_rank())),
        shared_(shared) {}

  __device__ void Run() {
    LoadKeys();
    const int share = max((slots_ + 32 * blocks_ - 1) / (32 * blocks_) * 32, 32);
    Rank(block_ * share, min((block_ + 1) * share, slots_), min(share, kRoundThreads));
    cluster_.sync();  // all boxes have been placed, and the first block has no more need of its keys
    TakeIn();
    Search();
    cluster_.sync();
    if (block_ == 0) {
      Decide();
    }
  }

 private:
  __device__ void LoadKeys() {
    static_assert(kWindow == 2 * kRoundThreads, "two keys a thread");
    const int thread = static_cast<int>(threadIdx.x);
    const std::uint64_t low = thread < slots_ ? P::KeyOf(params_, image_, thread) : kNoKey;
    const std::uint64_t high =
        thread + kRoundThreads < slots_ ? P::KeyOf(params_, image_, thread + kRoundThreads) : kNoKey;
    shared_.ranking.keys[thread] = low;
    shared_.ranking.keys[thread + kRoundThreads] = high;
    const int take_part = __syncthreads_count(low != kNoKey ? 1 : 0) + __syncthreads_count(high != kNoKey ? 1 : 0);
    candidates_ = min(take_part, rules_.top_k);
  }

  /// Ranks the slots [first, end), `abreast` of them at a time, several threads each, and places these boxes.
  __device__ void Rank(int first, int end, int abreast) {
    const int mine = static_cast<int>(threadIdx.x) % abreast;
    const int part = static_cast<int>(threadIdx.x) / abreast;
    const int parts = kRoundThreads / abreast;
    for (; first < end; first += abreast) {
      const std::uint64_t key = part < parts && first + mine < end ? shared_.ranking.keys[first + mine] : kNoKey;
      Box box = NowhereOf<Box>();
      std::int32_t group = 0;
      if (part == 0 && key != kNoKey) {  // on its way while others are counted
        const auto id = static_cast<std::uint32_t>(key);
        box = P::BoxOf(params_, image_, id);
        group = rules_.has_groups ? static_cast<std::int32_t>(P::GroupOf(params_, image_, id)) : 0;
      }
      const int rank = RankOf(key, mine, part, parts);
      if (part == 0 && key != kNoKey && rank < candidates_) {
        image_.space.keys(kSmallBuffer)[rank] = key;
        image_.space.template boxes<Box>()[rank] = box;
        image_.space.groups()[rank] = group;
      }
    }
  }

  /// How many keys are less; `parts` threads share the counting.
  __device__ int RankOf(std::uint64_t key, int mine, int part, int parts) {
    const int length = (slots_ + parts - 1) / parts;
    __syncthreads();  // all have read what was counted before
    shared_.ranking.before[threadIdx.x] = 0;
    __syncthreads();
    if (key != kNoKey) {
      int less = 0;
#pragma unroll 8
      for (int i = part * length; i < min((part + 1) * length, slots_); ++i) {
        less += shared_.ranking.keys[i] < key ? 1 : 0;
      }
      atomicAdd(&shared_.ranking.before[mine], less);
    }
    __syncthreads();
    return shared_.ranking.before[mine];
  }

  __device__ void TakeIn() {
    TakeFirstWindow(candidates_, shared_.window);
    for (int i = static_cast<int>(threadIdx.x); i < candidates_; i += kRoundThreads) {
      shared_.words[i / 32].Set(i % 32, image_.space.template boxes<Box>()[i], image_.space.groups()[i]);
    }
    __syncthreads();
  }

  /// Finds the block's share of the overlaps. Warps take half a pair of words at a time, so that none has much more to
  /// do than others.
  __device__ void Search() {
    constexpr int kTests = 16;
    const int warp = block_ * kRoundWarps + static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int first = warp % 2 * kTests;
    std::uint32_t* const overlaps = cluster_.map_shared_rank(shared_.overlaps, 0);
    ForEachWordPair((candidates_ + 31) / 32, warp / 2, blocks_ * kRoundWarps / 2, [&](int row, int column) {
      const GroupedBoxes<Box, 32>& own = shared_.words[row];
      const Box box = 32 * row + lane < candidates_ ? own.boxes[lane] : NowhereOf<Box>();
      const unsigned found = OverlapsAhead<kTests>(shared_.words[column], first, row == column, box, own.groups[lane],
                                                   rules_.iou_threshold);
      const unsigned real = ~BitsFrom(candidates_ - first, column);
      reinterpret_cast<std::uint16_t*>(&OverlapWord(overlaps, row, column, lane))[warp % 2] =
          static_cast<std::uint16_t>(found & real);
    });
  }

  __device__ void Decide() {
    WindowShared& window = shared_.window;
    const std::int64_t columns = image_.columns;
    const std::int64_t most = rules_.has_groups ? columns : min(columns, std::int64_t{rules_.per_group});
    DecideWindow(shared_.overlaps, window);
    int kept = CountKept(window);
    if (rules_.has_groups && rules_.per_group < most) {
      DropBeyondLimit(window, rules_.per_group, image_.kept_of_class,
                      [&](int i) { return shared_.words[i / 32].groups[i % 32]; });
      kept = CountKept(window);
    }
    for (int i = static_cast<int>(threadIdx.x); i < candidates_; i += kRoundThreads) {
      const int column = KeptAhead(window, i);
      if (IsKept(window, i) && column < most) {
        P::Write(params_, image_, column, image_.space.keys(kSmallBuffer)[i]);
      }
    }
    const std::int64_t total = min(std::int64_t{kept}, most);
    for (std::int64_t i = total + threadIdx.x; i < columns; i += kRoundThreads) {
      P::Pad(params_, image_, i);
    }
    if (threadIdx.x == 0) {
      P::WriteCount(params_, image_, static_cast<std::int32_t>(total));
    }
  }

  const typename P::Params& params_;
  const SuppressionRules rules_;
  const BoxImage& image_;
  const int slots_;
  const Cluster cluster_;
  const int blocks_;
  const int block_;
  SmallShared<Box>& shared_;
  int candidates_ = 0;
};

#endif

/// Ranks, suppresses and puts out images of at most kWindow slots, a cluster each.
template <typename P>
__global__ void __launch_bounds__(kRoundThreads)
    SmallImagesKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork(arguments);
  static_assert(!P::kCollects && P::kSmall <= kWindow, "all slots of an image may take part, in one window");
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char memory[];
  const BoxImage image = FindImage<P>(arguments);
  SmallImage<P>(arguments.params, image, *reinterpret_cast<SmallShared<typename P::Box>*>(memory)).Run();
#endif
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_SMALL_CUH_

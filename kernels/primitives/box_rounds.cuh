// Greedy suppression of an image in rounds over its ranks. A round takes the first kWindow undecided boxes, finds the
// overlaps among them, decides who stays, and drops what those suppress among all boxes behind: nothing is tested
// twice, and every round decides as many boxes as are left, up to kWindow, however many were suppressed between them.
// There is no N x N mask; the overlaps within a window are 64 KiB.
//
// The search for overlaps and the dropping are cut into pieces for all blocks of the image, and whoever ends the last
// piece of the search decides the window. Blocks take pieces in order by a ticket; a piece waits only for earlier ones,
// which have been taken by blocks that run, so any number of blocks comes to the end, whenever they begin.
//
// Source: the sequential greedy algorithm; its decisions in parallel as in the "lexicographically first maximal
// independent set" of Blelloch, Fineman and Shun, 2012, with prefixes of a fixed size.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_ROUNDS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_ROUNDS_CUH_

#include <cstdint>
#include <cuda/atomic>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/box_filter.cuh"
#include "kernels/primitives/box_rank.cuh"
#include "kernels/primitives/box_window.cuh"

namespace kernelwire::box {

template <typename Box>
struct RoundShared {
  union {
    struct {
      WindowShared window;
      GroupedBoxes<Box, 32> ahead[kRoundWarps];
    };
    FilterShared<Box> filter;
  };
  std::uint32_t ticket;
  std::uint32_t decided;  // as Await has seen it
  bool is_last;
};

/// The rounds of one image as one block sees them.
template <typename P>
class Rounds {
 public:
  using Box = typename P::Box;

  __device__ Rounds(const typename P::Params& params, const BoxImage& image, std::int64_t pieces,
                    RoundShared<Box>& shared)
      : params_(params),
        rules_(P::Rules(params)),
        image_(image),
        space_(image.space),
        header_(*image.space.header()),
        pieces_(static_cast<std::uint32_t>(pieces)),
        shared_(shared),
        candidates_(image.space.header()->candidates),
        ranked_(RankedKeys<P>(image)),
        most_(rules_.has_groups ? image.columns : min(image.columns, std::int64_t{rules_.per_group})) {}

  /// Called by all threads of the block.
  __device__ void Run() {
    Draw();
    for (bool goes_on = true; goes_on;) {
      if (threadIdx.x == 0) {
        shared_.ticket = drawn_;
      }
      __syncthreads();
      const std::uint32_t line = shared_.ticket / pieces_;  // searches and drops in turns
      const std::uint32_t piece = shared_.ticket % pieces_;
      goes_on = line % 2 == 0 ? Search(line / 2, piece) : Drop(line / 2, piece);
      __syncthreads();
    }
  }

 private:
  using Counter = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

  /// Waits until `counter` has come to `least` or the image is finished; then all that was done before is visible.
  /// Returns header_.decided as it is then. Called by all threads.
  __device__ std::uint32_t Await(std::uint32_t& counter, std::uint32_t least) {
    if (threadIdx.x == 0) {
      std::uint32_t decided = Counter(header_.decided).load(cuda::memory_order_relaxed);
      while ((decided & kFinished) == 0 && Counter(counter).load(cuda::memory_order_relaxed) < least) {
        decided = Counter(header_.decided).load(cuda::memory_order_relaxed);
      }
      __threadfence();
      shared_.decided = Counter(header_.decided).load(cuda::memory_order_relaxed);
    }
    __syncthreads();
    return shared_.decided;
  }

  /// Takes the next ticket. At the end of a piece, so that it goes to a block that has nothing to do, and before others
  /// are told of that end, so that both ways take the time of one.
  __device__ void Draw() {
    if (threadIdx.x == 0) {
      drawn_ = atomicAdd(&header_.ticket, 1u);
    }
  }

  /// Draws, and tells that a piece is done. Returns, to the first thread, how many are. Called by all threads.
  __device__ std::uint32_t Arrive(std::uint32_t& counter) {
    __syncthreads();
    if (threadIdx.x > 0) {
      return 0;
    }
    Draw();
    __threadfence();
    return atomicAdd(&counter, 1u) + 1;
  }

  // ---- the search for overlaps

  /// Finds a piece of the overlaps within the round's window; with the last piece decides it. False when the image was
  /// finished before.
  __device__ bool Search(std::uint32_t round, std::uint32_t piece) {
    if (round == 0) {
      TakeFirstWindow(candidates_, shared_.window);
    } else {
      if ((Await(header_.filtered, round * pieces_) & kFinished) != 0) {
        return false;
      }
      FindWindow(space_.undecided(), header_.last, candidates_, shared_.window);
    }
    const int warp = static_cast<int>(threadIdx.x) / 32;
    ForEachWordPair((shared_.window.size + 31) / 32, static_cast<int>(piece) * kRoundWarps + warp,
                    static_cast<int>(pieces_) * kRoundWarps, [&](int row, int column) {
                      FindOverlaps(space_, shared_.window, row, column, rules_.has_groups, rules_.iou_threshold,
                                   shared_.ahead[warp]);
                    });
    const std::uint32_t done = Arrive(header_.searched);
    if (threadIdx.x == 0) {
      shared_.is_last = done == (round + 1) * pieces_;
      if (shared_.is_last) {
        __threadfence();
      }
    }
    __syncthreads();
    if (shared_.is_last) {
      Decide(round);
    }
    return true;
  }

  __device__ std::int32_t GroupAt(std::int32_t position) const {
    return rules_.has_groups ? space_.groups()[position] : 0;
  }

  // ---- the decision

  /// Decides the window, publishes what it keeps, and then puts that out.
  __device__ void Decide(std::uint32_t round) {
    WindowShared& window = shared_.window;
    Box mine[kWindow / kRoundThreads];  // on their way while the window is decided
    for (int k = 0; k < kWindow / kRoundThreads; ++k) {
      const int i = static_cast<int>(threadIdx.x) + k * kRoundThreads;
      mine[k] = i < window.size ? space_.boxes<Box>()[window.positions[i]] : NowhereOf<Box>();
    }
    DecideWindow(space_.overlaps(), window);
    int fresh = CountKept(window);
    const int before = round == 0 ? 0 : header_.kept;
    if (rules_.has_groups && rules_.per_group < most_) {
      DropBeyondLimit(window, rules_.per_group, image_.kept_of_class,
                      [&](int i) { return GroupAt(window.positions[i]); });
      fresh = CountKept(window);
    }
#pragma unroll
    for (int k = 0; k < kWindow / kRoundThreads; ++k) {
      const int i = static_cast<int>(threadIdx.x) + k * kRoundThreads;
      if (i < window.size && IsKept(window, i)) {
        const int place = KeptAhead(window, i);
        space_.fresh_boxes<Box>()[place] = mine[k];
        if (rules_.has_groups) {
          space_.fresh_groups()[place] = space_.groups()[window.positions[i]];
        }
      }
    }
    const bool finished = window.covers_all || before + fresh >= most_;
    __syncthreads();
    if (threadIdx.x == 0) {
      header_.kept = before + fresh;
      header_.fresh = fresh;
      header_.last = window.size > 0 ? window.positions[window.size - 1] : 0;
      __threadfence();
      Counter(header_.decided).store((round + 1) | (finished ? kFinished : 0), cuda::memory_order_relaxed);
    }
    PutOut(before);
    if (finished && threadIdx.x == 0) {
      P::WriteCount(params_, image_, static_cast<std::int32_t>(min(std::int64_t{before + fresh}, most_)));
    }
  }

  /// Writes the columns of the boxes that the window keeps, `before` having been kept before it.
  __device__ void PutOut(int before) {
    const WindowShared& window = shared_.window;
    for (int i = static_cast<int>(threadIdx.x); i < window.size; i += kRoundThreads) {
      const std::int64_t column = before + KeptAhead(window, i);
      if (IsKept(window, i) && column < most_) {
        P::Write(params_, image_, column, ranked_[window.positions[i]]);
      }
    }
  }

  // ---- the dropping

  /// Drops what the round's new boxes suppress, in a piece of the boxes behind them; when nothing is left to decide,
  /// fills a piece of the columns behind the kept boxes instead. False when the image was finished before.
  __device__ bool Drop(std::uint32_t round, std::uint32_t piece) {
    const std::uint32_t decided = Await(header_.decided, round + 1);
    if (decided == ((round + 1) | kFinished)) {
      const std::int64_t total = min(std::int64_t{header_.kept}, most_);
      for (std::int64_t i = total + piece * kRoundThreads + threadIdx.x; i < image_.columns;
           i += std::int64_t{pieces_} * kRoundThreads) {
        P::Pad(params_, image_, i);
      }
      Draw();
      return true;
    }
    if ((decided & kFinished) != 0) {
      return false;
    }
    Filter<Box>(space_, candidates_, rules_.has_groups, round == 0, rules_.iou_threshold, shared_.filter)
        .Run(piece, pieces_);
    Arrive(header_.filtered);
    return true;
  }

  const typename P::Params& params_;
  const SuppressionRules rules_;
  const BoxImage& image_;
  const Workspace& space_;
  Header& header_;
  const std::uint32_t pieces_;
  RoundShared<Box>& shared_;
  const std::int64_t candidates_;
  const std::uint64_t* const ranked_;
  const std::int64_t most_;  // boxes kept in all
  std::uint32_t drawn_ = 0;  // of the first thread: the next ticket
};

/// All images but those that are suppressed in chains.
template <typename P>
__global__ void __launch_bounds__(kRoundThreads, 1)
    RoundsKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork(arguments);
  extern __shared__ __align__(16) unsigned char memory[];
  const BoxImage image = FindImage<P>(arguments);
  if (!IsChained<P>(P::Rules(arguments.params), image)) {
    Rounds<P>(arguments.params, image, arguments.blocks_per_image,
              *reinterpret_cast<RoundShared<typename P::Box>*>(memory))
        .Run();
  }
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_ROUNDS_CUH_

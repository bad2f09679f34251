// Launches the kernels of ranking and suppression over a batch.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_LAUNCH_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_LAUNCH_CUH_

#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/device/launch.cuh"
#include "kernels/device/launch_afterwards.cuh"
#include "kernels/primitives/box_bucket.cuh"
#include "kernels/primitives/box_output.cuh"
#include "kernels/primitives/box_rounds.cuh"
#include "kernels/primitives/box_small.cuh"
#include "kernels/primitives/box_suppress.cuh"
#include "kernels/primitives/cluster_exchange.cuh"

namespace kernelwire::box {

/// Enqueues kernels over all images of a launch until one fails.
template <typename P>
class BoxLauncher {
 public:
  BoxLauncher(const Launch& launch, const typename P::Params& params, cudaStream_t stream)
      : images_(launch.total_rows), stream_(stream) {
    arguments_.table = TableOf(launch);
    arguments_.params = params;
  }

  /// The next kernel begins when the one before it has ended, and not beside it as others do. Its blocks would wait on
  /// the multiprocessors for as long as that takes, seconds where boxes are many, and keep those of other streams from
  /// them.
  void StartNextAfterwards() { next_overlaps_ = false; }

  /// A kernel whose blocks of an image share `items` pieces of work: as many blocks as pieces, as long as the whole
  /// launch stays near what fills a large GPU a few times over. No result depends on it.
  template <typename... Parameters, typename... Values>
  void Add(void (*kernel)(BoxArguments<typename P::Params>, Parameters...), unsigned threads, std::size_t shared_bytes,
           std::int64_t items, Values... values) {
    constexpr std::int64_t kEnoughBlocks = 4096;
    LaunchShape shape;
    shape.threads = threads;
    shape.shared_bytes = shared_bytes;
    Enqueue(kernel, std::clamp<std::int64_t>(items, 1, std::max<std::int64_t>(1, kEnoughBlocks / images_)), shape,
            values...);
  }

  /// Ranks, suppresses and writes images of which the largest has `slots` slots; `some_small` says whether there may be
  /// small images, and those of more slots than kSortTile may be large ones.
  void AddSuppression(std::int64_t slots, bool some_small) {
    const SuppressionRules rules = P::Rules(arguments_.params);
    const bool some_large = slots > P::kSmall;
    if constexpr (!P::kCollects) {
      if (!some_large && rules.per_class == kNoLimit && DeviceHasClusters()) {
        AddSmallImages(slots);
        return;
      }
    }
    AddRanking(slots);
    if (MayChain<P>(rules) && (some_large || rules.per_class != kNoLimit)) {
      Add(&SuppressKernel<P>, kSuppressThreads, sizeof(SuppressShared<typename P::Box>), Pieces(slots, kTile));
      if (slots > kQuicklySuppressed) {
        StartNextAfterwards();
      }
      Add(&WriteKeptKernel<P>, kSortTile, 0, Pieces(slots, kSortTile));
    }
    if (!MayChain<P>(rules) || (some_small && rules.per_class == kNoLimit)) {
      const std::int64_t most = MayChain<P>(rules) ? std::min<std::int64_t>(slots, P::kSmall) : slots;
      Add(&RoundsKernel<P>, kRoundThreads, sizeof(RoundShared<typename P::Box>), RoundPieces(most));
    }
  }

  /// Ranks the boxes by score, for chains of groups brings those of a group together, and loads them in this order.
  void AddRanking(std::int64_t slots) {
    const SuppressionRules rules = P::Rules(arguments_.params);
    const bool groups_follow = MayChain<P>(rules) && rules.has_groups && slots > P::kSmall;
    if (groups_follow ? rules.top_k >= slots && AddBuckets<true>(slots) : AddBuckets<false>(slots)) {
      return;
    }
    AddSort(&SortByScoreKernel<P>, slots, RankPieces(slots), false);
    if (groups_follow) {
      AddSort(&SortByGroupKernel<P>, slots, Pieces(slots, kSortTile), true);
    }
  }

  static std::int64_t Pieces(std::int64_t slots, std::int64_t length) { return (slots + length - 1) / length; }

  cudaError_t error() const { return error_; }

 private:
  /// So many boxes take a millisecond or so, whatever they are.
  static constexpr std::int64_t kQuicklySuppressed = 1 << 15;

  template <typename... Parameters, typename... Values>
  void Enqueue(void (*kernel)(BoxArguments<typename P::Params>, Parameters...), std::int64_t blocks_per_image,
               LaunchShape shape, Values... values) {
    if (error_ == cudaSuccess) {
      arguments_.blocks_per_image = blocks_per_image;
      shape.blocks = images_ * blocks_per_image;
      error_ = next_overlaps_ ? LaunchKernel(kernel, shape, stream_, arguments_, values...)
                              : LaunchKernelAfterwards(kernel, shape, stream_, arguments_, values...);
      next_overlaps_ = true;
    }
  }

  /// All there is to do for small images: blocks of a cluster have 64 boxes each at least, and clusters are as large as
  /// may be as long as a large GPU runs all blocks at a time.
  void AddSmallImages(std::int64_t slots) {
    constexpr std::int64_t kBlocks = 132;
    constexpr std::int64_t kBoxes = 64;
    unsigned blocks = static_cast<unsigned>(kMaxClusterBlocks);
    while (blocks > 1 && (images_ * blocks > kBlocks || Pieces(slots, kBoxes) <= blocks / 2)) {
      blocks /= 2;
    }
    LaunchShape shape;
    shape.threads = kRoundThreads;
    shape.shared_bytes = sizeof(SmallShared<typename P::Box>);
    shape.cluster_blocks = blocks;
    Enqueue(&SmallImagesKernel<P>, blocks, shape);
  }

  /// Ranks by buckets, and says so, if these have the memory.
  template <bool kGrouped>
  bool AddBuckets(std::int64_t slots) {
    if constexpr (P::kCollects && kGrouped) {
      return false;
    } else {
      constexpr std::int64_t kBlocks = 132;
      constexpr std::int64_t kBoxes = 64;  // of a block, at least
      const std::size_t bytes = BucketArrays::Bytes(slots, kGrouped);
      if (slots > kBucketedSlots || bytes > MostSharedBytes()) {
        return false;
      }
      Add(&BucketRankKernel<P, kGrouped>, kBucketThreads, bytes,
          std::min(Pieces(slots, kBoxes), std::max<std::int64_t>(1, kBlocks / images_)));
      return true;
    }
  }

  /// Pieces into which the work of a round is cut: a pair of words of a window a warp, and few enough boxes to filter
  /// that all threads of a block share them; as long as about one block a multiprocessor of a large GPU runs.
  std::int64_t RoundPieces(std::int64_t slots) const {
    constexpr std::int64_t kBlocks = 132;
    constexpr std::int64_t kBoxes = 64;
    const std::int64_t words = Pieces(std::min<std::int64_t>(slots, kWindow), 32);
    const std::int64_t pieces = std::max(Pieces(words * (words + 1) / 2, kRoundWarps), Pieces(slots, kBoxes));
    return std::min(pieces, std::max<std::int64_t>(1, kBlocks / images_));
  }

  /// Pieces into which ranking by score is cut: tiles or, where images may be small, blocks that count.
  std::int64_t RankPieces(std::int64_t slots) const {
    constexpr std::int64_t kBlocks = 264;
    const std::int64_t counting = std::min<std::int64_t>(Pieces(slots, 32), P::kSmall / 32);
    const std::int64_t pieces = std::min(counting, std::max<std::int64_t>(1, kBlocks / images_));
    return P::kSmall > 0 && (P::kCollects || slots <= P::kSmall) ? pieces : Pieces(slots, kSortTile);
  }

  /// Sorts tiles, and merges them by no more blocks than run at a time: often there is nothing to merge.
  void AddSort(void (*tiles)(BoxArguments<typename P::Params>), std::int64_t slots, std::int64_t pieces,
               bool by_group) {
    constexpr std::int64_t kBlocks = 528;
    Add(tiles, kSortTile, 0, pieces);
    for (int pass = 0; slots > P::kSmall && pass < MergePasses(slots); ++pass) {
      const std::int64_t pieces_of_image = std::min(Pieces(slots, kTile), std::max<std::int64_t>(1, kBlocks / images_));
      Add(&MergeRunsKernel<P>, kTile, 0, pieces_of_image, pass, by_group);
    }
  }

  std::int64_t images_;
  cudaStream_t stream_;
  BoxArguments<typename P::Params> arguments_{};
  bool next_overlaps_ = true;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_LAUNCH_CUH_

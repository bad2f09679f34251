// Launches the kernels of ranking and suppression over a batch.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_LAUNCH_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_LAUNCH_CUH_

#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/device/launch.cuh"
#include "kernels/primitives/box_output.cuh"
#include "kernels/primitives/box_small.cuh"
#include "kernels/primitives/box_suppress.cuh"

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

  /// A kernel whose blocks of an image share `items` pieces of work: as many blocks as pieces, as long as the whole
  /// launch stays near what fills a large GPU a few times over. No result depends on it.
  template <typename... Parameters, typename... Values>
  void Add(void (*kernel)(BoxArguments<typename P::Params>, Parameters...), unsigned threads, std::size_t shared_bytes,
           std::int64_t items, Values... values) {
    constexpr std::int64_t kEnoughBlocks = 4096;
    if (error_ != cudaSuccess) {
      return;
    }
    arguments_.blocks_per_image =
        std::clamp<std::int64_t>(items, 1, std::max<std::int64_t>(1, kEnoughBlocks / images_));
    LaunchShape shape;
    shape.blocks = images_ * arguments_.blocks_per_image;
    shape.threads = threads;
    shape.shared_bytes = shared_bytes;
    error_ = LaunchKernel(kernel, shape, stream_, arguments_, values...);
  }

  /// Ranks, suppresses and writes images of which the largest has `slots` slots; `some_small` and `some_large` say
  /// whether there may be such images at all.
  void AddSuppression(std::int64_t slots, bool some_small, bool some_large) {
    if (some_small) {
      Add(&SmallImagesKernel<P>, kSortTile, sizeof(SmallShared<typename P::Box>), 1);
    }
    if (some_large) {
      AddRanking(slots);
      Add(&SuppressKernel<P>, kSuppressThreads, sizeof(SuppressShared<typename P::Box>), Pieces(slots, kTile));
      Add(&WriteKeptKernel<P>, kSortTile, 0, Pieces(slots, kSortTile));
    }
  }

  /// Ranks the boxes by score, brings those of a group together, and loads them in this order.
  void AddRanking(std::int64_t slots) {
    AddSort(&SortByScoreKernel<P>, slots, false);
    if (P::Rules(arguments_.params).has_groups) {
      AddSort(&SortByGroupKernel<P>, slots, true);
    }
  }

  static std::int64_t Pieces(std::int64_t slots, std::int64_t length) { return (slots + length - 1) / length; }

  cudaError_t error() const { return error_; }

 private:
  void AddSort(void (*tiles)(BoxArguments<typename P::Params>), std::int64_t slots, bool by_group) {
    Add(tiles, kSortTile, 0, Pieces(slots, kSortTile));
    for (int pass = 0; pass < MergePasses(slots); ++pass) {
      Add(&MergeRunsKernel<P>, kTile, 0, Pieces(slots, kTile), pass, by_group);
    }
  }

  std::int64_t images_;
  cudaStream_t stream_;
  BoxArguments<typename P::Params> arguments_{};
  cudaError_t error_ = cudaSuccess;
};

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_LAUNCH_CUH_

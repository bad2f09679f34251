// Launches the kernels of nms over a batch: see nms_kernel.cuh for their order.
#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/device/launch.cuh"
#include "kernels/ops/nms/nms_kernel.cuh"
#include "kernels/ops/nms/nms_output.cuh"
#include "kernels/ops/nms/nms_rank.cuh"

namespace kernelwire {
namespace {

using namespace nms;  // this file is the launching half of that code

/// The blocks that share an image: as many as its tiles, as long as the whole launch stays near what fills a large GPU
/// a few times over. With many images there is one each, which then walks over the tiles. No result depends on it.
std::int64_t BlocksPerImage(std::int64_t largest, std::int64_t boxes_per_block, std::int64_t images) {
  constexpr std::int64_t kEnoughBlocks = 4096;
  const std::int64_t tiles = (largest + boxes_per_block - 1) / boxes_per_block;
  return std::clamp<std::int64_t>(tiles, 1, std::max<std::int64_t>(1, kEnoughBlocks / images));
}

std::int64_t LargestImage(const Launch& launch) {
  std::int64_t largest = 0;
  for (int i = 0; i < launch.segment_count; ++i) {
    largest = std::max(largest, launch.segments[i].extents[kBoxesPerImage]);
  }
  return largest;
}

/// Enqueues kernels until one fails.
class Sequence {
 public:
  Sequence(const Launch& launch, cudaStream_t stream)
      : images_(launch.total_rows), largest_(LargestImage(launch)), stream_(stream) {
    arguments_.segments = launch.device_segments;
    arguments_.segment_count = launch.segment_count;
    arguments_.params = launch.plan->Params<Params>();
  }

  template <typename... Parameters, typename... Values>
  void Add(void (*kernel)(KernelArguments, Parameters...), int boxes_per_block, Values... values) {
    if (error_ != cudaSuccess) {
      return;
    }
    const std::int64_t blocks = BlocksPerImage(largest_, boxes_per_block, images_);
    arguments_.blocks_per_image = static_cast<int>(blocks);
    LaunchShape shape;
    shape.blocks = images_ * blocks;
    shape.threads = kThreads;
    error_ = LaunchKernel(kernel, shape, stream_, arguments_, values...);
  }

  void AddMerges(bool behind_ranking) {
    for (int pass = 0; pass < MergePasses(largest_); ++pass) {
      Add(&MergeRunsKernel, kSortTile, pass, behind_ranking);
    }
  }

  bool has_boxes() const { return largest_ > 0; }
  bool has_classes() const { return arguments_.params.classes != DataType::kInvalid; }
  cudaError_t error() const { return error_; }

 private:
  std::int64_t images_;
  std::int64_t largest_;
  cudaStream_t stream_;
  KernelArguments arguments_{};
  cudaError_t error_ = cudaSuccess;
};

}  // namespace

int LaunchNmsCuda(const Launch& launch, CUstream_st* stream) {
  if (launch.total_rows == 0) {
    return cudaSuccess;
  }
  Sequence sequence(launch, stream);
  if (sequence.has_boxes()) {
    sequence.Add(&RankTilesKernel, kSortTile);
    sequence.AddMerges(/*behind_ranking=*/true);
    sequence.Add(&OrderTilesKernel, kSortTile);
    if (sequence.has_classes()) {
      sequence.AddMerges(/*behind_ranking=*/false);
    }
    sequence.Add(&SuppressKernel, kTile);
    sequence.Add(&CountKeptKernel, kTile);
  }
  sequence.Add(&WriteKeptKernel, kTile);
  return sequence.error();
}

}  // namespace kernelwire

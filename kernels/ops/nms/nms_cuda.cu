// Launches the kernels of nms over a batch.
#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/ops/nms/nms_kernel.cuh"
#include "kernels/ops/nms/nms_soft.cuh"
#include "kernels/primitives/box_launch.cuh"

namespace kernelwire {
namespace {

using namespace nms;  // this file is the launching half of that code

/// The sizes of a launch's images.
struct ImageSizes {
  std::int64_t largest = 0;
  bool some_small = false;

  explicit ImageSizes(const Launch& launch) {
    for (int i = 0; i < launch.segment_count; ++i) {
      const Segment& segment = launch.segments[i];
      if (segment.rows > 0) {
        largest = std::max(largest, segment.extents[kBoxesPerImage]);
        some_small = some_small || segment.extents[kBoxesPerImage] <= box::kSortTile;
      }
    }
  }
};

template <typename Box>
int LaunchHard(const Launch& launch, const Params& params, CUstream_st* stream) {
  const ImageSizes sizes(launch);
  box::BoxLauncher<Policy<Box>> launcher(launch, params, stream);
  launcher.AddSuppression(sizes.largest, sizes.some_small);
  return launcher.error();
}

template <typename Box>
int LaunchSoft(const Launch& launch, const Params& params, CUstream_st* stream) {
  const std::int64_t largest = ImageSizes(launch).largest;
  box::BoxLauncher<SoftPolicy<Box>> first(launch, params, stream);
  if (largest > 0) {
    first.AddRanking(largest);
    first.Add(&DecayKernel<SoftPolicy<Box>>, kDecayThreads, 0, first.Pieces(largest, kDecayThreads));
  }
  if (first.error() != cudaSuccess) {
    return first.error();
  }
  box::BoxLauncher<ChosenPolicy<Box>> second(launch, params, stream);
  second.StartNextAfterwards();  // a block goes over the boxes of a class as often as it has some
  if (largest > 0) {
    second.AddRanking(largest);
  }
  second.Add(&WriteRankedKernel<ChosenPolicy<Box>>, box::kSortTile, 0, second.Pieces(largest, box::kSortTile));
  return second.error();
}

}  // namespace

int LaunchNmsCuda(const Launch& launch, CUstream_st* stream) {
  if (launch.total_rows == 0) {
    return cudaSuccess;
  }
  const Params params = launch.plan->Params<Params>();
  if (params.soft != SoftNms::kNone) {
    return params.rotated ? LaunchSoft<box::RotatedBox>(launch, params, stream)
                          : LaunchSoft<box::Corners>(launch, params, stream);
  }
  return params.rotated ? LaunchHard<box::RotatedBox>(launch, params, stream)
                        : LaunchHard<box::Corners>(launch, params, stream);
}

}  // namespace kernelwire

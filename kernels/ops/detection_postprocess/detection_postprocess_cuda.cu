// Launches the kernels of detection_postprocess over a batch.
#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/ops/detection_postprocess/detection_postprocess_collect.cuh"
#include "kernels/ops/detection_postprocess/detection_postprocess_kernel.cuh"
#include "kernels/primitives/box_launch.cuh"

namespace kernelwire {
namespace {

using namespace detection;  // this file is the launching half of that code

using Launcher = box::BoxLauncher<Policy>;

/// Whether to load the 16-bit scores of two neighbouring boxes for a class together: where they lie in one word in
/// every image, and where blocks of so many boxes still fill a large GPU.
bool LoadsPairs(const Launch& launch, const Params& params, std::int64_t boxes) {
  constexpr std::int64_t kBlocks = 132;
  for (int i = 0; i < launch.segment_count; ++i) {
    const Segment& segment = launch.segments[i];
    const auto address = reinterpret_cast<std::uintptr_t>(segment.inputs[kPredictions]);
    if (segment.extents[kBoxesPerImage] % 2 != 0 || address % sizeof(std::uint32_t) != 0) {
      return false;
    }
  }
  return params.layout == Layout::kYolov8 &&
         launch.total_rows * Launcher::Pieces(boxes, Chunk<2>::kBoxesOfBlock) >= kBlocks;
}

/// As many blocks as run at a time on a large GPU, so that each asks for scores while it looks at others.
template <typename T, int kAbreast>
void AddCollecting(std::int64_t boxes, std::int64_t images, Launcher& launcher) {
  constexpr std::int64_t kBlocks = 396;
  const std::int64_t pieces =
      std::min(Launcher::Pieces(boxes, Chunk<kAbreast>::kBoxesOfBlock), std::max<std::int64_t>(1, kBlocks / images));
  launcher.Add(&CollectKernel<T, kAbreast>, kCollectThreads, 0, pieces);
}

template <typename T>
void AddCollectingOf16Bits(std::int64_t boxes, std::int64_t images, bool in_pairs, Launcher& launcher) {
  in_pairs ? AddCollecting<T, 2>(boxes, images, launcher) : AddCollecting<T, 1>(boxes, images, launcher);
}

}  // namespace

int LaunchDetectionPostprocessCuda(const Launch& launch, CUstream_st* stream) {
  if (launch.total_rows == 0) {
    return cudaSuccess;
  }
  const Params params = launch.plan->Params<Params>();
  std::int64_t boxes = 0;
  for (int i = 0; i < launch.segment_count; ++i) {
    boxes = std::max(boxes, launch.segments[i].extents[kBoxesPerImage]);
  }
  Launcher launcher(launch, params, stream);
  launcher.Add(&ClearKernel, kClearThreads, 0, 1);
  if (boxes > 0) {
    const bool in_pairs = LoadsPairs(launch, params, boxes);
    switch (params.scores) {
      case DataType::kFp16:
        AddCollectingOf16Bits<__half>(boxes, launch.total_rows, in_pairs, launcher);
        break;
      case DataType::kBf16:
        AddCollectingOf16Bits<__nv_bfloat16>(boxes, launch.total_rows, in_pairs, launcher);
        break;
      default:
        AddCollecting<float, 1>(boxes, launch.total_rows, launcher);
    }
  }
  // How many candidates an image has is known on the device alone: all of them may turn out to be small.
  launcher.AddSuppression(SlotsOfImage(boxes, params), /*some_small=*/true);
  return launcher.error();
}

}  // namespace kernelwire

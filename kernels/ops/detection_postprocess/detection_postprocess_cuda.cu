// Launches the kernels of detection_postprocess over a batch.
#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/ops/detection_postprocess/detection_postprocess_collect.cuh"
#include "kernels/ops/detection_postprocess/detection_postprocess_kernel.cuh"
#include "kernels/primitives/box_launch.cuh"

namespace kernelwire {

int LaunchDetectionPostprocessCuda(const Launch& launch, CUstream_st* stream) {
  using namespace detection;  // this function is the launching half of that code
  if (launch.total_rows == 0) {
    return cudaSuccess;
  }
  const Params params = launch.plan->Params<Params>();
  std::int64_t boxes = 0;
  for (int i = 0; i < launch.segment_count; ++i) {
    boxes = std::max(boxes, launch.segments[i].extents[kBoxesPerImage]);
  }
  const std::int64_t slots = SlotsOfImage(boxes, params);
  // As many blocks as run at a time on a large GPU, so that each asks for scores while it looks at others.
  constexpr std::int64_t kCollectBlocks = 396;
  const std::int64_t pieces = std::min((boxes + kCollectBoxes - 1) / kCollectBoxes,
                                       std::max<std::int64_t>(1, kCollectBlocks / launch.total_rows));
  box::BoxLauncher<Policy> launcher(launch, params, stream);
  launcher.Add(&ClearKernel, kClearThreads, 0, 1);
  if (boxes > 0) {
    switch (params.scores) {
      case DataType::kFp16:
        launcher.Add(&CollectKernel<__half>, kCollectThreads, 0, pieces);
        break;
      case DataType::kBf16:
        launcher.Add(&CollectKernel<__nv_bfloat16>, kCollectThreads, 0, pieces);
        break;
      default:
        launcher.Add(&CollectKernel<float>, kCollectThreads, 0, pieces);
    }
  }
  // How many candidates an image has is known on the device alone: all of them may turn out to be small.
  launcher.AddSuppression(slots, /*some_small=*/true);
  return launcher.error();
}

}  // namespace kernelwire

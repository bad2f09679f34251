// Device code of detection_postprocess. A launch runs
//
//   ClearKernel     the counters of each image
//   CollectKernel   one streaming read of the scores (detection_postprocess_collect.cuh); what passes the threshold
//                   becomes a candidate
//
// and then ranking and suppression (box_launch.cuh). Candidates arrive in any order and are sorted by unique keys, so
// no order of arrival reaches a result.
#ifndef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_KERNEL_CUH_

#include <cstdint>

#include "kernels/ops/detection_postprocess/detection_postprocess.h"
#include "kernels/ops/detection_postprocess/detection_postprocess_workspace.h"
#include "kernels/primitives/box_load.cuh"
#include "kernels/primitives/box_rank.cuh"

namespace kernelwire::detection {

/// detection_postprocess as ranking and suppression see it. A candidate's number is its box or, with multi_label,
/// box * classes + class.
struct Policy {
  using Params = detection::Params;
  using Box = box::Corners;
  static constexpr bool kCollects = true;
  static constexpr std::int64_t kSmall = box::kSortTile;
  static constexpr bool kChainsGroups = false;

  __host__ __device__ static box::SuppressionRules Rules(const Params& params) {
    const bool by_class = params.class_agnostic && CountsByClass(params);
    const std::int32_t per_group =
        by_class || params.max_output < params.max_per_class ? params.max_output : params.max_per_class;
    return {params.iou_threshold, params.top_k, params.class_agnostic ? params.max_output : per_group,
            by_class ? params.max_per_class : box::kNoLimit, !params.class_agnostic};
  }

  __device__ static box::BoxImage Find(const Params& params, const Segment& segment, std::int64_t row) {
    box::BoxImage image;
    image.segment = segment;
    image.index = row - segment.first_row;
    image.slots = SlotsOfImage(segment.extents[kBoxesPerImage], params);
    image.real = image.slots;
    image.columns = params.max_output;
    std::uint8_t* const base = Base(image);
    image.space = {base, box::Workspace::Padded(image.slots), sizeof(Box)};
    image.kept_of_class = CountsByClass(params)
                              ? reinterpret_cast<std::int32_t*>(base + PartsOf(image.slots, params).counters_at)
                              : nullptr;
    return image;
  }

  __device__ static std::uint64_t KeyOf(const Params& /*params*/, const box::BoxImage& image, std::int64_t slot) {
    return slot < image.space.header()->found ? image.space.keys(0)[slot] : box::kNoKey;
  }
  __device__ static std::uint32_t GroupOf(const Params& params, const box::BoxImage& image, std::uint32_t id) {
    return ClassOf(params, image, id);
  }
  __device__ static std::uint32_t ClassOf(const Params& params, const box::BoxImage& image, std::uint32_t id) {
    return params.multi_label ? id % static_cast<std::uint32_t>(params.classes)
                              : static_cast<std::uint32_t>(BestClasses(params, image)[id]);
  }
  __device__ static std::uint32_t IndexOf(const Params& params, std::uint32_t id) {
    return params.multi_label ? id / static_cast<std::uint32_t>(params.classes) : id;
  }
  __device__ static Box BoxOf(const Params& params, const box::BoxImage& image, std::uint32_t id) {
    bool has_nan = false;
    const Box corners = Decode(params, image, id, &has_nan);
    return box::ForSuppression(corners, has_nan);
  }

  __device__ static void Write(const Params& params, const box::BoxImage& image, std::int64_t column,
                               std::uint64_t key) {
    const auto id = static_cast<std::uint32_t>(key);
    bool has_nan = false;
    const Box corners = ToImage(image.segment, Decode(params, image, id, &has_nan));
    Put(image, column, corners, box::ScoreOfKey(static_cast<std::uint32_t>(key >> 32)),
        static_cast<std::int32_t>(ClassOf(params, image, id)), IndexOf(params, id));
  }
  __device__ static void Pad(const Params& /*params*/, const box::BoxImage& image, std::int64_t column) {
    Put(image, column, {0.0f, 0.0f, 0.0f, 0.0f}, 0.0f, -1, -1);
  }
  __device__ static void WriteCount(const Params& /*params*/, const box::BoxImage& image, std::int32_t kept) {
    if (auto* const counts = static_cast<std::int32_t*>(image.segment.outputs[kNumDetections])) {
      counts[image.index] = kept;
    }
  }

  /// By box, written for candidates only.
  __device__ static std::int32_t* BestClasses(const Params& params, const box::BoxImage& image) {
    return reinterpret_cast<std::int32_t*>(Base(image) + PartsOf(image.slots, params).classes_at);
  }

 private:
  __device__ static std::uint8_t* Base(const box::BoxImage& image) {
    return static_cast<std::uint8_t*>(image.segment.workspace) + image.index * image.segment.extents[kWorkspaceBytes];
  }

  __device__ static Box Decode(const Params& params, const box::BoxImage& image, std::uint32_t id, bool* has_nan) {
    const std::int64_t index = IndexOf(params, id);
    const int class_id = params.boxes_of_classes ? static_cast<int>(ClassOf(params, image, id)) : 0;
    const BoxPlaces places = PlacesOfBox(params, image.segment, image.index, index, class_id);
    const bool has_anchor = params.anchors != DataType::kInvalid;
    float numbers[4];
    float anchor[4] = {};
    for (int k = 0; k < 4; ++k) {
      numbers[k] = box::LoadFloat(params.boxes, places.data, places.first + k * places.step);
      if (has_anchor) {
        anchor[k] = box::LoadFloat(params.anchors, image.segment.inputs[kAnchors], 4 * index + k);
      }
      *has_nan = *has_nan || numbers[k] != numbers[k] || anchor[k] != anchor[k];
    }
    return DecodeBox(params, numbers, has_anchor ? anchor : nullptr);
  }

  __device__ static void Put(const box::BoxImage& image, std::int64_t column, const Box& corners, float score,
                             std::int32_t class_id, std::int64_t index) {
    const std::int64_t place = image.index * image.columns + column;
    void* const* const outputs = image.segment.outputs;
    if (outputs[kDetectedBoxes] != nullptr) {
      static_cast<Box*>(outputs[kDetectedBoxes])[place] = corners;
    }
    if (outputs[kDetectedScores] != nullptr) {
      static_cast<float*>(outputs[kDetectedScores])[place] = score;
    }
    if (outputs[kDetectedClasses] != nullptr) {
      static_cast<std::int32_t*>(outputs[kDetectedClasses])[place] = class_id;
    }
    if (outputs[kIndices] != nullptr) {
      static_cast<std::int64_t*>(outputs[kIndices])[place] = index;
    }
  }
};

using Arguments = box::BoxArguments<Params>;

inline constexpr int kClearThreads = 128;

__global__ void __launch_bounds__(kClearThreads) ClearKernel(const __grid_constant__ Arguments arguments) {
  AwaitEarlierWork(arguments);
  const box::BoxImage image = box::FindImage<Policy>(arguments);
  if (threadIdx.x == 0) {
    image.space.header()->found = 0;
  }
  if (image.kept_of_class != nullptr) {
    for (int i = static_cast<int>(threadIdx.x); i < arguments.params.classes; i += kClearThreads) {
      image.kept_of_class[i] = 0;
    }
  }
}

}  // namespace kernelwire::detection

#endif  // KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_KERNEL_CUH_

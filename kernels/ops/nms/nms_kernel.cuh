// Device code of nms: the operator as ranking and suppression see it (kernels/primitives/box_rank.cuh has the order of
// the kernels).
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_KERNEL_CUH_

#include <cstdint>

#include "kernels/ops/nms/nms.h"
#include "kernels/primitives/box_load.cuh"
#include "kernels/primitives/box_rank.cuh"

namespace kernelwire::nms {

__device__ inline void LoadBox(const Params& params, const void* boxes, std::int64_t i, box::Corners* box) {
  float n[4];
  bool has_nan = false;
  for (int k = 0; k < 4; ++k) {
    n[k] = box::LoadFloat(params.boxes, boxes, 4 * i + k);
    has_nan = has_nan || n[k] != n[k];
  }
  *box = box::ForSuppression(box::ToCorners(params.coding, n[0], n[1], n[2], n[3]), has_nan);
}

__device__ inline void LoadBox(const Params& params, const void* boxes, std::int64_t i, box::RotatedBox* box) {
  float n[5];
  for (int k = 0; k < 5; ++k) {
    n[k] = box::LoadFloat(params.boxes, boxes, 5 * i + k);
  }
  *box = box::MakeRotatedBox(n[0], n[1], n[2], n[3], n[4], params.degrees);
}

/// `Box` is box::Corners or box::RotatedBox. A candidate's number is its box.
template <typename BoxType>
struct Policy {
  using Params = nms::Params;
  using Box = BoxType;
  static constexpr bool kCollects = false;
  static constexpr std::int64_t kSmall = box::kSortTile;
  static constexpr bool kChainsGroups = true;

  __host__ __device__ static box::SuppressionRules Rules(const Params& params) {
    return {params.iou_threshold, params.top_k,
            params.max_per_class < params.max_output ? params.max_per_class : params.max_output, box::kNoLimit,
            params.classes != DataType::kInvalid};
  }

  __device__ static box::BoxImage Find(const Params& /*params*/, const Segment& segment, std::int64_t row) {
    box::BoxImage image;
    image.segment = segment;
    image.index = row - segment.first_row;
    image.slots = segment.extents[kBoxesPerImage];
    image.columns = segment.extents[kColumns];
    image.space = {static_cast<std::uint8_t*>(segment.workspace) + image.index * segment.extents[kWorkspaceBytes],
                   box::Workspace::Padded(image.slots), sizeof(Box)};
    image.kept_of_class = nullptr;
    const auto* const counts = static_cast<const std::int32_t*>(segment.inputs[kCounts]);
    image.real = counts == nullptr ? image.slots : std::int64_t{__ldg(counts + image.index)};
    return image;
  }

  __device__ static std::uint64_t KeyOf(const Params& params, const box::BoxImage& image, std::int64_t slot) {
    if (slot >= image.real) {
      return box::kNoKey;
    }
    const float score = box::LoadFloat(params.scores, image.segment.inputs[kScores], image.index * image.slots + slot);
    const bool takes_part = params.has_score_threshold ? score > params.score_threshold : score == score;
    return takes_part ? std::uint64_t{box::DescendingKey(score)} << 32 | static_cast<std::uint32_t>(slot) : box::kNoKey;
  }

  __device__ static std::uint32_t GroupOf(const Params& params, const box::BoxImage& image, std::uint32_t id) {
    const void* const classes = image.segment.inputs[kClasses];
    const std::int64_t i = image.index * image.slots + id;
    return params.classes == DataType::kInt64
               ? static_cast<std::uint32_t>(__ldg(static_cast<const std::int64_t*>(classes) + i))
               : __ldg(static_cast<const std::uint32_t*>(classes) + i);
  }
  __device__ static std::uint32_t ClassOf(const Params& params, const box::BoxImage& image, std::uint32_t id) {
    return GroupOf(params, image, id);
  }
  __device__ static Box BoxOf(const Params& params, const box::BoxImage& image, std::uint32_t id) {
    Box box;
    LoadBox(params, image.segment.inputs[kBoxes], image.index * image.slots + id, &box);
    return box;
  }

  __device__ static void Write(const Params& /*params*/, const box::BoxImage& image, std::int64_t column,
                               std::uint64_t key) {
    Put(image, column, static_cast<std::uint32_t>(key), box::ScoreOfKey(static_cast<std::uint32_t>(key >> 32)));
  }
  __device__ static void Pad(const Params& /*params*/, const box::BoxImage& image, std::int64_t column) {
    Put(image, column, kNoIndex, kNoScore);
  }
  __device__ static void WriteCount(const Params& /*params*/, const box::BoxImage& image, std::int32_t kept) {
    if (auto* const counts = static_cast<std::int32_t*>(image.segment.outputs[kCount])) {
      counts[image.index] = kept;
    }
  }

 private:
  __device__ static void Put(const box::BoxImage& image, std::int64_t column, std::int64_t index, float score) {
    const std::int64_t place = image.index * image.columns + column;
    if (auto* const indices = static_cast<std::int64_t*>(image.segment.outputs[kIndices])) {
      indices[place] = index;
    }
    if (auto* const scores = static_cast<float*>(image.segment.outputs[kKeptScores])) {
      scores[place] = score;
    }
  }
};

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_KERNEL_CUH_

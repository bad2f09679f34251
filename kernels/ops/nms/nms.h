// What the spec, the host path and the kernels of nms agree on: the order of its tensors, the parameters of a launch
// and the numbers of a request. Read by device code too.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_H_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_H_

#include <cstdint>
#include <limits>

#include "kernels/core/dtype.h"
#include "kernels/primitives/box_geometry.h"
#include "kernels/primitives/box_workspace.h"
#include "kernels/primitives/rotated_box.h"

namespace kernelwire::nms {

/// Positions in Segment::inputs and Segment::outputs.
enum Input : int { kBoxes, kScores, kClasses, kCounts };
enum Output : int { kIndices, kCount, kKeptScores };

/// Positions in Segment::extents. Images of one request have equal shapes; those of different requests need not.
enum Extent : int {
  kBoxesPerImage,
  kColumns,         // of `indices` and `scores` as planned: the most boxes that an image can keep
  kWorkspaceBytes,  // of one image: see WorkspaceBytesOfImage
};

enum class SoftNms : std::uint8_t { kNone, kLinear, kGaussian };

/// Stands for "no limit": no image has more boxes.
inline constexpr std::int32_t kNoLimit = std::numeric_limits<std::int32_t>::max();

/// What all requests of a launch have in common.
struct Params {
  DataType boxes;
  DataType scores;
  DataType classes;  // kInvalid: one class
  box::Coding coding;
  SoftNms soft;
  bool rotated;  // five numbers a box: centre, size, angle
  bool degrees;
  bool has_score_threshold;
  float score_threshold;  // a box stays out unless its score is strictly greater
  float iou_threshold;    // within [0, 1]; a box goes when its IoU with a kept one is strictly greater
  float sigma;            // of the gaussian
  std::int32_t top_k;
  std::int32_t max_output;
  std::int32_t max_per_class;
};

/// Columns beyond the kept boxes of an image are filled with these before `finish` sees them. A kept box never has such
/// a value (a NaN score keeps a box out), so that either output alone tells how many boxes were kept.
inline constexpr std::int64_t kNoIndex = -1;
inline constexpr float kNoScore = std::numeric_limits<float>::quiet_NaN();

/// Numbers of a box.
KERNELWIRE_HOST_DEVICE inline int NumbersOfBox(const Params& params) { return params.rotated ? 5 : 4; }

/// Scratch on the device of one image: that of ranking and suppression, and with soft-NMS behind it two keys a box.
KERNELWIRE_HOST_DEVICE inline std::int64_t BoxBytes(const Params& params) {
  return static_cast<std::int64_t>(params.rotated ? sizeof(box::RotatedBox) : sizeof(box::Corners));
}
inline std::int64_t WorkspaceBytesOfImage(std::int64_t boxes, const Params& params) {
  constexpr std::int64_t kKeys = 2;
  const std::int64_t soft = params.soft == SoftNms::kNone ? 0 : kKeys * box::Workspace::Padded(boxes);
  return box::Workspace::Bytes(boxes, BoxBytes(params)) + soft * static_cast<std::int64_t>(sizeof(std::uint64_t));
}

/// A score after soft-NMS has chosen a box of IoU `iou` with its own. Only positive scores decay, so that no score
/// ever rises.
KERNELWIRE_HOST_DEVICE inline float Decayed(const Params& params, float score, float iou) {
  float weight = 1.0f;
  if (params.soft == SoftNms::kGaussian) {
    weight = box::Exponential(-box::Div(box::Mul(iou, iou), params.sigma));
  } else if (iou > params.iou_threshold) {
    weight = box::Sub(1.0f, iou);
  }
  return !(score > 0.0f) ? score : weight > 0.0f ? box::Mul(score, weight) : 0.0f;
}

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_H_

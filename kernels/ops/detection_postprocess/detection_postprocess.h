// What the spec, the host path and the kernels of detection_postprocess agree on: the order of its tensors, the
// parameters of a launch, the numbers of a request, and the arithmetic of scores and boxes. Read by device code too.
#ifndef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_H_
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_H_

#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/core/dtype.h"
#include "kernels/core/segment.h"
#include "kernels/primitives/box_geometry.h"
#include "kernels/primitives/segment_lookup.h"

namespace kernelwire::detection {

/// Positions in Segment::inputs and Segment::outputs.
enum Input : int { kPredictions, kBoxes, kScores, kAnchors, kCounts };
enum Output : int { kNumDetections, kDetectedBoxes, kDetectedScores, kDetectedClasses, kIndices };

/// Positions in Segment::extents. What may differ between requests of one launch.
enum Extent : int {
  kBoxesPerImage,
  kWorkspaceBytes,  // of one image
  kScaleAndPadX,    // letterbox: a pair of f32, see Pack
  kPadY,
  kClipNear,  // x1, y1; without a window minus infinity
  kClipFar,
};

/// Two f32 in one extent.
inline std::int64_t Pack(float low, float high) {
  std::uint32_t bits[2];
  std::memcpy(&bits[0], &low, sizeof(low));
  std::memcpy(&bits[1], &high, sizeof(high));
  return static_cast<std::int64_t>(std::uint64_t{bits[1]} << 32 | bits[0]);
}
KERNELWIRE_HOST_DEVICE inline float Unpack(std::int64_t packed, int position) {
  return box::FloatOfBits(static_cast<std::uint32_t>(static_cast<std::uint64_t>(packed) >> (32 * position)));
}

enum class Layout : std::uint8_t {
  kSeparate,  // boxes and scores
  kYolov5,    // predictions: a box after another, each its numbers, objectness, classes
  kYolov8,    // predictions: planes of n, four of the boxes and one a class
};

enum class Activation : std::uint8_t { kNone, kSigmoid, kSoftmax };

inline constexpr int kMostListedClasses = 2048;  // an allow-list names classes below this
inline constexpr std::int32_t kNoLimit = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int32_t kNoBackground = -1;

/// What all requests of a launch have in common.
struct Params {
  DataType boxes;    // of predictions too
  DataType scores;   // equal to `boxes` for predictions
  DataType anchors;  // kInvalid: none
  Layout layout;
  box::Coding coding;
  Activation activation;
  bool class_agnostic;
  bool multi_label;
  bool boxes_of_classes;  // boxes are [n, classes, 4]
  bool listed;            // only the classes of `allowed` count
  std::int32_t classes;
  std::int32_t background;
  std::int32_t top_k;
  std::int32_t max_output;
  std::int32_t max_per_class;
  float iou_threshold;    // within [0, 1]; a box goes when its IoU with a kept one is strictly greater
  float score_threshold;  // a candidate's score is strictly greater
  float raw_cutoff;       // a raw class score that is not greater cannot pass; minus infinity: all have to be looked at
  float anchor_scales[4];
  std::uint64_t allowed[kMostListedClasses / 64];
};

KERNELWIRE_HOST_DEVICE inline bool IsAllowed(const Params& params, int class_id) {
  if (class_id == params.background) {
    return false;
  }
  return !params.listed ||
         (class_id < kMostListedClasses && (params.allowed[class_id / 64] >> (class_id % 64) & 1u) != 0);
}

/// Numbers before the class scores of a box (yolov5) or planes before those of the classes (yolov8).
KERNELWIRE_HOST_DEVICE inline int LeadingNumbers(Layout layout) {
  return layout == Layout::kYolov5 ? 5 : layout == Layout::kYolov8 ? 4 : 0;
}

/// How the elements of an image's scores and boxes are found: element = first + box * box_step + class * class_step.
/// `image` counts within the request.
struct ScorePlaces {
  const void* data;
  std::int64_t first;  // of box 0, class 0
  std::int64_t box_step;
  std::int64_t class_step;
};
KERNELWIRE_HOST_DEVICE inline ScorePlaces PlacesOfScores(const Params& params, const Segment& segment,
                                                         std::int64_t image) {
  const std::int64_t boxes = segment.extents[kBoxesPerImage];
  const std::int64_t leading = LeadingNumbers(params.layout);
  const std::int64_t row = leading + params.classes;
  switch (params.layout) {
    case Layout::kYolov8:
      return {segment.inputs[kPredictions], (image * row + leading) * boxes, 1, boxes};
    case Layout::kYolov5:
      return {segment.inputs[kPredictions], image * boxes * row + leading, row, 1};
    default:
      return {segment.inputs[kScores], image * boxes * row, row, 1};
  }
}

/// The same for the four numbers of a box: element = first + k * step.
struct BoxPlaces {
  const void* data;
  std::int64_t first;
  std::int64_t step;
};
KERNELWIRE_HOST_DEVICE inline BoxPlaces PlacesOfBox(const Params& params, const Segment& segment, std::int64_t image,
                                                    std::int64_t box, int class_id) {
  const std::int64_t boxes = segment.extents[kBoxesPerImage];
  const std::int64_t row = LeadingNumbers(params.layout) + params.classes;
  switch (params.layout) {
    case Layout::kYolov8:
      return {segment.inputs[kPredictions], image * row * boxes + box, boxes};
    case Layout::kYolov5:
      return {segment.inputs[kPredictions], (image * boxes + box) * row, 1};
    default: {
      const std::int64_t of_image = image * boxes + box;
      return {segment.inputs[kBoxes], 4 * (params.boxes_of_classes ? of_image * params.classes + class_id : of_image),
              1};
    }
  }
}

/// Corners of four numbers; with anchors the numbers are deltas to `anchor` (centre and size).
KERNELWIRE_HOST_DEVICE inline box::Corners DecodeBox(const Params& params, const float (&n)[4], const float* anchor) {
  if (anchor == nullptr) {
    return box::ToCorners(params.coding, n[0], n[1], n[2], n[3]);
  }
  const float* const scales = params.anchor_scales;
  return box::ToCorners(box::Coding::kCxcywh, box::Add(anchor[0], box::Mul(box::Div(n[0], scales[0]), anchor[2])),
                        box::Add(anchor[1], box::Mul(box::Div(n[1], scales[1]), anchor[3])),
                        box::Mul(anchor[2], box::Exponential(box::Div(n[2], scales[2]))),
                        box::Mul(anchor[3], box::Exponential(box::Div(n[3], scales[3]))));
}

/// The sum that softmax divides by is made of this many partial sums, of the classes of equal remainder in rising
/// order, which are then added in a tree (i and i + 4, then + 2, then + 1). So every device gets the same bits.
inline constexpr int kSoftmaxLanes = 8;

/// The score of a class before objectness. `largest` and `sum` are of all classes of the box; softmax alone uses them.
KERNELWIRE_HOST_DEVICE inline float Activate(Activation activation, float raw, float largest, float sum) {
  switch (activation) {
    case Activation::kSigmoid:
      return box::Sigmoid(raw);
    case Activation::kSoftmax:
      return box::Div(box::Exponential(box::Sub(raw, largest)), sum);
    default:
      return raw;
  }
}

/// Objectness: softmax acts on the classes alone, and sigmoid on this.
KERNELWIRE_HOST_DEVICE inline float ActivateObjectness(Activation activation, float raw) {
  return activation == Activation::kNone ? raw : box::Sigmoid(raw);
}

/// From the input's coordinates to the image's: letterbox undone, then cut by the window. NaN stays NaN.
KERNELWIRE_HOST_DEVICE inline box::Corners ToImage(const Segment& segment, const box::Corners& box) {
  const float scale = Unpack(segment.extents[kScaleAndPadX], 0);
  const float pad_x = Unpack(segment.extents[kScaleAndPadX], 1);
  const float pad_y = Unpack(segment.extents[kPadY], 0);
  const float left = Unpack(segment.extents[kClipNear], 0);
  const float top = Unpack(segment.extents[kClipNear], 1);
  const float right = Unpack(segment.extents[kClipFar], 0);
  const float bottom = Unpack(segment.extents[kClipFar], 1);
  const auto place = [scale](float at, float pad, float low, float high) {
    const float mapped = box::Div(box::Sub(at, pad), scale);
    return mapped < low ? low : high < mapped ? high : mapped;
  };
  return {place(box.x1, pad_x, left, right), place(box.y1, pad_y, top, bottom), place(box.x2, pad_x, left, right),
          place(box.y2, pad_y, top, bottom)};
}

}  // namespace kernelwire::detection

#endif  // KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_H_

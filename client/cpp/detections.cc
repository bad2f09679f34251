#include "kernelwire/detections.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "client/cpp/operator_call.h"

namespace kernelwire::client {
namespace {

constexpr char kNms[] = "nms";
constexpr char kDetection[] = "detection_postprocess";
constexpr std::array kBoxCodings = {"xyxy", "yxyx", "xywh", "cxcywh"};

OperatorCall DetectionCall(const DetectionInputs& inputs, const DetectionOptions& options) {
  constexpr std::array kLayouts = {"yolov5", "yolov8"};
  constexpr std::array kActivations = {"none", "sigmoid", "softmax"};
  const auto& scales = options.anchor_scales;
  const auto& letterbox = options.letterbox;
  const auto& clip = options.clip;
  using Numbers = std::vector<double>;
  OperatorCall call(kDetection);
  call.Input("predictions", inputs.predictions)
      .Input("boxes", inputs.boxes)
      .Input("scores", inputs.scores)
      .Input("anchors", inputs.anchors)
      .Input("counts", inputs.counts)
      .Choice("layout", options.layout, kLayouts)
      .Choice("box_coding", options.box_coding, kBoxCodings)
      .List("anchor_scales", scales.has_value() ? Numbers(scales->begin(), scales->end()) : Numbers())
      .Choice("score_activation", options.score_activation, kActivations)
      .Flag("class_agnostic", options.class_agnostic)
      .Flag("multi_label", options.multi_label)
      .List("classes", options.classes)
      .Attribute("background_class", options.background_class)
      .Attribute("score_threshold", options.score_threshold)
      .Attribute("iou_threshold", options.iou_threshold)
      .Attribute("top_k", options.top_k)
      .Attribute("max_per_class", options.max_per_class)
      .Attribute("max_output", options.max_output)
      .List("letterbox",
            letterbox.has_value() ? Numbers{letterbox->scale, letterbox->pad_x, letterbox->pad_y} : Numbers())
      .List("clip", clip.has_value() ? Numbers{clip->x1, clip->y1, clip->x2, clip->y2} : Numbers());
  return call;
}

OperatorCall NmsCall(const NmsInputs& inputs, const NmsOptions& options) {
  constexpr std::array kSoftNms = {"none", "linear", "gaussian"};
  constexpr std::array kAngleUnits = {"degrees", "radians"};
  OperatorCall call(kNms);
  call.Input("boxes", inputs.boxes)
      .Input("scores", inputs.scores)
      .Input("classes", inputs.classes)
      .Input("counts", inputs.counts)
      .Attribute("iou_threshold", options.iou_threshold)
      .Attribute("score_threshold", options.score_threshold)
      .Attribute("top_k", options.top_k)
      .Attribute("max_output", options.max_output)
      .Attribute("max_per_class", options.max_per_class)
      .Choice("box_coding", options.box_coding, kBoxCodings)
      .Choice("soft_nms", options.soft_nms, kSoftNms)
      .Attribute("sigma", options.sigma)
      .Flag("rotated", options.rotated)
      .Choice("angle_unit", options.angle_unit, kAngleUnits);
  return call;
}

// The rows of one image that count, of outputs padded to one length for all images.
struct Stretch {
  std::size_t begin;
  std::size_t size;
};

// One stretch an image. Requires of `sizes`: the rows of each output but `count`'s own.
Result<std::vector<Stretch>> StretchesOf(const char* model, const char* count, InferReply& reply,
                                         const std::vector<std::size_t>& sizes) {
  const Result<std::vector<std::int32_t>> counts = ValuesOf<std::int32_t>(model, reply, count);
  if (!counts.ok()) {
    return counts.status();
  }
  const std::size_t images = counts->size();
  const std::size_t each = images == 0 ? 0 : sizes.front() / images;
  bool fits = std::all_of(sizes.begin(), sizes.end(), [&](std::size_t rows) { return rows == images * each; });
  std::vector<Stretch> stretches;
  for (const std::int32_t rows : *counts) {
    fits = fits && rows >= 0 && static_cast<std::size_t>(rows) <= each;
    stretches.push_back({stretches.size() * each, static_cast<std::size_t>(rows)});
  }
  if (!fits) {
    return Status(StatusCode::kInternal,
                  std::string("reply of '") + model + "': output '" + count + "' does not fit the other outputs");
  }
  return stretches;
}

// Cuts the padded outputs, [images, rows] or [rows], into images.
Result<std::vector<NmsKept>> KeptOf(InferReply& reply) {
  const auto indices = ValuesOf<std::int64_t>(kNms, reply, "indices");
  const auto scores = ValuesOf<float>(kNms, reply, "scores");
  if (!indices.ok() || !scores.ok()) {
    return indices.ok() ? scores.status() : indices.status();
  }
  const auto stretches = StretchesOf(kNms, "count", reply, {indices->size(), scores->size()});
  if (!stretches.ok()) {
    return stretches.status();
  }
  std::vector<NmsKept> kept;
  for (const Stretch& rows : *stretches) {
    kept.push_back({Cut(*indices, rows.begin, rows.size), Cut(*scores, rows.begin, rows.size)});
  }
  return kept;
}

// Boxes of corners that follow one another.
std::vector<std::array<float, 4>> BoxesOf(const std::vector<float>& corners, const Stretch& rows) {
  std::vector<std::array<float, 4>> boxes(rows.size);
  for (std::size_t i = 0; i < rows.size; ++i) {
    std::copy_n(corners.begin() + static_cast<std::ptrdiff_t>(4 * (rows.begin + i)), 4, boxes[i].begin());
  }
  return boxes;
}

}  // namespace

InferRequest DetectionRequest(const DetectionInputs& inputs, const DetectionOptions& options) {
  return DetectionCall(inputs, options).request();
}

Result<std::vector<Detections>> DetectionsOf(InferReply& reply) {
  const auto boxes = ValuesOf<float>(kDetection, reply, "boxes");
  const auto scores = ValuesOf<float>(kDetection, reply, "scores");
  const auto classes = ValuesOf<std::int32_t>(kDetection, reply, "classes");
  const auto indices = ValuesOf<std::int64_t>(kDetection, reply, "indices");
  for (const Status& status : {boxes.status(), scores.status(), classes.status(), indices.status()}) {
    if (!status.ok()) {
      return status;
    }
  }
  const auto stretches = StretchesOf(kDetection, "num_detections", reply,
                                     {scores->size(), boxes->size() / 4, classes->size(), indices->size()});
  if (!stretches.ok()) {
    return stretches.status();
  }
  std::vector<Detections> images;
  for (const Stretch& rows : *stretches) {
    images.push_back({BoxesOf(*boxes, rows), Cut(*scores, rows.begin, rows.size), Cut(*classes, rows.begin, rows.size),
                      Cut(*indices, rows.begin, rows.size)});
  }
  return images;
}

Result<std::vector<Detections>> DetectionPostprocess(const Client& client, const DetectionInputs& inputs,
                                                     const DetectionOptions& options, Timeout timeout) {
  Result<InferReply> reply = client.Infer(DetectionRequest(inputs, options), timeout);
  return reply.ok() ? DetectionsOf(*reply) : reply.status();
}

Result<std::vector<NmsKept>> Nms(const Client& client, const NmsInputs& inputs, const NmsOptions& options,
                                 Timeout timeout) {
  Result<InferReply> reply = client.Infer(NmsCall(inputs, options).request(), timeout);
  return reply.ok() ? KeptOf(*reply) : reply.status();
}

}  // namespace kernelwire::client

// From boxes to the boxes that are left. See kernelwire/operators.h.
//
//   DetectionInputs inputs;
//   inputs.predictions = View(head, {images, 84, 8400});
//   DetectionOptions options;
//   options.layout = DetectionLayout::kYolov8;
//   auto found = DetectionPostprocess(client, inputs, options, 100ms);   // (*found)[image].boxes, .scores, .classes
#ifndef KERNELWIRE_CLIENT_DETECTIONS_H_
#define KERNELWIRE_CLIENT_DETECTIONS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernelwire/client.h"
#include "kernelwire/infer.h"
#include "kernelwire/tensor.h"

namespace kernelwire::client {

/// What the four numbers of a box are: corners, or a corner or the centre before width and height.
enum class BoxCoding { kXyxy, kYxyx, kXywh, kCxcywh };

/// How predictions lie: [n, 5 + classes], the fifth the objectness; or [4 + classes, n].
enum class DetectionLayout { kYolov5, kYolov8 };
/// What makes scores of the numbers that came.
enum class ScoreActivation { kNone, kSigmoid, kSoftmax };

/// How the image was brought to the detector's size: x * scale + pad_x, y * scale + pad_y, in pixels. Undone to boxes.
struct Letterbox {
  double scale = 1;  // > 0
  double pad_x = 0;
  double pad_y = 0;
};

/// In pixels of the image.
struct ClipWindow {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;  // >= x1
  double y2 = 0;  // >= y1
};

/// `predictions`, or both `boxes` and `scores`. All but `anchors` and `counts` may have the images' dimension in front.
/// FP16, BF16 or FP32, each by itself.
struct DetectionInputs {
  std::optional<TensorView> predictions;  // read as DetectionOptions::layout says
  std::optional<TensorView> boxes;        // [n, 4] or [n, classes, 4]
  std::optional<TensorView> scores;       // [n, classes]
  std::optional<TensorView> anchors;      // [n, 4], centres and sizes, of all images: the boxes are deltas to them
  std::optional<TensorView> counts;       // [images], INT32: how many boxes of each image are real; all
};

struct DetectionOptions {
  std::optional<DetectionLayout> layout;               // required with predictions, and only there
  std::optional<BoxCoding> box_coding;                 // corners; of predictions centre and size; none beside anchors
  std::optional<std::array<double, 4>> anchor_scales;  // > 0: the deltas are divided by these; 1, 1, 1, 1
  std::optional<ScoreActivation> score_activation;     // none
  bool class_agnostic = false;                         // boxes of all classes suppress each other
  bool multi_label = false;           // a box counts for every class above the threshold, not for its best alone
  std::vector<std::int64_t> classes;  // only these count, below 2048; empty: all
  std::optional<std::int64_t> background_class;  // a class that does not count; none
  std::optional<double> score_threshold;         // only greater scores take part; 0.25
  std::optional<double> iou_threshold;           // 0 to 1: a box goes when its IoU with a kept one is greater; 0.5
  std::optional<std::int64_t> top_k;             // candidates of an image by score; no limit
  std::optional<std::int64_t> max_per_class;     // kept of a class in an image; no limit
  std::optional<std::int64_t> max_output;        // kept of an image; 300
  std::optional<Letterbox> letterbox;            // none
  std::optional<ClipWindow> clip;                // boxes are cut to it, after the letterbox; none
};

/// The final boxes of one image in the order of falling scores; the vectors have one entry a box.
struct Detections {
  std::vector<std::array<float, 4>> boxes;  // corners x1 y1 x2 y2 in the image
  std::vector<float> scores;
  std::vector<std::int32_t> classes;
  std::vector<std::int64_t> indices;  // which of the detector's n boxes each one was
};

/// One entry an image; one entry where the inputs have no image dimension.
Result<std::vector<Detections>> DetectionPostprocess(const Client& client, const DetectionInputs& inputs,
                                                     const DetectionOptions& options, Timeout timeout);

/// The two halves of that call, for an EncodedRequest or a Pipeline: the request, which views the inputs' memory, and
/// what its reply says. Errors of the second: INTERNAL for a reply whose outputs do not fit each other.
InferRequest DetectionRequest(const DetectionInputs& inputs, const DetectionOptions& options);
Result<std::vector<Detections>> DetectionsOf(InferReply& reply);

enum class SoftNms { kNone, kLinear, kGaussian };
enum class AngleUnit { kDegrees, kRadians };

struct NmsOptions {
  std::optional<double> iou_threshold;        // a box goes when its IoU with a kept one is greater; 0.5
  std::optional<double> score_threshold;      // only greater scores take part; none
  std::optional<std::int64_t> top_k;          // candidates of an image by score; no limit
  std::optional<std::int64_t> max_output;     // kept of an image; no limit
  std::optional<std::int64_t> max_per_class;  // kept of a class in an image; no limit
  std::optional<BoxCoding> box_coding;        // corners x1 y1 x2 y2
  std::optional<SoftNms> soft_nms;            // none
  std::optional<double> sigma;                // of the gaussian, > 0; 0.5
  bool rotated = false;                       // boxes are [.., n, 5]: cx, cy, w, h, angle; then no box_coding
  std::optional<AngleUnit> angle_unit;        // degrees
};

struct NmsInputs {
  TensorView boxes;                   // [n, 4] or [images, n, 4] (5 instead of 4 when rotated): FP16, BF16, FP32
  TensorView scores;                  // [n] or [images, n]: FP16, BF16, FP32
  std::optional<TensorView> classes;  // [n] or [images, n]: INT32 or INT64; boxes of different classes never meet
  std::optional<TensorView> counts;   // [images], INT32: how many boxes of each image are real
};

/// What is left of one image, in the order of falling scores; both vectors have one entry a kept box.
struct NmsKept {
  std::vector<std::int64_t> indices;  // into the image's boxes
  std::vector<float> scores;          // with soft-NMS, the decayed ones
};

/// One entry an image; one entry where the boxes have no image dimension.
Result<std::vector<NmsKept>> Nms(const Client& client, const NmsInputs& inputs, const NmsOptions& options,
                                 Timeout timeout);

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_DETECTIONS_H_

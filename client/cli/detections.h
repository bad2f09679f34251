// Detections, raw ones in the two JSON forms that people have (COCO results; one image's boxes, scores and classes),
// and final ones made of a detector's predictions.
#ifndef KERNELWIRE_CLIENT_CLI_DETECTIONS_H_
#define KERNELWIRE_CLIENT_CLI_DETECTIONS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/svg.h"
#include "kernelwire/operators.h"
#include "kernelwire/status.h"

namespace kernelwire::cli {

/// The detections of one image; the three vectors have one entry a box.
struct ImageDetections {
  std::int64_t id = 0;
  std::vector<std::array<float, 4>> boxes;
  std::vector<float> scores;
  std::vector<std::int32_t> classes;
  std::vector<std::int64_t> sources;  // which of the detector's boxes each one was; empty: the one of its place
  std::int64_t total = 0;             // boxes that the detector put out

  std::int64_t SourceOf(std::size_t box) const {
    return sources.empty() ? static_cast<std::int64_t>(box) : sources[box];
  }
};

enum class DetectionForm : std::uint8_t {
  kCoco,         // [{"image_id": 42, "category_id": 18, "bbox": [x, y, width, height], "score": 0.2}, ...]
  kOneImage,     // {"boxes": [[x1, y1, x2, y2], ...], "scores": [...], "idxs": [...]}, and maybe "keep": [...]
  kPredictions,  // what detection_postprocess made of a detector's output: corners, written as COCO results
};

struct Detections {
  DetectionForm form = DetectionForm::kCoco;
  std::vector<ImageDetections> images;                // by rising id
  std::optional<std::vector<std::int64_t>> expected;  // "keep" of the file

  client::BoxCoding box_coding() const {
    return form == DetectionForm::kCoco ? client::BoxCoding::kXywh : client::BoxCoding::kXyxy;
  }
};

/// Errors: INVALID_ARGUMENT naming the entry, what was expected and what came.
client::Result<Detections> ParseDetections(const std::string& json);

/// What was kept, in the form that the detections came in, in the order of the images and of falling scores; "keep" is
/// added to the form of one image. Requires: one entry of `kept` an image.
std::string FormatKept(const Detections& detections, const std::vector<client::NmsKept>& kept);

/// What was kept, ready to be drawn.
std::vector<DrawnImage> PictureOf(const Detections& detections, const std::vector<client::NmsKept>& kept);

/// All detections, for those that are final already.
std::vector<client::NmsKept> KeepAll(const Detections& detections);

/// A box as corners x1 y1 x2 y2.
std::array<float, 4> CornersOf(const std::array<float, 4>& box, client::BoxCoding coding);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_DETECTIONS_H_

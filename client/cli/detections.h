// Raw detections in the two JSON forms that people have: COCO results, and one image's boxes, scores and classes.
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
};

enum class DetectionForm : std::uint8_t {
  kCoco,      // [{"image_id": 42, "category_id": 18, "bbox": [x, y, width, height], "score": 0.2}, ...]
  kOneImage,  // {"boxes": [[x1, y1, x2, y2], ...], "scores": [...], "idxs": [...]}, and maybe "keep": [...]
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

/// A box as corners x1 y1 x2 y2.
std::array<float, 4> CornersOf(const std::array<float, 4>& box, client::BoxCoding coding);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_DETECTIONS_H_

// kernelwire detect: final boxes of a detector's raw output (.npy), or of raw detections in a JSON file.
#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/detections.h"
#include "client/cli/file.h"
#include "client/cli/npy.h"
#include "client/cli/photograph.h"
#include "client/cli/predictions.h"
#include "client/cli/svg.h"
#include "client/cli/table.h"
#include "kernelwire/operators.h"

namespace kernelwire::cli {
namespace {

using client::NmsKept;
using client::Result;
using client::Status;
using client::StatusCode;

// Reads an option if it was given.
std::optional<double> NumberIn(const Arguments& arguments, const char* name) {
  return arguments.Has(name) ? std::optional(arguments.Number(name)) : std::nullopt;
}
std::optional<std::int64_t> IntegerIn(const Arguments& arguments, const char* name) {
  return arguments.Has(name) ? std::optional(arguments.Integer(name)) : std::nullopt;
}

Result<client::NmsOptions> OptionsOf(const Arguments& arguments) {
  client::NmsOptions options;
  options.iou_threshold = NumberIn(arguments, "iou_threshold");
  options.score_threshold = NumberIn(arguments, "score_threshold");
  options.top_k = IntegerIn(arguments, "top_k");
  options.max_output = IntegerIn(arguments, "max_output");
  options.max_per_class = IntegerIn(arguments, "max_per_class");
  options.sigma = NumberIn(arguments, "sigma");
  if (arguments.Has("soft_nms")) {
    static constexpr std::array kNames = {"none", "linear", "gaussian"};
    const auto found = std::find(kNames.begin(), kNames.end(), arguments.Text("soft_nms"));
    if (found == kNames.end()) {
      return Status(StatusCode::kInvalidArgument,
                    "--soft_nms: expected none, linear or gaussian, got '" + arguments.Text("soft_nms") + "'");
    }
    options.soft_nms = static_cast<client::SoftNms>(found - kNames.begin());
  }
  return options;
}

// One request an image: images differ in their number of boxes, and the server has no use for padding.
Result<NmsKept> Suppress(const client::Client& client, const ImageDetections& image, bool with_classes,
                         const client::NmsOptions& options, client::Timeout timeout) {
  const auto count = static_cast<std::int64_t>(image.boxes.size());
  client::NmsInputs inputs;
  inputs.boxes = {client::DataType::kFp32, {count, 4}, image.boxes.data(), image.boxes.size() * 16, nullptr};
  inputs.scores = client::View(image.scores, {count});
  if (with_classes) {
    inputs.classes = client::View(image.classes, {count});
  }
  Result<std::vector<NmsKept>> kept = client::Nms(client, inputs, options, timeout);
  if (!kept.ok()) {
    return kept.status();
  }
  const auto in_range = [count](std::int64_t index) { return index >= 0 && index < count; };
  if (kept->size() != 1 || !std::all_of((*kept)[0].indices.begin(), (*kept)[0].indices.end(), in_range)) {
    return Status(StatusCode::kInternal, "reply of 'nms': indices are not of the boxes that were sent");
  }
  return std::move((*kept)[0]);
}

void PrintTable(const Detections& detections, const std::vector<NmsKept>& kept, std::size_t rows) {
  Table table({">image", ">box", ">class", ">score", ">x1", ">y1", ">x2", ">y2"});
  std::size_t all = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const ImageDetections& image = detections.images[i];
    for (std::size_t k = 0; k < kept[i].indices.size() && all < rows; ++k, ++all) {
      const auto index = static_cast<std::size_t>(kept[i].indices[k]);
      std::vector<std::string> cells = {std::to_string(image.id), std::to_string(image.SourceOf(index)),
                                        std::to_string(image.classes[index]),
                                        Fixed(static_cast<double>(kept[i].scores[k]), 3)};
      for (const float corner : CornersOf(image.boxes[index], detections.box_coding())) {
        cells.push_back(Fixed(static_cast<double>(corner), 1));
      }
      table.Add(std::move(cells));
    }
  }
  std::cout << table.ToString();
}

void PrintSummary(const Detections& detections, const std::vector<NmsKept>& kept, std::size_t rows) {
  std::int64_t boxes = 0;
  std::size_t left = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    boxes += detections.images[i].total;
    left += kept[i].indices.size();
  }
  if (left > rows) {
    std::cout << "... " << left - rows << " more; --rows N shows them, --json FILE writes all\n";
  }
  std::cout << "kept " << left << " of " << boxes << " boxes in " << kept.size()
            << (kept.size() == 1 ? " image\n" : " images\n");
  if (detections.expected.has_value()) {
    const bool same = kept[0].indices == *detections.expected;
    std::cout << (same ? "the same as" : "not the same as") << " the " << detections.expected->size()
              << " that the file expects\n";
  }
}

// What is drawn, with the photograph under it if there is one.
Result<std::vector<DrawnImage>> PictureFor(const Arguments& arguments, const Detections& detections,
                                           const std::vector<NmsKept>& kept) {
  std::vector<DrawnImage> picture = PictureOf(detections, kept);
  if (!arguments.Has("photo")) {
    return picture;
  }
  const std::string& path = arguments.Text("photo");
  if (picture.size() != 1) {
    return Status(StatusCode::kInvalidArgument,
                  "--photo: expected detections of one image, got " + std::to_string(picture.size()));
  }
  const Result<std::string> content = ReadFile(path);
  if (!content.ok()) {
    return content.status();
  }
  Result<Photograph> photograph = ParsePhotograph(*content);
  if (!photograph.ok()) {
    return Status(photograph.status().code(), path + ": " + photograph.status().message());
  }
  picture[0].photograph = *std::move(photograph);
  return picture;
}

Status WriteFiles(const Arguments& arguments, const Detections& detections, const std::vector<NmsKept>& kept) {
  Status status;
  if (arguments.Has("json")) {
    status = WriteFile(arguments.Text("json"), FormatKept(detections, kept));
  }
  if (status.ok() && arguments.Has("svg")) {
    const Result<std::vector<DrawnImage>> picture = PictureFor(arguments, detections, kept);
    status = picture.ok() ? WriteFile(arguments.Text("svg"), DrawSvg(*picture)) : picture.status();
  }
  return status;
}

int Report(const Arguments& arguments, const Detections& detections, const std::vector<NmsKept>& kept) {
  const auto rows = static_cast<std::size_t>(arguments.Integer("rows"));
  PrintTable(detections, kept, rows);
  PrintSummary(detections, kept, rows);
  const Status written = WriteFiles(arguments, detections, kept);
  return written.ok() ? kExitOk : Fail(written);
}

Result<Detections> Load(const std::string& path) {
  const Result<std::string> content = ReadFile(path);
  if (!content.ok()) {
    return content.status();
  }
  Result<Detections> detections = ParseDetections(*content);
  return detections.ok() ? std::move(detections)
                         : Status(detections.status().code(), path + ": " + detections.status().message());
}

int RunOnPredictions(const Arguments& arguments) {
  for (const char* const name : {"soft_nms", "sigma"}) {
    if (arguments.Has(name)) {
      return FailUsage(std::string("--") + name + ": only with a JSON file of detections");
    }
  }
  if (!arguments.Has("layout")) {
    return FailUsage("--layout: required with predictions (yolov5 or yolov8)");
  }
  const Result<Array> predictions = ReadNpy(arguments.operands()[0]);
  if (!predictions.ok()) {
    return Fail(predictions.status());
  }
  const Result<Detections> detections =
      Postprocess(ConnectTo(arguments), arguments, *predictions, TimeoutOf(arguments));
  return detections.ok() ? Report(arguments, *detections, KeepAll(*detections)) : Fail(detections.status());
}

int RunOnDetections(const Arguments& arguments) {
  if (const auto given = GivenPredictionOptions(arguments); !given.empty()) {
    return FailUsage("--" + given.front() + ": only with predictions (.npy)");
  }
  const Result<client::NmsOptions> given = OptionsOf(arguments);
  if (!given.ok()) {
    return FailUsage(given.status().message());
  }
  const Result<Detections> detections = Load(arguments.operands()[0]);
  if (!detections.ok()) {
    return Fail(detections.status());
  }
  client::NmsOptions options = *given;
  options.box_coding = detections->box_coding();
  const client::Client client = ConnectTo(arguments);
  std::vector<NmsKept> kept;
  for (const ImageDetections& image : detections->images) {
    Result<NmsKept> result = Suppress(client, image, !arguments.Has("class_agnostic"), options, TimeoutOf(arguments));
    if (!result.ok()) {
      return Fail(
          Status(result.status().code(), "image " + std::to_string(image.id) + ": " + result.status().message()));
    }
    kept.push_back(*std::move(result));
  }
  return Report(arguments, *detections, kept);
}

int RunDetect(const Arguments& arguments) {
  const std::string& path = arguments.operands()[0];
  const std::string ending = ".npy";
  const bool is_array = path.size() >= ending.size() && path.compare(path.size() - ending.size(), 4, ending) == 0;
  return is_array ? RunOnPredictions(arguments) : RunOnDetections(arguments);
}

std::vector<Option> DetectOptions() {
  std::vector<Option> options = {
      {"iou_threshold", OptionKind::kNumber, "X", "A box goes when its overlap with a better one is greater."},
      {"score_threshold", OptionKind::kNumber, "X", "Only greater scores take part."},
      {"top_k", OptionKind::kInteger, "N", "Takes the N best boxes of an image into account."},
      {"max_output", OptionKind::kInteger, "N", "Keeps at most N boxes an image."},
      {"max_per_class", OptionKind::kInteger, "N", "Keeps at most N boxes of a class and image."},
      {"soft_nms", OptionKind::kText, "KIND", "Lowers scores instead: none, linear or gaussian."},
      {"sigma", OptionKind::kNumber, "X", "Width of the gaussian."},
      {"class_agnostic", OptionKind::kSwitch, "", "Boxes of all classes suppress each other."},
  };
  const std::vector<Option> of_predictions = PredictionOptions();
  options.insert(options.end(), of_predictions.begin(), of_predictions.end());
  options.push_back({"rows", OptionKind::kInteger, "N", "Prints at most N boxes.", "20"});
  options.push_back({"json", OptionKind::kText, "FILE", "Writes what was kept, in the form of the input."});
  options.push_back({"svg", OptionKind::kText, "FILE", "Draws what was kept, a colour a class."});
  options.push_back({"photo", OptionKind::kText, "FILE", "A PNG or JPEG file to draw over, of the one image."});
  return options;
}

}  // namespace

Command DetectCommand() {
  return {
      "detect",
      "FILE",
      "makes final boxes of a detector's output, prints and draws them",
      "Two kinds of files are understood. A NumPy file (.npy) holds a detector's predictions, [4+classes,n] (yolov8)\n"
      "or [n,5+classes] (yolov5), perhaps behind [images]; it goes through the server's `detection_postprocess`:\n"
      "\n"
      "  kernelwire detect predictions.npy --layout=yolov8 --letterbox=0.5,0,80 --photo=street.jpg --svg=street.svg\n"
      "\n"
      "A JSON file holds detections, and each image's boxes go through the server's `nms`:\n"
      "\n"
      "  COCO results  [{\"image_id\": 42, \"category_id\": 18, \"bbox\": [x, y, width, height], \"score\": 0.2}, "
      "...]\n"
      "  one image     {\"boxes\": [[x1, y1, x2, y2], ...], \"scores\": [...], \"idxs\": [classes ...]}\n"
      "\n"
      "Boxes of different classes do not suppress each other. An expected result (\"keep\", indices) in the second\n"
      "form is compared with the server's. Options left out keep the server's defaults; `kernelwire describe nms` and\n"
      "`kernelwire describe detection_postprocess` have them. What is written of predictions are COCO results.\n",
      DetectOptions(),
      RunDetect};
}

}  // namespace kernelwire::cli

#include "client/cli/predictions.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "client/cli/parameter_text.h"
#include "kernelwire/operators.h"

namespace kernelwire::cli {
namespace {

using client::Result;

// Options of both forms of input whose names are attributes.
constexpr const char* kShared[] = {"iou_threshold", "score_threshold", "top_k", "max_output", "max_per_class"};

}  // namespace

std::vector<Option> PredictionOptions() {
  return {
      {"layout", OptionKind::kText, "NAME", "How predictions lie: yolov5 [n,5+classes] or yolov8 [4+classes,n]."},
      {"score_activation", OptionKind::kText, "NAME", "Makes scores of predictions: none, sigmoid or softmax."},
      {"multi_label", OptionKind::kSwitch, "", "A box counts for every class, not for its best alone."},
      {"classes", OptionKind::kText, "LIST", "Only these classes count: 0,2,5."},
      {"letterbox", OptionKind::kText, "LIST", "scale,pad_x,pad_y of the picture that the detector saw."},
      {"clip", OptionKind::kText, "LIST", "x1,y1,x2,y2: the window that boxes are cut to."},
  };
}

std::vector<std::string> GivenPredictionOptions(const Arguments& arguments) {
  std::vector<std::string> given;
  for (const Option& option : PredictionOptions()) {
    if (arguments.Has(option.name)) {
      given.push_back(option.name);
    }
  }
  return given;
}

std::vector<std::pair<std::string, client::ParameterValue>> PredictionAttributes(const Arguments& arguments) {
  std::vector<std::pair<std::string, client::ParameterValue>> attributes;
  for (const Option& option : PredictionOptions()) {
    if (arguments.Has(option.name)) {
      attributes.emplace_back(option.name, option.kind == OptionKind::kSwitch
                                               ? client::ParameterValue(true)
                                               : client::ParameterValue(arguments.Text(option.name)));
    }
  }
  for (const char* const name : kShared) {
    if (arguments.Has(name)) {
      attributes.emplace_back(name, ParameterFromText(arguments.Text(name)));
    }
  }
  if (arguments.Has("class_agnostic")) {
    attributes.emplace_back("class_agnostic", true);
  }
  return attributes;
}

Result<Detections> DetectionsOf(const Array& predictions, const std::string& layout, client::InferReply& reply) {
  Result<std::vector<client::Detections>> found = client::DetectionsOf(reply);
  if (!found.ok()) {
    return found.status();
  }
  const std::size_t rank = predictions.shape.size();
  Detections detections;
  detections.form = DetectionForm::kPredictions;
  for (client::Detections& of_image : *found) {
    ImageDetections image;
    image.id = static_cast<std::int64_t>(detections.images.size());
    image.total = rank < 2 ? 0 : predictions.shape[layout == "yolov5" ? rank - 2 : rank - 1];
    image.boxes = std::move(of_image.boxes);
    image.scores = std::move(of_image.scores);
    image.classes = std::move(of_image.classes);
    image.sources = std::move(of_image.indices);
    detections.images.push_back(std::move(image));
  }
  return detections;
}

Result<Detections> Postprocess(const client::Client& client, const Arguments& arguments, const Array& predictions,
                               client::Timeout timeout) {
  client::InferRequest request;
  request.model = "detection_postprocess";
  request.inputs = {
      {"predictions", {predictions.dtype, predictions.shape, predictions.bytes.data(), predictions.bytes.size(), {}}}};
  request.parameters = PredictionAttributes(arguments);
  Result<client::InferReply> reply = client.Infer(request, timeout);
  return reply.ok() ? DetectionsOf(predictions, arguments.Text("layout"), *reply) : reply.status();
}

}  // namespace kernelwire::cli

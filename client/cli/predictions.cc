#include "client/cli/predictions.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "client/cli/parameter_text.h"

namespace kernelwire::cli {
namespace {

using client::Result;
using client::Status;
using client::StatusCode;

// Options of both forms of input whose names are attributes.
constexpr const char* kShared[] = {"iou_threshold", "score_threshold", "top_k", "max_output", "max_per_class"};

Status Unfitting(const std::string& what) {
  return Status(StatusCode::kInternal, "reply of 'detection_postprocess': " + what);
}

// Rows of one image out of the reply's outputs.
struct Columns {
  std::vector<std::int32_t> counts;
  std::vector<float> boxes;
  std::vector<float> scores;
  std::vector<std::int32_t> classes;
  std::vector<std::int64_t> indices;
};

Result<Columns> ColumnsOf(client::InferReply& reply) {
  const auto typed = [&reply](const char* name, client::DataType type) {
    client::OutputTensor* const output = reply.Find(name);
    return output != nullptr && output->dtype() == type ? output : nullptr;
  };
  client::OutputTensor* const counts = typed("num_detections", client::DataType::kInt32);
  client::OutputTensor* const boxes = typed("boxes", client::DataType::kFp32);
  client::OutputTensor* const scores = typed("scores", client::DataType::kFp32);
  client::OutputTensor* const classes = typed("classes", client::DataType::kInt32);
  client::OutputTensor* const indices = typed("indices", client::DataType::kInt64);
  if (counts == nullptr || boxes == nullptr || scores == nullptr || classes == nullptr || indices == nullptr) {
    return Unfitting("an output is missing or of another type");
  }
  return Columns{counts->ToVector<std::int32_t>(), boxes->ToVector<float>(), scores->ToVector<float>(),
                 classes->ToVector<std::int32_t>(), indices->ToVector<std::int64_t>()};
}

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
  const Result<Columns> columns = ColumnsOf(reply);
  if (!columns.ok()) {
    return columns.status();
  }
  const std::size_t rank = predictions.shape.size();
  const std::size_t images = columns->counts.size();
  const std::size_t rows = images == 0 ? 0 : columns->scores.size() / images;
  if (columns->boxes.size() != 4 * images * rows || columns->classes.size() != images * rows ||
      columns->indices.size() != images * rows || columns->scores.size() != images * rows) {
    return Unfitting("outputs of unlike lengths");
  }
  Detections detections;
  detections.form = DetectionForm::kPredictions;
  for (std::size_t i = 0; i < images; ++i) {
    ImageDetections& image = detections.images.emplace_back();
    image.id = static_cast<std::int64_t>(i);
    image.total = rank < 2 ? 0 : predictions.shape[layout == "yolov5" ? rank - 2 : rank - 1];
    if (columns->counts[i] < 0 || static_cast<std::size_t>(columns->counts[i]) > rows) {
      return Unfitting("'num_detections' does not fit the other outputs");
    }
    for (std::size_t row = i * rows; row < i * rows + static_cast<std::size_t>(columns->counts[i]); ++row) {
      std::array<float, 4> corners{};
      std::copy_n(columns->boxes.begin() + static_cast<std::ptrdiff_t>(4 * row), 4, corners.begin());
      image.boxes.push_back(corners);
      image.scores.push_back(columns->scores[row]);
      image.classes.push_back(columns->classes[row]);
      image.sources.push_back(columns->indices[row]);
    }
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

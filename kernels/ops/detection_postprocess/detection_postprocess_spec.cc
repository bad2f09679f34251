// What detection_postprocess takes and promises, and the planning of a request: the only validation, for every device.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/core/operator.h"
#include "kernels/core/status_macros.h"
#include "kernels/ops/detection_postprocess/detection_postprocess.h"
#include "kernels/ops/detection_postprocess/detection_postprocess_description.h"
#include "kernels/ops/detection_postprocess/detection_postprocess_workspace.h"

namespace kernelwire {

absl::Status RunDetectionPostprocessHost(const Launch& launch, ParallelExecutor& threads);  // the host's file

namespace {

using detection::Activation;
using detection::Layout;
using detection::Params;

/// Candidates of an image (boxes, or boxes times classes) and images: positions are 32-bit numbers on every device.
constexpr std::int64_t kMostPerImage = std::int64_t{1} << 30;

/// The extents of a request, once its shapes fit together.
struct Sizes {
  bool has_images = false;
  std::int64_t images = 1;
  std::int64_t boxes = 0;  // of an image
  std::int64_t classes = 0;
  bool boxes_of_classes = false;
};

absl::Status Invalid(const std::string& message) { return absl::InvalidArgumentError(message); }

std::string ShapeOf(const PlanRequest& request, int input) {
  return request.inputs[static_cast<std::size_t>(input)]->shape.ToString();
}

bool Has(const PlanRequest& request, int input) { return request.inputs[static_cast<std::size_t>(input)].has_value(); }

const Shape& At(const PlanRequest& request, int input) {
  return request.inputs[static_cast<std::size_t>(input)]->shape;
}

absl::StatusOr<Layout> LayoutOf(const PlanRequest& request) {
  const auto name = request.attributes->GetString("layout");
  if (!Has(request, detection::kPredictions)) {
    if (name.has_value()) {
      return Invalid(absl::StrCat("attribute 'layout': expected only beside the input 'predictions', got '", *name,
                                  "' without it"));
    }
    for (const auto& [input, text] : {std::pair(detection::kBoxes, "boxes"), std::pair(detection::kScores, "scores")}) {
      if (!Has(request, input)) {
        return Invalid(absl::StrCat("input '", text,
                                    "': expected 'predictions', or both 'boxes' and 'scores', but it was not given"));
      }
    }
    return Layout::kSeparate;
  }
  for (const auto& [input, text] : {std::pair(detection::kBoxes, "boxes"), std::pair(detection::kScores, "scores")}) {
    if (Has(request, input)) {
      return Invalid(absl::StrCat("input '", text, "': expected none beside 'predictions', got one of shape ",
                                  ShapeOf(request, input)));
    }
  }
  if (!name.has_value()) {
    return Invalid(
        "attribute 'layout': required beside the input 'predictions' (yolov5 or yolov8), but it was not given");
  }
  return *name == "yolov5" ? Layout::kYolov5 : Layout::kYolov8;
}

absl::StatusOr<Sizes> SizesOfPredictions(const PlanRequest& request, Layout layout) {
  const Shape& shape = At(request, detection::kPredictions);
  const int leading = detection::LeadingNumbers(layout);
  Sizes sizes;
  sizes.has_images = shape.rank() == 3;
  const int rows_axis = shape.rank() - 2;
  const int classes_axis = layout == Layout::kYolov5 ? rows_axis + 1 : rows_axis;
  if ((shape.rank() != 2 && shape.rank() != 3) || shape[classes_axis] <= leading) {
    return Invalid(absl::StrCat(
        "input 'predictions': expected shape ",
        layout == Layout::kYolov5 ? "[n,5+classes] or [images,n,5+classes]" : "[4+classes,n] or [images,4+classes,n]",
        " with at least one class, got ", shape.ToString()));
  }
  sizes.images = sizes.has_images ? shape[0] : 1;
  sizes.boxes = shape[layout == Layout::kYolov5 ? rows_axis : rows_axis + 1];
  sizes.classes = shape[classes_axis] - leading;
  return sizes;
}

absl::StatusOr<Sizes> SizesOfSeparate(const PlanRequest& request) {
  const Shape& scores = At(request, detection::kScores);
  const Shape& boxes = At(request, detection::kBoxes);
  Sizes sizes;
  sizes.has_images = scores.rank() == 3;
  if ((scores.rank() != 2 && scores.rank() != 3) || scores[scores.rank() - 1] < 1) {
    return Invalid(
        absl::StrCat("input 'scores': expected shape [n,classes] or [images,n,classes] with at least one "
                     "class, got ",
                     scores.ToString()));
  }
  sizes.images = sizes.has_images ? scores[0] : 1;
  sizes.boxes = scores[scores.rank() - 2];
  sizes.classes = scores[scores.rank() - 1];
  Shape shared = sizes.has_images ? Shape{sizes.images, sizes.boxes, 4} : Shape{sizes.boxes, 4};
  Shape by_class =
      sizes.has_images ? Shape{sizes.images, sizes.boxes, sizes.classes, 4} : Shape{sizes.boxes, sizes.classes, 4};
  sizes.boxes_of_classes = boxes == by_class;
  if (boxes != shared && !sizes.boxes_of_classes) {
    return Invalid(absl::StrCat("input 'boxes': expected shape ", shared.ToString(), " or ", by_class.ToString(),
                                " beside scores of shape ", scores.ToString(), ", got ", boxes.ToString()));
  }
  return sizes;
}

absl::Status CheckCompanions(const PlanRequest& request, const Sizes& sizes) {
  if (Has(request, detection::kAnchors) && At(request, detection::kAnchors) != Shape{sizes.boxes, 4}) {
    return Invalid(absl::StrCat("input 'anchors': expected shape ", Shape{sizes.boxes, 4}.ToString(),
                                " (one for each of the boxes, shared by all images), got ",
                                ShapeOf(request, detection::kAnchors)));
  }
  if (Has(request, detection::kCounts)) {
    if (!sizes.has_images) {
      return Invalid("input 'counts': expected only beside inputs with an image dimension, got it without one");
    }
    if (At(request, detection::kCounts) != Shape{sizes.images}) {
      return Invalid(absl::StrCat("input 'counts': expected shape ", Shape{sizes.images}.ToString(),
                                  " (one count for each of the images), got ", ShapeOf(request, detection::kCounts)));
    }
  }
  for (const char* name : {"box_coding", "anchor_scales"}) {
    const bool given = std::string(name) == "box_coding" ? request.attributes->GetString(name).has_value()
                                                         : request.attributes->GetDoubleList(name).has_value();
    const bool wants_anchors = std::string(name) == "anchor_scales";
    if (given && wants_anchors != Has(request, detection::kAnchors)) {
      return Invalid(absl::StrCat("attribute '", name, "': expected ", wants_anchors ? "only" : "none",
                                  " beside the input 'anchors', got one ", wants_anchors ? "without it" : "beside it"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Sizes> CheckShapes(const PlanRequest& request, Layout layout) {
  absl::StatusOr<Sizes> sizes =
      layout == Layout::kSeparate ? SizesOfSeparate(request) : SizesOfPredictions(request, layout);
  if (!sizes.ok()) {
    return sizes;
  }
  KERNELWIRE_RETURN_IF_ERROR(CheckCompanions(request, *sizes));
  const bool multi_label = request.attributes->GetBool("multi_label").value_or(false);
  const auto candidates = CheckedMultiply(sizes->boxes, multi_label ? sizes->classes : 1);
  if (sizes->images > kMostPerImage || sizes->classes > kMostPerImage || !candidates || *candidates > kMostPerImage) {
    return Invalid(
        absl::StrCat("input '", layout == Layout::kSeparate ? "scores" : "predictions", "': expected at most ",
                     kMostPerImage, " images, classes, and candidates of an image, got shape ",
                     ShapeOf(request, layout == Layout::kSeparate ? detection::kScores : detection::kPredictions)));
  }
  return sizes;
}

box::Coding CodingOf(const PlanRequest& request, Layout layout) {
  const std::string name =
      request.attributes->GetString("box_coding").value_or(layout == Layout::kSeparate ? "xyxy" : "cxcywh");
  return name == "yxyx"     ? box::Coding::kYxyx
         : name == "xywh"   ? box::Coding::kXywh
         : name == "cxcywh" ? box::Coding::kCxcywh
                            : box::Coding::kXyxy;
}

std::int32_t Limit(const Attributes& attributes, const char* name, std::int64_t otherwise) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(attributes.GetInt(name).value_or(otherwise), detection::kNoLimit));
}

/// See Params::raw_cutoff. A margin far beyond the rounding of the exponential keeps it on the safe side.
float RawCutoff(Activation activation, Layout layout, float threshold) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (activation == Activation::kNone) {
    return layout == Layout::kYolov5 ? -kInfinity : threshold;  // objectness might be above 1
  }
  if (activation == Activation::kSoftmax || threshold <= 0.0f) {
    return -kInfinity;
  }
  if (threshold >= 1.0f) {
    return kInfinity;
  }
  const double logit = std::log(static_cast<double>(threshold)) - std::log1p(-static_cast<double>(threshold));
  return static_cast<float>(logit - 1e-3 * (1.0 + std::abs(logit)));
}

absl::Status SetClasses(const Attributes& attributes, const Sizes& sizes, Params* params) {
  params->classes = static_cast<std::int32_t>(sizes.classes);
  params->background = detection::kNoBackground;
  if (const auto background = attributes.GetInt("background_class")) {
    if (*background >= sizes.classes) {
      return Invalid(absl::StrCat("attribute 'background_class': expected one of the ", sizes.classes,
                                  " classes from 0 on, got ", *background));
    }
    params->background = static_cast<std::int32_t>(*background);
  }
  const auto list = attributes.GetIntList("classes");
  params->listed = list.has_value();
  for (const std::int64_t id : list.value_or(std::vector<std::int64_t>())) {
    if (id >= std::min<std::int64_t>(sizes.classes, detection::kMostListedClasses)) {
      return Invalid(absl::StrCat("attribute 'classes': expected classes from 0 to ",
                                  std::min<std::int64_t>(sizes.classes, detection::kMostListedClasses) - 1, ", got ",
                                  id));
    }
    params->allowed[id / 64] |= std::uint64_t{1} << (id % 64);
  }
  return absl::OkStatus();
}

absl::StatusOr<Params> MakeParams(const PlanRequest& request, Layout layout, const Sizes& sizes) {
  const Attributes& attributes = *request.attributes;
  const auto type_of = [&](int input) {
    return Has(request, input) ? request.inputs[static_cast<std::size_t>(input)]->dtype : DataType::kInvalid;
  };
  Params params{};
  const bool separate = layout == Layout::kSeparate;
  params.boxes = type_of(separate ? detection::kBoxes : detection::kPredictions);
  params.scores = type_of(separate ? detection::kScores : detection::kPredictions);
  params.anchors = type_of(detection::kAnchors);
  params.layout = layout;
  params.coding = CodingOf(request, layout);
  const std::string activation = attributes.GetString("score_activation").value_or("none");
  params.activation = activation == "sigmoid"   ? Activation::kSigmoid
                      : activation == "softmax" ? Activation::kSoftmax
                                                : Activation::kNone;
  params.class_agnostic = attributes.GetBool("class_agnostic").value_or(false);
  params.multi_label = attributes.GetBool("multi_label").value_or(false);
  params.boxes_of_classes = sizes.boxes_of_classes;
  params.top_k = Limit(attributes, "top_k", detection::kNoLimit);
  params.max_output = Limit(attributes, "max_output", 300);
  params.max_per_class = Limit(attributes, "max_per_class", detection::kNoLimit);
  params.iou_threshold = static_cast<float>(attributes.GetDouble("iou_threshold").value_or(0.5));
  params.score_threshold = static_cast<float>(attributes.GetDouble("score_threshold").value_or(0.25));
  params.raw_cutoff = RawCutoff(params.activation, layout, params.score_threshold);
  const auto scales = attributes.GetDoubleList("anchor_scales").value_or(std::vector<double>(4, 1.0));
  for (std::size_t i = 0; i < 4; ++i) {
    params.anchor_scales[i] = static_cast<float>(scales[i]);
  }
  KERNELWIRE_RETURN_IF_ERROR(SetClasses(attributes, sizes, &params));
  return params;
}

void AppendToKey(const Params& params, BatchKey* key) {
  const auto byte = [](auto value, int position) { return static_cast<std::uint64_t>(value) << (8 * position); };
  const auto pair = [](std::int32_t a, std::int32_t b) {
    return std::uint64_t{static_cast<std::uint32_t>(a)} << 32 | static_cast<std::uint32_t>(b);
  };
  const auto floats = [](float a, float b) { return static_cast<std::uint64_t>(detection::Pack(a, b)); };
  const unsigned flags = (params.class_agnostic ? 1u : 0u) | (params.multi_label ? 2u : 0u) |
                         (params.boxes_of_classes ? 4u : 0u) | (params.listed ? 8u : 0u);
  key->Append(byte(params.boxes, 0) | byte(params.scores, 1) | byte(params.anchors, 2) | byte(params.layout, 3) |
              byte(params.coding, 4) | byte(params.activation, 5) | byte(flags, 6));
  key->Append(floats(params.iou_threshold, params.score_threshold));
  key->Append(pair(params.classes, params.background));
  key->Append(pair(params.top_k, params.max_output));
  key->Append(pair(params.max_per_class, 0));
  key->Append(floats(params.anchor_scales[0], params.anchor_scales[1]));
  key->Append(floats(params.anchor_scales[2], params.anchor_scales[3]));
  for (int word = 0; params.listed && 64 * word < std::min(params.classes, detection::kMostListedClasses); ++word) {
    key->Append(params.allowed[word]);
  }
}

absl::Status SetExtents(const Attributes& attributes, const Sizes& sizes, std::int64_t image_bytes, Plan* plan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto number = [](const std::vector<double>& list, std::size_t i) { return static_cast<float>(list[i]); };
  const auto letterbox = attributes.GetDoubleList("letterbox").value_or(std::vector<double>{1.0, 0.0, 0.0});
  if (!(number(letterbox, 0) > 0.0f)) {
    return Invalid(absl::StrCat("attribute 'letterbox': expected a scale greater than 0, got ", letterbox[0]));
  }
  std::int64_t near = detection::Pack(-kInfinity, -kInfinity);
  std::int64_t far = detection::Pack(kInfinity, kInfinity);
  if (const auto clip = attributes.GetDoubleList("clip")) {
    if ((*clip)[2] < (*clip)[0] || (*clip)[3] < (*clip)[1]) {
      return Invalid(absl::StrCat("attribute 'clip': expected x1,y1,x2,y2 with x1 <= x2 and y1 <= y2, got ", (*clip)[0],
                                  ",", (*clip)[1], ",", (*clip)[2], ",", (*clip)[3]));
    }
    near = detection::Pack(number(*clip, 0), number(*clip, 1));
    far = detection::Pack(number(*clip, 2), number(*clip, 3));
  }
  plan->extents = {sizes.boxes,
                   image_bytes,
                   detection::Pack(number(letterbox, 0), number(letterbox, 1)),
                   detection::Pack(number(letterbox, 2), 0.0f),
                   near,
                   far};
  return absl::OkStatus();
}

absl::Status PlanOutputs(const PlanRequest& request, const Sizes& sizes, std::int64_t rows, Plan* plan) {
  const auto set = [&](int output, const char* name, DataType dtype, const Shape& of_image) -> absl::Status {
    if ((request.wanted_outputs >> output & 1u) == 0) {
      return absl::OkStatus();
    }
    TensorDesc desc{dtype, {}};
    if (sizes.has_images) {
      desc.shape.Append(sizes.images);
    }
    for (const std::int64_t extent : of_image) {
      desc.shape.Append(extent);
    }
    OutputPlan& planned = plan->outputs[static_cast<std::size_t>(output)];
    KERNELWIRE_ASSIGN_OR_RETURN(planned, PlanOutput(name, desc));
    planned.row_bytes = sizes.images == 0 ? 0 : static_cast<std::int64_t>(planned.bytes) / sizes.images;
    return absl::OkStatus();
  };
  KERNELWIRE_RETURN_IF_ERROR(set(detection::kNumDetections, "num_detections", DataType::kInt32, {1}));
  KERNELWIRE_RETURN_IF_ERROR(set(detection::kDetectedBoxes, "boxes", DataType::kFp32, {rows, 4}));
  KERNELWIRE_RETURN_IF_ERROR(set(detection::kDetectedScores, "scores", DataType::kFp32, {rows}));
  KERNELWIRE_RETURN_IF_ERROR(set(detection::kDetectedClasses, "classes", DataType::kInt32, {rows}));
  return set(detection::kIndices, "indices", DataType::kInt64, {rows});
}

/// Images are independent, so a request may be cut between them.
void SetInputRows(const PlanRequest& request, const Sizes& sizes, Plan* plan) {
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (sizes.has_images && sizes.images > 0 && i != detection::kAnchors && request.inputs[i].has_value()) {
      plan->input_row_bytes[i] = static_cast<std::int64_t>(*request.inputs[i]->ByteSize()) / sizes.images;
    }
  }
}

absl::StatusOr<Plan> PlanDetectionPostprocess(const PlanRequest& request) {
  KERNELWIRE_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(request));
  KERNELWIRE_ASSIGN_OR_RETURN(const Sizes sizes, CheckShapes(request, layout));
  KERNELWIRE_ASSIGN_OR_RETURN(const Params params, MakeParams(request, layout, sizes));
  Plan plan;
  plan.SetParams(params);
  AppendToKey(params, &plan.key);
  const std::int64_t candidates = sizes.boxes * (params.multi_label ? sizes.classes : 1);
  const std::int64_t image_bytes = detection::WorkspaceBytesOfImage(candidates, params);
  const auto workspace = CheckedMultiply(sizes.images, image_bytes);
  if (!workspace || *workspace > static_cast<std::int64_t>(kLargestTensorBytes)) {
    return Invalid(
        absl::StrCat("input '", layout == Layout::kSeparate ? "scores" : "predictions",
                     "': expected fewer boxes than a machine can hold, got shape ",
                     ShapeOf(request, layout == Layout::kSeparate ? detection::kScores : detection::kPredictions)));
  }
  plan.rows = sizes.images;
  plan.workspace_bytes = static_cast<std::size_t>(*workspace);
  KERNELWIRE_RETURN_IF_ERROR(SetExtents(*request.attributes, sizes, image_bytes, &plan));
  KERNELWIRE_RETURN_IF_ERROR(PlanOutputs(request, sizes, params.max_output, &plan));
  SetInputRows(request, sizes, &plan);
  for (const auto& input : request.inputs) {  // all scores are read, and few boxes are left then
    plan.work_bytes += input.has_value() ? static_cast<std::int64_t>(*input->ByteSize()) : 0;
  }
  return plan;
}

absl::Status CheckCounts(const Plan& plan, const PlanRequest& /*request*/, const void* const* inputs) {
  const auto* const counts = static_cast<const std::int32_t*>(inputs[detection::kCounts]);
  const std::int64_t boxes = plan.extents[detection::kBoxesPerImage];
  for (std::int64_t i = 0; counts != nullptr && i < plan.rows; ++i) {
    if (counts[i] < 0 || counts[i] > boxes) {
      return Invalid(absl::StrCat("input 'counts': expected 0 to ", boxes, " (the boxes of an image), got ", counts[i],
                                  " at [", i, "]"));
    }
  }
  return absl::OkStatus();
}

/// Whatever may become a candidate does, of one class, and none suppresses another.
std::int64_t MostWorkBytes(const Launch& launch) {
  const auto params = launch.plan->Params<detection::Params>();
  auto bytes = static_cast<double>(launch.plan->work_bytes);
  for (int s = 0; s < launch.segment_count; ++s) {
    const std::int64_t boxes = launch.segments[s].extents[detection::kBoxesPerImage];
    const auto candidates = static_cast<double>(std::min<std::int64_t>(SlotsOfImage(boxes, params), params.top_k));
    bytes += 2.0 * static_cast<double>(launch.segments[s].rows) * candidates * candidates;
  }
  return static_cast<std::int64_t>(std::min(bytes, 0x1p62));
}

}  // namespace

Operator MakeDetectionPostprocess() {
  Operator op;
  op.spec = detection::MakeSpec();
  op.plan = &PlanDetectionPostprocess;
  op.most_work_bytes = &MostWorkBytes;
  op.check_inputs = &CheckCounts;
  op.run_host = &RunDetectionPostprocessHost;
  op.known_answer = &detection::MakeKnownAnswer;
  return op;
}

}  // namespace kernelwire

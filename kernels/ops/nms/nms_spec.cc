// What nms takes and promises, the planning of a request, and the shapes that are known only after the run.
// Longer than most specs: three forms of input, data-dependent output shapes, and values that must be checked.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/core/operator.h"
#include "kernels/core/status_macros.h"
#include "kernels/ops/nms/nms.h"

namespace kernelwire {

absl::Status RunNmsHost(const Launch& launch, ParallelExecutor& threads);  // nms_host.cc

namespace {

using nms::BoxCoding;

/// Boxes an image, and images: positions within an image are 32-bit numbers on every device, with room to spare.
constexpr std::int64_t kMostPerAxis = std::int64_t{1} << 30;

OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "nms";
  spec.summary = "Exact greedy non-maximum suppression, by class and by image.";
  spec.formula = "in score order, keep a box unless IoU(box, a kept box of its class) > iou_threshold";
  const DataTypeSet class_types(DataType::kInt32, DataType::kInt64);
  const DataTypeSet counts_type(DataType::kInt32);
  const DataTypeSet indices_type(DataType::kInt64);
  const DataTypeSet scores_type(DataType::kFp32);
  spec.inputs = {
      {"boxes", kFloats16And32, DataType::kFp32, {-1}, false, "[n,4] or [images,n,4], read as box_coding says."},
      {"scores",
       kFloats16And32,
       DataType::kFp32,
       {-1},
       false,
       "[n] or [images,n]; of another type than boxes if wished."},
      {"classes",
       class_types,
       DataType::kInt32,
       {-1},
       true,
       "Shape of scores, within -2^31 to 2^31-1; absent: one class."},
      {"counts",
       counts_type,
       DataType::kInt32,
       {-1},
       true,
       "[images]: how many boxes of each image are real; absent: all."},
  };
  spec.outputs = {
      {"indices",
       indices_type,
       DataType::kInt64,
       {-1},
       false,
       "Kept boxes in score order: [kept], or [images,most kept] padded with -1."},
      {"count", counts_type, DataType::kInt32, {-1}, false, "How many boxes were kept: [1], or [images]."},
      {"scores",
       scores_type,
       DataType::kFp32,
       {-1},
       false,
       "Scores of the kept boxes: shape of indices, padded with 0."},
  };
  AttributeSpec iou{"iou_threshold", AttributeKind::kDouble, "A box goes if its IoU with a kept one is greater.",
                    "0.5"};
  iou.min = 0.0;
  iou.max = 1.0;
  AttributeSpec score{"score_threshold", AttributeKind::kDouble, "Only boxes of a greater score take part.", "none"};
  AttributeSpec top_k{"top_k", AttributeKind::kInt, "Candidates of an image, by score, before suppression.", "none"};
  AttributeSpec most{"max_output", AttributeKind::kInt, "Kept boxes of an image, by score.", "none"};
  AttributeSpec per_class{"max_per_class", AttributeKind::kInt, "Kept boxes of a class in an image, by score.", "none"};
  top_k.min = most.min = per_class.min = 1;
  AttributeSpec coding{"box_coding", AttributeKind::kEnum, "What the four numbers of a box are.", "xyxy"};
  coding.choices = {"xyxy", "yxyx", "xywh", "cxcywh"};
  spec.attributes = {iou, score, top_k, most, per_class, coding};
  spec.promises = {
      "Equals the sequential greedy algorithm index for index, on every device and in every batch.",
      "Boxes of equal score are taken in the order of their indices.",
      "IoU is computed in FP32 with every operation rounded by itself, and compared as strictly greater.",
  };
  return spec;
}

BoxCoding CodingFromName(const std::string& name) {
  return name == "yxyx"     ? BoxCoding::kYxyx
         : name == "xywh"   ? BoxCoding::kXywh
         : name == "cxcywh" ? BoxCoding::kCxcywh
                            : BoxCoding::kXyxy;
}

std::int32_t Limit(const Attributes& attributes, const char* name) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(attributes.GetInt(name).value_or(nms::kNoLimit), nms::kNoLimit));
}

nms::Params MakeParams(const PlanRequest& request) {
  const Attributes& attributes = *request.attributes;
  nms::Params params{};
  params.boxes = request.inputs[nms::kBoxes]->dtype;
  params.scores = request.inputs[nms::kScores]->dtype;
  params.classes = request.inputs[nms::kClasses] ? request.inputs[nms::kClasses]->dtype : DataType::kInvalid;
  params.coding = CodingFromName(attributes.GetString("box_coding").value_or("xyxy"));
  params.has_score_threshold = attributes.GetDouble("score_threshold").has_value();
  params.score_threshold = static_cast<float>(attributes.GetDouble("score_threshold").value_or(0.0));
  params.iou_threshold = static_cast<float>(attributes.GetDouble("iou_threshold").value_or(0.5));
  params.top_k = Limit(attributes, "top_k");
  params.max_output = Limit(attributes, "max_output");
  params.max_per_class = Limit(attributes, "max_per_class");
  return params;
}

void AppendToKey(const nms::Params& params, BatchKey* key) {
  const auto byte = [](auto value, int position) { return static_cast<std::uint64_t>(value) << (8 * position); };
  key->Append(byte(params.boxes, 0) | byte(params.scores, 1) | byte(params.classes, 2) | byte(params.coding, 3) |
              byte(params.has_score_threshold, 4));
  key->AppendDouble(static_cast<double>(params.iou_threshold));
  key->AppendDouble(static_cast<double>(params.score_threshold));
  key->Append(static_cast<std::uint64_t>(params.top_k));
  key->Append(static_cast<std::uint64_t>(params.max_output));
  key->Append(static_cast<std::uint64_t>(params.max_per_class));
}

absl::Status ExpectShape(const char* input, const Shape& actual, const Shape& expected, const char* meaning) {
  if (actual == expected) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("input '", input, "': expected shape ", expected.ToString(), " (",
                                                 meaning, "), got ", actual.ToString()));
}

absl::Status CheckBoxes(const Shape& boxes) {
  if ((boxes.rank() != 2 && boxes.rank() != 3) || boxes[boxes.rank() - 1] != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 'boxes': expected shape [n,4] or [images,n,4], got ", boxes.ToString()));
  }
  for (int axis = 0; axis + 1 < boxes.rank(); ++axis) {
    if (boxes[axis] > kMostPerAxis) {
      return absl::InvalidArgumentError(absl::StrCat("input 'boxes': expected at most ", kMostPerAxis,
                                                     " boxes an image and images, got shape ", boxes.ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckShapes(const PlanRequest& request) {
  const Shape& boxes = request.inputs[nms::kBoxes]->shape;
  KERNELWIRE_RETURN_IF_ERROR(CheckBoxes(boxes));
  Shape per_box;
  for (int axis = 0; axis + 1 < boxes.rank(); ++axis) {
    per_box.Append(boxes[axis]);
  }
  KERNELWIRE_RETURN_IF_ERROR(
      ExpectShape("scores", request.inputs[nms::kScores]->shape, per_box, "one score for each of the boxes"));
  if (request.inputs[nms::kClasses]) {
    KERNELWIRE_RETURN_IF_ERROR(
        ExpectShape("classes", request.inputs[nms::kClasses]->shape, per_box, "one class for each of the boxes"));
  }
  if (request.inputs[nms::kCounts]) {
    if (boxes.rank() != 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input 'counts': expected only beside boxes of shape [images,n,4], got boxes of shape ", boxes.ToString()));
    }
    return ExpectShape("counts", request.inputs[nms::kCounts]->shape, {boxes[0]}, "one count for each of the images");
  }
  return absl::OkStatus();
}

void PlanOutput(const PlanRequest& request, int output, const TensorDesc& desc, Plan* plan) {
  OutputPlan& planned = plan->outputs[static_cast<std::size_t>(output)];
  planned.wanted = (request.wanted_outputs >> output & 1u) != 0;
  planned.desc = desc;
  planned.bytes = planned.wanted ? desc.ByteSize().value_or(0) : 0;
}

void PlanOutputs(const PlanRequest& request, std::int64_t images, std::int64_t columns, Plan* plan) {
  const bool has_images = request.inputs[nms::kBoxes]->shape.rank() == 3;
  const Shape table = has_images ? Shape{images, columns} : Shape{columns};
  PlanOutput(request, nms::kIndices, {DataType::kInt64, table}, plan);
  PlanOutput(request, nms::kCount, {DataType::kInt32, {images}}, plan);
  PlanOutput(request, nms::kKeptScores, {DataType::kFp32, table}, plan);
}

/// Bytes touched: each box is read, sorted and tested against the kept boxes of its class; how many those are is not
/// known yet, so a quarter of the boxes is taken, up to a thousand, at two bytes of traffic a test.
std::int64_t EstimateWork(std::int64_t images, std::int64_t boxes) {
  const std::int64_t per_box = 64 + 2 * std::min<std::int64_t>(boxes / 4, 1000);
  return CheckedMultiply(images * boxes, per_box).value_or(std::numeric_limits<std::int64_t>::max());
}

absl::StatusOr<Plan> PlanNms(const PlanRequest& request) {
  KERNELWIRE_RETURN_IF_ERROR(CheckShapes(request));
  const Shape& shape = request.inputs[nms::kBoxes]->shape;
  const bool has_images = shape.rank() == 3;
  const std::int64_t images = has_images ? shape[0] : 1;
  const std::int64_t boxes = shape[has_images ? 1 : 0];
  const nms::Params params = MakeParams(request);
  const std::int64_t columns = std::min<std::int64_t>({boxes, params.top_k, params.max_output});

  Plan plan;
  plan.SetParams(params);
  AppendToKey(params, &plan.key);
  PlanOutputs(request, images, columns, &plan);
  // Images without boxes have a count to write, and nothing else.
  plan.rows = boxes > 0 || plan.outputs[nms::kCount].wanted ? images : 0;
  using Layout = nms::WorkspaceLayout;
  const std::int64_t tiles = (boxes + Layout::kTile - 1) / Layout::kTile;
  // Whole tiles need not be whole multiples of 256 bytes.
  const std::int64_t image_bytes =
      boxes == 0 ? 0 : (Layout::kHeaderBytes + tiles * Layout::kBytesPerTile + 255) / 256 * 256;
  const auto workspace = CheckedMultiply(images, image_bytes);
  if (!workspace) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 'boxes': expected fewer boxes than a machine can hold, got shape ", shape.ToString()));
  }
  plan.workspace_bytes = static_cast<std::size_t>(*workspace);
  plan.extents = {boxes, columns, image_bytes};
  plan.work_bytes = EstimateWork(images, boxes);
  return plan;
}

absl::Status CheckCounts(std::int64_t images, std::int64_t boxes, const std::int32_t* counts) {
  for (std::int64_t i = 0; i < images; ++i) {
    if (counts[i] < 0 || counts[i] > boxes) {
      return absl::InvalidArgumentError(absl::StrCat("input 'counts': expected 0 to ", boxes,
                                                     " (the boxes of an image), got ", counts[i], " at [", i, "]"));
    }
  }
  return absl::OkStatus();
}

/// Only real boxes count: padding may hold anything. `counts` may be null. INT32 always fits.
absl::Status CheckClasses(bool has_images, std::int64_t images, std::int64_t boxes, const std::int64_t* classes,
                          const std::int32_t* counts) {
  for (std::int64_t image = 0; image < images; ++image) {
    const std::int64_t real = counts != nullptr ? counts[image] : boxes;
    for (std::int64_t i = 0; i < real; ++i) {
      const std::int64_t value = classes[image * boxes + i];
      if (value != static_cast<std::int32_t>(value)) {
        return absl::InvalidArgumentError(absl::StrCat("input 'classes': expected -2147483648 to 2147483647, got ",
                                                       value, " at [", has_images ? absl::StrCat(image, ",") : "", i,
                                                       "]"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNmsInputs(const Plan& plan, const PlanRequest& request, const void* const* inputs) {
  const Shape& shape = request.inputs[nms::kBoxes]->shape;
  const bool has_images = shape.rank() == 3;
  const std::int64_t images = has_images ? shape[0] : 1;
  const std::int64_t boxes = plan.extents[nms::kBoxesPerImage];
  const auto* counts = static_cast<const std::int32_t*>(inputs[nms::kCounts]);
  if (counts != nullptr) {
    KERNELWIRE_RETURN_IF_ERROR(CheckCounts(images, boxes, counts));
  }
  if (inputs[nms::kClasses] != nullptr && boxes > 0 && plan.Params<nms::Params>().classes == DataType::kInt64) {
    return CheckClasses(has_images, images, boxes, static_cast<const std::int64_t*>(inputs[nms::kClasses]), counts);
  }
  return absl::OkStatus();
}

/// How many boxes an image kept, from whichever output there is: the padding is a suffix of each row.
std::int64_t KeptOf(std::int64_t image, std::int64_t columns, const FinishedOutput* outputs) {
  if (const auto* count = static_cast<const std::int32_t*>(outputs[nms::kCount].data)) {
    return count[image];
  }
  if (const auto* indices = static_cast<const std::int64_t*>(outputs[nms::kIndices].data)) {
    const std::int64_t* const row = indices + image * columns;
    return std::partition_point(row, row + columns, [](std::int64_t index) { return index != nms::kNoIndex; }) - row;
  }
  const float* const row = static_cast<const float*>(outputs[nms::kKeptScores].data) + image * columns;
  return std::partition_point(row, row + columns, [](float score) { return score == score; }) - row;
}

/// Brings rows of `columns` elements together to rows of `most`, with `padding` after the `kept` of each.
template <typename T>
void Compact(T padding, std::int64_t columns, std::int64_t most, const std::vector<std::int64_t>& kept,
             FinishedOutput* output) {
  T* const data = static_cast<T*>(output->data);
  if (data == nullptr) {
    return;
  }
  output->desc.shape[output->desc.shape.rank() - 1] = most;
  // A row moves to a lower place only, so going upward never overwrites what has yet to move.
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto image = static_cast<std::int64_t>(i);
    T* const to = data + image * most;
    std::memmove(to, data + image * columns, static_cast<std::size_t>(kept[i]) * sizeof(T));
    std::fill(to + kept[i], to + most, padding);
  }
}

absl::Status FinishNms(const Plan& plan, FinishedOutput* outputs) {
  const std::int64_t columns = plan.extents[nms::kColumns];
  const bool has_table = outputs[nms::kIndices].data != nullptr || outputs[nms::kKeptScores].data != nullptr;
  if (!has_table || columns == 0) {
    return absl::OkStatus();  // the planned shapes hold
  }
  std::vector<std::int64_t> kept(static_cast<std::size_t>(plan.rows));
  for (std::int64_t image = 0; image < plan.rows; ++image) {
    kept[static_cast<std::size_t>(image)] = KeptOf(image, columns, outputs);
  }
  const std::int64_t most = kept.empty() ? 0 : *std::max_element(kept.begin(), kept.end());
  Compact(nms::kNoIndex, columns, most, kept, &outputs[nms::kIndices]);
  Compact(0.0f, columns, most, kept, &outputs[nms::kKeptScores]);
  return absl::OkStatus();
}

template <typename T>
KnownAnswer::Tensor TensorOf(DataType dtype, const Shape& shape, const std::vector<T>& values) {
  KnownAnswer::Tensor tensor;
  tensor.desc = {dtype, shape};
  tensor.bytes.resize(values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

/// Five boxes: the second overlaps the first by 81/119 and goes; the third does as well but is of another class; the
/// fourth shares half of its area with the first (IoU 1/3); the fifth is below the score threshold.
KnownAnswer NmsKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {
      TensorOf<float>(DataType::kFp32, {5, 4},
                      {0, 0, 10, 10, 1, 1, 11, 11, 1, 1, 11, 11, 5, 0, 15, 10, 40, 40, 50, 50}),
      TensorOf<float>(DataType::kFp32, {5}, {0.75f, 0.5f, 0.875f, 0.625f, 0.125f}),
      TensorOf<std::int32_t>(DataType::kInt32, {5}, {3, 3, -1, 3, 3}),
      KnownAnswer::Tensor{},
  };
  answer.attributes = {{"iou_threshold", 0.5}, {"score_threshold", 0.25}};
  answer.outputs = {
      TensorOf<std::int64_t>(DataType::kInt64, {3}, {2, 0, 3}),
      TensorOf<std::int32_t>(DataType::kInt32, {1}, {3}),
      TensorOf<float>(DataType::kFp32, {3}, {0.875f, 0.75f, 0.625f}),
  };
  return answer;
}

}  // namespace

Operator MakeNms() {
  Operator op;
  op.spec = MakeSpec();
  op.plan = &PlanNms;
  op.check_inputs = &CheckNmsInputs;
  op.run_host = &RunNmsHost;
  op.finish = &FinishNms;
  op.known_answer = &NmsKnownAnswer;
  return op;
}

}  // namespace kernelwire

// What nms takes and promises, the planning of a request, and the shapes that are known only after the run.
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
#include "kernels/ops/nms/nms_description.h"

namespace kernelwire {

absl::Status RunNmsHost(const Launch& launch, ParallelExecutor& threads);  // nms_host.cc

namespace {

/// Boxes an image, and images: positions within an image are 32-bit numbers on every device, with room to spare.
constexpr std::int64_t kMostPerAxis = std::int64_t{1} << 30;

box::Coding CodingFromName(const std::string& name) {
  return name == "yxyx"     ? box::Coding::kYxyx
         : name == "xywh"   ? box::Coding::kXywh
         : name == "cxcywh" ? box::Coding::kCxcywh
                            : box::Coding::kXyxy;
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
  const std::string soft = attributes.GetString("soft_nms").value_or("none");
  params.soft = soft == "linear"     ? nms::SoftNms::kLinear
                : soft == "gaussian" ? nms::SoftNms::kGaussian
                                     : nms::SoftNms::kNone;
  params.sigma =
      params.soft == nms::SoftNms::kGaussian ? static_cast<float>(attributes.GetDouble("sigma").value_or(0.5)) : 0.5f;
  params.rotated = attributes.GetBool("rotated").value_or(false);
  params.degrees = attributes.GetString("angle_unit").value_or("degrees") == "degrees";
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
              byte(params.has_score_threshold, 4) | byte(params.soft, 5) | byte(params.rotated, 6) |
              byte(params.rotated && params.degrees, 7));
  key->AppendDouble(static_cast<double>(params.iou_threshold));
  key->AppendDouble(static_cast<double>(params.score_threshold));
  key->AppendDouble(static_cast<double>(params.sigma));
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

absl::Status CheckBoxes(const PlanRequest& request) {
  const Shape& boxes = request.inputs[nms::kBoxes]->shape;
  const bool rotated = request.attributes->GetBool("rotated").value_or(false);
  if (const auto coding = request.attributes->GetString("box_coding"); rotated && coding) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute 'box_coding': expected none beside 'rotated', got '", *coding, "'"));
  }
  const int numbers = rotated ? 5 : 4;
  if ((boxes.rank() != 2 && boxes.rank() != 3) || boxes[boxes.rank() - 1] != numbers) {
    return absl::InvalidArgumentError(absl::StrCat("input 'boxes': expected shape [n,", numbers, "] or [images,n,",
                                                   numbers, "], got ", boxes.ToString()));
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
  KERNELWIRE_RETURN_IF_ERROR(CheckBoxes(request));
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

absl::Status PlanOutputs(const PlanRequest& request, std::int64_t images, std::int64_t columns, Plan* plan) {
  const bool has_images = request.inputs[nms::kBoxes]->shape.rank() == 3;
  const Shape table = has_images ? Shape{images, columns} : Shape{columns};
  const auto set = [&](int output, const char* name, const TensorDesc& desc) -> absl::Status {
    if ((request.wanted_outputs >> output & 1u) != 0) {
      KERNELWIRE_ASSIGN_OR_RETURN(plan->outputs[static_cast<std::size_t>(output)], PlanOutput(name, desc));
    }
    return absl::OkStatus();
  };
  KERNELWIRE_RETURN_IF_ERROR(set(nms::kIndices, "indices", {DataType::kInt64, table}));
  KERNELWIRE_RETURN_IF_ERROR(set(nms::kCount, "count", {DataType::kInt32, {images}}));
  return set(nms::kKeptScores, "scores", {DataType::kFp32, table});
}

/// Bytes touched: each box is read, sorted and tested against the kept boxes of its class; how many those are is not
/// known yet, so a quarter of the boxes is taken, up to a thousand, at two bytes of traffic a test.
std::int64_t EstimateWork(std::int64_t images, std::int64_t boxes) {
  const std::int64_t per_box = 64 + 2 * std::min<std::int64_t>(boxes / 4, 1000);
  return CheckedMultiply(images * boxes, per_box).value_or(std::numeric_limits<std::int64_t>::max());
}

/// Soft-NMS compares each box that it chooses with all others of its class, one choice after another.
absl::Status CheckChoices(const nms::Params& params, std::int64_t boxes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 36;
  const std::int64_t candidates = std::min<std::int64_t>(boxes, params.top_k);
  const std::int64_t choices = std::min<std::int64_t>(candidates, params.max_per_class);
  if (params.soft == nms::SoftNms::kNone || choices == 0 || candidates <= kMost / choices) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("input 'boxes': expected beside 'soft_nms' at most ", kMost,
                   " comparisons an image, candidates ('top_k') times choices ('max_per_class'), got ", candidates,
                   " times ", choices));
}

absl::StatusOr<Plan> PlanNms(const PlanRequest& request) {
  KERNELWIRE_RETURN_IF_ERROR(CheckShapes(request));
  const Shape& shape = request.inputs[nms::kBoxes]->shape;
  const bool has_images = shape.rank() == 3;
  const std::int64_t images = has_images ? shape[0] : 1;
  const std::int64_t boxes = shape[has_images ? 1 : 0];
  const nms::Params params = MakeParams(request);
  KERNELWIRE_RETURN_IF_ERROR(CheckChoices(params, boxes));
  const std::int64_t columns = std::min<std::int64_t>({boxes, params.top_k, params.max_output});

  Plan plan;
  plan.SetParams(params);
  AppendToKey(params, &plan.key);
  KERNELWIRE_RETURN_IF_ERROR(PlanOutputs(request, images, columns, &plan));
  // Images without boxes have a count to write, and nothing else.
  plan.rows = boxes > 0 || plan.outputs[nms::kCount].wanted ? images : 0;
  const std::int64_t image_bytes = nms::WorkspaceBytesOfImage(boxes, params);
  const auto workspace = CheckedMultiply(images, image_bytes);
  if (!workspace) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 'boxes': expected fewer boxes than a machine can hold, got shape ", shape.ToString()));
  }
  plan.workspace_bytes = plan.rows == 0 ? 0 : static_cast<std::size_t>(*workspace);
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

/// All boxes of an image are of one class, and none suppresses another. In soft-NMS a block has such a class to itself,
/// and waits for each choice; rotated boxes take a dozen times the arithmetic.
std::int64_t MostWorkBytes(const Launch& launch) {
  const auto params = launch.plan->Params<nms::Params>();
  double comparisons = 0.0;
  for (int s = 0; s < launch.segment_count; ++s) {
    const Segment& segment = launch.segments[s];
    const std::int64_t candidates = std::min<std::int64_t>(segment.extents[nms::kBoxesPerImage], params.top_k);
    comparisons += static_cast<double>(segment.rows) * static_cast<double>(candidates) *
                   static_cast<double>(std::min<std::int64_t>(candidates, params.max_per_class));
  }
  const double bytes_of_one = params.soft == nms::SoftNms::kNone && !params.rotated ? 2.0 : 128.0;
  return static_cast<std::int64_t>(std::min(comparisons * bytes_of_one, 0x1p62));
}

}  // namespace

Operator MakeNms() {
  Operator op;
  op.spec = nms::MakeSpec();
  op.plan = &PlanNms;
  op.check_inputs = &CheckNmsInputs;
  op.run_host = &RunNmsHost;
  op.finish = &FinishNms;
  op.most_work_bytes = &MostWorkBytes;
  op.known_answer = &nms::MakeKnownAnswer;
  return op;
}

}  // namespace kernelwire

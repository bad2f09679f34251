// Cases of detection_postprocess; the oracle is detection_postprocess_oracle.h. All values come from fixed seeds, the
// same on every machine.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/detection_postprocess/detection_postprocess_oracle.h"
#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"

namespace kernelwire::testing {
namespace {

using detection::kAnchors;
using detection::kBoxes;
using detection::kCounts;
using detection::kPredictions;
using detection::kScores;

/// What a detector saw: centres and sizes, an objectness, and a score a class.
struct Scene {
  std::int64_t images = 1, boxes = 0, classes = 0;
  std::vector<double> centres;  // [images, boxes, 4]
  std::vector<double> objectness;
  std::vector<double> scores;  // [images, boxes, classes]

  double& score(std::int64_t box, std::int64_t class_id) {
    return scores[static_cast<std::size_t>(box * classes + class_id)];
  }
};

/// Boxes crowd around places; one in `share` scores high in the class of its place, the others low everywhere.
Scene Crowd(std::int64_t images, std::int64_t boxes, std::int64_t classes, double share, std::uint64_t seed) {
  Dice dice(seed);
  Scene scene{images, boxes, classes, {}, {}, {}};
  for (std::int64_t i = 0; i < images * boxes; ++i) {
    const double place = std::floor(dice.Roll() * 40);
    const double x = 16.0 * std::fmod(place * 7.0, 31.0) + std::floor(dice.Roll() * 96) / 8;
    const double y = 16.0 * std::fmod(place * 11.0, 29.0) + std::floor(dice.Roll() * 96) / 8;
    const double width = 24.0 + std::floor(dice.Roll() * 64) / 4;
    const double height = 24.0 + std::floor(dice.Roll() * 64) / 4;
    scene.centres.insert(scene.centres.end(), {x, y, width, height});
    const bool seen = dice.Roll() * share < 1;
    scene.objectness.push_back(seen ? 0.75 + 0.25 * dice.Roll() : 0.5 * dice.Roll());
    for (std::int64_t c = 0; c < classes; ++c) {
      const bool here = static_cast<double>(c) == std::fmod(place, static_cast<double>(classes));
      scene.scores.push_back(seen && here ? 0.3 + 0.7 * dice.Roll() : 0.3 * dice.Roll());
    }
  }
  return scene;
}

/// Numbers whose sigmoid or softmax is what the scores were, or near it.
Scene Logits(Scene scene) {
  const auto logit = [](double p) { return std::log((p + 1e-3) / (1 - p + 1e-3)); };
  std::transform(scene.scores.begin(), scene.scores.end(), scene.scores.begin(), logit);
  std::transform(scene.objectness.begin(), scene.objectness.end(), scene.objectness.begin(), logit);
  return scene;
}

std::vector<double> Corners(const Scene& scene) {
  std::vector<double> corners;
  for (std::size_t i = 0; i < scene.centres.size(); i += 4) {
    const double* const n = &scene.centres[i];
    corners.insert(corners.end(), {n[0] - n[2] / 2, n[1] - n[3] / 2, n[0] + n[2] / 2, n[1] + n[3] / 2});
  }
  return corners;
}

OperatorCase Empty(const std::string& name, AttributeList attributes) {
  OperatorCase made;
  made.name = name;
  made.inputs.resize(5);
  made.attributes = std::move(attributes);
  return made;
}

OperatorCase Yolo(const std::string& layout, const std::string& name, const Scene& scene, AttributeList attributes = {},
                  DataType type = DataType::kFp32, bool has_images = false) {
  std::vector<double> values;
  const auto boxes = static_cast<std::size_t>(scene.boxes), classes = static_cast<std::size_t>(scene.classes);
  for (std::size_t m = 0; m < static_cast<std::size_t>(scene.images); ++m) {
    const std::size_t first = m * boxes;
    if (layout == "yolov5") {
      for (std::size_t i = first; i < first + boxes; ++i) {
        values.insert(values.end(), &scene.centres[4 * i], &scene.centres[4 * i] + 4);
        values.push_back(scene.objectness[i]);
        values.insert(values.end(), &scene.scores[i * classes], &scene.scores[i * classes] + classes);
      }
      continue;
    }
    for (std::size_t row = 0; row < 4 + classes; ++row) {
      for (std::size_t i = first; i < first + boxes; ++i) {
        values.push_back(row < 4 ? scene.centres[4 * i + row] : scene.scores[i * classes + row - 4]);
      }
    }
  }
  OperatorCase made = Empty(layout + "_" + name, std::move(attributes));
  made.attributes.emplace_back("layout", layout);
  const std::int64_t leading = layout == "yolov5" ? 5 : 4;
  Shape shape = has_images ? Shape{scene.images} : Shape{};
  shape.Append(layout == "yolov5" ? scene.boxes : leading + scene.classes);
  shape.Append(layout == "yolov5" ? leading + scene.classes : scene.boxes);
  made.inputs[kPredictions] = FromDoubles(type, shape, values);
  return made;
}

OperatorCase Separate(const std::string& name, const Scene& scene, AttributeList attributes = {},
                      DataType box_type = DataType::kFp32, DataType score_type = DataType::kFp32,
                      bool has_images = false) {
  OperatorCase made = Empty("separate_" + name, std::move(attributes));
  Shape boxes = has_images ? Shape{scene.images, scene.boxes, 4} : Shape{scene.boxes, 4};
  Shape scores = has_images ? Shape{scene.images, scene.boxes, scene.classes} : Shape{scene.boxes, scene.classes};
  made.inputs[kBoxes] = FromDoubles(box_type, boxes, Corners(scene));
  made.inputs[kScores] = FromDoubles(score_type, scores, scene.scores);
  return made;
}

void AddForms(std::vector<OperatorCase>* cases) {
  const Scene scene = Crowd(1, 700, 6, 2, 1);
  for (const DataType type : {DataType::kFp16, DataType::kBf16, DataType::kFp32}) {
    cases->push_back(Yolo("yolov5", NameOf(type), scene, {}, type));
    cases->push_back(Yolo("yolov8", NameOf(type), scene, {}, type));
    for (const DataType score_type : {DataType::kFp16, DataType::kBf16, DataType::kFp32}) {
      cases->push_back(Separate(std::string(NameOf(type)) + "_" + NameOf(score_type), scene, {}, type, score_type));
    }
  }
  cases->push_back(Yolo("yolov8", "coco", Crowd(1, 2100, 80, 6, 2), {{"iou_threshold", 0.65}}));
  cases->back().benchmark = true;
  const Scene images = Crowd(3, 300, 5, 3, 3);
  for (const std::string layout : {"yolov5", "yolov8"}) {
    cases->push_back(Yolo(layout, "images", images, {}, DataType::kFp32, true));
  }
  cases->push_back(Separate("images", images, {}, DataType::kFp32, DataType::kFp32, true));
  for (const std::string coding : {"yxyx", "xywh", "xyxy"}) {
    cases->push_back(Yolo("yolov8", "coded_" + coding, scene, {{"box_coding", coding}, {"iou_threshold", 0.3}}));
  }
  // A box for each class: those of class c are moved by 3 c.
  OperatorCase by_class = Separate("boxes_of_classes", Crowd(2, 150, 4, 2, 4), {{"multi_label", true}}, DataType::kFp32,
                                   DataType::kFp32, true);
  const std::vector<double> shared = ToDoubles(by_class.inputs[kBoxes]);
  std::vector<double> moved;
  for (std::size_t i = 0; i < shared.size(); i += 4) {
    for (int c = 0; c < 4; ++c) {
      for (std::size_t k = 0; k < 4; ++k) {
        moved.push_back(shared[i + k] + 3 * c);
      }
    }
  }
  by_class.inputs[kBoxes] = FromDoubles(DataType::kFp32, {2, 150, 4, 4}, moved);
  cases->push_back(by_class);
}

void AddAttributes(std::vector<OperatorCase>* cases) {
  const Scene scene = Crowd(1, 900, 7, 2, 5);
  const std::pair<std::string, AttributeList> variants[] = {
      {"multi_label", {{"multi_label", true}, {"score_threshold", 0.2}}},
      {"multi_label_all", {{"multi_label", true}, {"score_threshold", -1.0}, {"max_output", std::int64_t{900}}}},
      {"class_agnostic", {{"class_agnostic", true}}},
      {"agnostic_per_class", {{"class_agnostic", true}, {"max_per_class", std::int64_t{3}}, {"iou_threshold", 0.2}}},
      {"background", {{"background_class", std::int64_t{2}}}},
      {"classes", {{"classes", std::string("0,3,6")}, {"score_threshold", 0.1}}},
      {"classes_background", {{"classes", std::string("1,2")}, {"background_class", std::int64_t{1}}}},
      {"one_class", {{"classes", std::int64_t{4}}, {"score_threshold", 0.0}}},
      {"limits", {{"top_k", std::int64_t{200}}, {"max_per_class", std::int64_t{4}}, {"max_output", std::int64_t{20}}}},
      {"max_output_one", {{"max_output", std::int64_t{1}}}},
      {"threshold_above_all", {{"score_threshold", 1.0}}},
      {"letterbox_clip", {{"letterbox", std::string("0.5,10,-20.25")}, {"clip", std::string("0,5,640,480.5")}}},
      {"letterbox", {{"letterbox", std::string("1.7,3,4")}}},
  };
  for (const auto& [name, attributes] : variants) {
    for (const std::string layout : {"yolov5", "yolov8"}) {
      cases->push_back(Yolo(layout, name, scene, attributes));
    }
    cases->push_back(Separate(name, scene, attributes));
  }
  for (std::uint32_t wanted : {1u, 2u, 4u, 8u, 16u, 21u}) {
    cases->push_back(Separate("outputs_" + std::to_string(wanted), Crowd(2, 100, 3, 2, 6), {}, DataType::kFp32,
                              DataType::kFp32, true));
    cases->back().wanted_outputs = wanted;
  }
}

void AddActivations(std::vector<OperatorCase>* cases) {
  const Scene scene = Logits(Crowd(1, 600, 11, 3, 7));
  for (const std::string activation : {"sigmoid", "softmax"}) {
    for (const bool multi_label : {false, true}) {
      const AttributeList attributes = {{"score_activation", activation},
                                        {"multi_label", multi_label},
                                        {"score_threshold", multi_label ? 0.15 : 0.25}};
      const std::string name = activation + (multi_label ? "_labels" : "");
      cases->push_back(Yolo("yolov5", name, scene, attributes));
      cases->push_back(Yolo("yolov8", name, scene, attributes));
      cases->push_back(Separate(name, scene, attributes));
    }
    cases->push_back(Separate(activation + "_background", scene,
                              {{"score_activation", activation}, {"background_class", std::int64_t{0}}}));
    cases->push_back(Separate(activation + "_all", Logits(Crowd(1, 80, 3, 2, 8)),
                              {{"score_activation", activation}, {"score_threshold", 0.0}}));
  }
  // Anchors: the deltas are small around anchors of sizes 16 to 64.
  Dice dice(9);
  std::vector<double> anchors, deltas;
  for (int i = 0; i < 400; ++i) {
    anchors.insert(anchors.end(), {16.0 * (i % 20), 16.0 * std::floor(i / 20.0), 16.0 + 16 * (i % 4), 32.0});
    for (int k = 0; k < 4; ++k) {
      deltas.push_back((dice.Roll() - 0.5) * (k < 2 ? 1.0 : 0.5));
    }
  }
  for (const std::string scales : {"", "10,10,5,5"}) {
    OperatorCase made = Separate(scales.empty() ? "anchors" : "anchors_scaled", Crowd(1, 400, 4, 2, 10));
    made.inputs[kBoxes] = FromDoubles(DataType::kFp32, {400, 4}, deltas);
    made.inputs[kAnchors] = FromDoubles(DataType::kFp16, {400, 4}, anchors);
    if (!scales.empty()) {
      made.attributes.emplace_back("anchor_scales", scales);
    }
    cases->push_back(made);
  }
}

void AddEdges(std::vector<OperatorCase>* cases) {
  Scene special = Crowd(1, 300, 4, 2, 11);
  const double values[] = {kNan, kInfinity, -kInfinity, 0.0, 0.25, 1e-40};
  for (std::int64_t i = 0; i < 60; ++i) {
    special.score(5 * i, i % 4) = values[i % 6];
    special.centres[static_cast<std::size_t>(4 * (5 * i + 1) + i % 4)] = values[i % 3];
  }
  for (std::int64_t c = 0; c < 4; ++c) {
    special.score(1, c) = kNan;
    special.score(2, c) = -kInfinity;
  }
  for (const std::string layout : {"yolov5", "yolov8"}) {
    cases->push_back(Yolo(layout, "special", special));
    cases->push_back(Yolo(layout, "special_labels", special, {{"multi_label", true}, {"score_threshold", -1.0}}));
  }
  cases->push_back(Separate("special", special, {{"score_threshold", 0.0}}));
  Scene ties = Crowd(1, 400, 3, 2, 12);  // equal scores in several classes and boxes, many on the threshold
  for (double& score : ties.scores) {
    score = std::floor(score * 8) / 8;
  }
  cases->push_back(Separate("ties", ties));
  cases->push_back(Yolo("yolov8", "ties_labels", ties, {{"multi_label", true}}));
  for (const std::int64_t boxes : {0, 1, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025}) {
    cases->push_back(Yolo("yolov8", "boxes_" + std::to_string(boxes), Crowd(1, boxes, 3, 1, 13)));
  }
  for (const std::int64_t classes : {1, 7, 8, 9, 65, 2100}) {
    cases->push_back(Separate("classes_" + std::to_string(classes), Crowd(1, 60, classes, 1, 14)));
  }
  cases->push_back(Yolo("yolov5", "no_images", Crowd(0, 10, 3, 1, 15), {}, DataType::kFp32, true));
  // More candidates than one block takes, of one class, of few and of all labels.
  cases->push_back(Yolo("yolov8", "many", Crowd(1, 3000, 5, 1, 16), {{"max_output", std::int64_t{3000}}}));
  cases->push_back(Yolo("yolov8", "many_agnostic", Crowd(1, 3000, 5, 1, 17),
                        {{"class_agnostic", true}, {"max_per_class", std::int64_t{40}}}));
  cases->push_back(Separate("many_labels", Crowd(2, 900, 6, 1, 18),
                            {{"multi_label", true}, {"score_threshold", 0.05}, {"max_output", std::int64_t{1000}}},
                            DataType::kFp32, DataType::kFp32, true));
  const Scene scene = Crowd(4, 250, 3, 1, 19);
  const std::vector<double> counts = {250, 0, 1, 77};
  for (const std::string layout : {"yolov5", "yolov8"}) {
    cases->push_back(Yolo(layout, "counts", scene, {}, DataType::kFp32, true));
    cases->back().inputs[kCounts] = FromDoubles(DataType::kInt32, {4}, counts);
  }
  cases->push_back(Separate("counts", scene, {{"multi_label", true}}, DataType::kBf16, DataType::kFp16, true));
  cases->back().inputs[kCounts] = FromDoubles(DataType::kInt32, {4}, counts);
}

}  // namespace

OperatorCases DetectionPostprocessCases() {
  OperatorCases all;
  all.name = "detection_postprocess";
  all.oracle = &detection::Oracle;
  AddForms(&all.cases);
  AddAttributes(&all.cases);
  AddActivations(&all.cases);
  AddEdges(&all.cases);
  return all;
}

}  // namespace kernelwire::testing

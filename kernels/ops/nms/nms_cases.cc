// Cases of nms; the oracle is nms_oracle.h. All values come from fixed seeds, the same on every machine.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/nms/nms_oracle.h"
#include "kernels/ops/nms/nms_scenes.h"
#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"

namespace kernelwire::testing {
namespace {

using nms::Chain;
using nms::Clustered;
using nms::kBoxes;
using nms::kClasses;
using nms::kCounts;
using nms::kScores;
using nms::Recoded;
using nms::Reversed;
using nms::Scattered;
using nms::Scene;
using nms::Turned;

struct Types {
  DataType boxes = DataType::kFp32;
  DataType scores = DataType::kFp32;
  DataType classes = DataType::kInt32;
};

OperatorCase MakeCase(const std::string& name, const Scene& scene, AttributeList attributes = {}, Types types = {}) {
  const auto boxes = static_cast<std::int64_t>(scene.scores.size());
  OperatorCase made;
  made.name = name;
  made.inputs.resize(4);
  made.inputs[kBoxes] = FromDoubles(types.boxes, {boxes, 4}, scene.boxes);
  made.inputs[kScores] = FromDoubles(types.scores, {boxes}, scene.scores);
  if (!scene.classes.empty()) {
    made.inputs[kClasses] = FromDoubles(types.classes, {boxes}, scene.classes);
  }
  made.attributes = std::move(attributes);
  return made;
}

/// The scene cut into `images` of equal size; `counts` may be empty.
OperatorCase MakeImages(const std::string& name, const Scene& scene, std::int64_t images,
                        const std::vector<double>& counts, AttributeList attributes = {}, Types types = {}) {
  OperatorCase made = MakeCase(name, scene, std::move(attributes), types);
  const auto boxes = images == 0 ? 0 : static_cast<std::int64_t>(scene.scores.size()) / images;
  made.inputs[kBoxes].desc.shape = {images, boxes, 4};
  made.inputs[kScores].desc.shape = {images, boxes};
  if (made.inputs[kClasses].present()) {
    made.inputs[kClasses].desc.shape = {images, boxes};
  }
  if (!counts.empty()) {
    made.inputs[kCounts] = FromDoubles(DataType::kInt32, {images}, counts);
  }
  return made;
}

void AddOrdinary(std::vector<OperatorCase>* cases) {
  const DataType all[] = {DataType::kFp16, DataType::kBf16, DataType::kFp32};
  for (const DataType boxes : all) {
    for (const DataType scores : all) {
      cases->push_back(MakeCase(std::string("scattered_") + NameOf(boxes) + "_" + NameOf(scores),
                                Scattered(150, 30, 40, 3, 1), {}, {boxes, scores, DataType::kInt64}));
    }
  }
  cases->push_back(MakeCase("clustered", Clustered(900, 60, 0, 2)));
  cases->push_back(MakeCase("clustered_80_classes", Clustered(1000, 200, 80, 3), {{"iou_threshold", 0.6}}));
  cases->push_back(MakeCase("each_its_class", Scattered(300, 5, 5, 100000, 4)));
  cases->push_back(MakeCase("chain_downward", Chain(400, -1.0)));
  cases->push_back(MakeCase("chain_upward", Chain(400, 1.0)));
  cases->push_back(MakeCase("chain_equal_scores", Chain(333, 0.0)));
  for (const int boxes : {1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 513}) {
    cases->push_back(MakeCase("count_" + std::to_string(boxes), Clustered(boxes, 1 + boxes / 8, 0, 5)));
  }
  // Beyond a sort tile of the device, one class and few long ones.
  cases->push_back(MakeCase("merged_2049", Clustered(2049, 300, 0, 6)));
  cases->push_back(MakeCase("merged_6200_classes", Clustered(6200, 500, 5, 7), {{"max_per_class", std::int64_t{70}}}));
  cases->back().benchmark = true;
  Scene disjoint;
  for (int i = 0; i < 600; ++i) {
    disjoint.Add({10.0 * i, 0, 10.0 * i + 10, 10}, std::fmod(i * 37.0, 601.0));
  }
  cases->push_back(MakeCase("disjoint", disjoint));
  Scene identical;
  for (int i = 0; i < 300; ++i) {
    identical.Add({1, 2, 3, 4}, std::fmod(i * 7.0, 301.0));
  }
  cases->push_back(MakeCase("identical", identical));
}

void AddTiesAndThresholds(std::vector<OperatorCase>* cases) {
  Scene ties = Clustered(700, 40, 0, 8);
  std::fill(ties.scores.begin(), ties.scores.end(), 0.25);
  cases->push_back(MakeCase("equal_scores", ties));
  Scene zeros;
  for (int i = 0; i < 40; ++i) {  // -0 and 0 tie
    zeros.Add({1.0 * i, 0, 1.0 * i + 10, 10}, i % 3 == 0 ? -0.0 : 0.0);
  }
  cases->push_back(MakeCase("signed_zero_scores", zeros));
  Scene halves;  // against the first: IoU 1/2 and 1/3 exactly; the last two just above
  halves.Add({0, 0, 10, 10}, 9);
  halves.Add({0, 0, 10, 5}, 8);
  halves.Add({5, 0, 15, 10}, 7);
  halves.Add({0, 0, 10, 5.0625}, 6);
  halves.Add({4.9375, 0, 14.9375, 10}, 5);
  cases->push_back(MakeCase("iou_on_threshold_half", halves));
  cases->push_back(MakeCase("iou_on_threshold_third", halves, {{"iou_threshold", 1.0 / 3.0}}));
  const Scene scattered = Scattered(200, 60, 40, 2, 9);
  cases->push_back(MakeCase("iou_threshold_zero", scattered, {{"iou_threshold", 0.0}}));
  cases->push_back(MakeCase("iou_threshold_one", scattered, {{"iou_threshold", 1.0}}));
  Scene graded = scattered;
  for (double& score : graded.scores) {
    score = std::floor(score * 8) / 8;  // many scores on the threshold itself
  }
  cases->push_back(MakeCase("score_threshold", graded, {{"score_threshold", 0.5}}));
  cases->push_back(MakeCase("score_threshold_above_all", graded, {{"score_threshold", 1.0}}));
  cases->push_back(MakeCase("top_k", graded, {{"top_k", std::int64_t{50}}}));
  cases->push_back(MakeCase("top_k_one", graded, {{"top_k", std::int64_t{1}}}));
  cases->push_back(MakeCase("max_output", graded, {{"max_output", std::int64_t{7}}}));
  cases->push_back(MakeCase("max_output_beyond_all", graded, {{"max_output", std::int64_t{1} << 40}}));
  cases->push_back(MakeCase("max_per_class", graded, {{"max_per_class", std::int64_t{3}}}));
  cases->push_back(MakeCase("all_limits", Clustered(1500, 400, 9, 10),
                            {{"top_k", std::int64_t{1100}},
                             {"max_output", std::int64_t{90}},
                             {"max_per_class", std::int64_t{15}},
                             {"score_threshold", 0.2},
                             {"iou_threshold", 0.3}}));
}

void AddCodings(std::vector<OperatorCase>* cases) {
  for (const std::string coding : {"xyxy", "yxyx", "xywh", "cxcywh"}) {
    const AttributeList attributes = {{"box_coding", coding}};
    Scene mixed = Clustered(300, 30, 0, 11);
    const double special[] = {kNan, kInfinity, -kInfinity, 0.0, 3e38, 1e-40};
    for (std::size_t i = 0; i < 60; ++i) {
      mixed.boxes[4 * (5 * i) + i % 4] = special[i % std::size(special)];
    }
    cases->push_back(MakeCase(coding + "_clustered", Recoded(Clustered(300, 30, 2, 12), coding), attributes));
    cases->push_back(MakeCase(coding + "_special_coordinates", mixed, attributes));
    cases->push_back(MakeCase(coding + "_special_coordinates_FP16", mixed, attributes, {DataType::kFp16}));
    cases->push_back(MakeCase(coding + "_reversed", Recoded(Reversed(), coding), attributes));
  }
}

void AddEdges(std::vector<OperatorCase>* cases) {
  Scene apart;  // the same boxes in classes far apart, at negative coordinates
  for (int i = 0; i < 60; ++i) {
    const int place = i / 6;  // six boxes in each, one of each class
    const double at = -1000.0 + place;
    apart.Add({at, at, at + 20, at + 20}, 60 - i, i % 6);
  }
  cases->push_back(MakeCase("negative_coordinates", apart));
  const double ids[] = {-2147483648.0, 2147483647.0, 0, -1, 1, 2147483646.0};
  for (double& id : apart.classes) {
    id = ids[static_cast<std::size_t>(id)];
  }
  cases->push_back(MakeCase("extreme_classes_INT32", apart));
  cases->push_back(MakeCase("extreme_classes_INT64", apart, {}, {DataType::kFp32, DataType::kFp32, DataType::kInt64}));
  Scene flat;
  for (int i = 0; i < 20; ++i) {  // no area at all, no width, and ordinary, in one place
    flat.Add({5, 5, i % 3 == 0 ? 5.0 : 9.0, i % 3 == 1 ? 5.0 : 9.0}, 20 - i);
  }
  cases->push_back(MakeCase("zero_area", flat));
  cases->push_back(MakeCase("zero_area_iou_threshold_zero", flat, {{"iou_threshold", 0.0}}));
  Scene extreme;
  for (int i = 0; i < 12; ++i) {  // areas beyond f32 at both ends
    const double size = i % 2 == 0 ? 1e25 : 1e-25;
    extreme.Add({0, 0, size, size}, i % 5);
  }
  cases->push_back(MakeCase("overflowing_areas", extreme));
  Scene scores = Clustered(200, 20, 0, 13);
  const double special[] = {kNan, kInfinity, -kInfinity, kNan, 0.5};
  for (std::size_t i = 0; i < 100; ++i) {
    scores.scores[2 * i] = special[i % std::size(special)];
  }
  cases->push_back(MakeCase("special_scores", scores));
  cases->push_back(MakeCase("special_scores_BF16", scores, {}, {DataType::kBf16, DataType::kBf16}));
  cases->push_back(MakeCase("special_scores_above", scores, {{"score_threshold", -3e38}}));
  std::fill(scores.scores.begin(), scores.scores.end(), kNan);
  cases->push_back(MakeCase("all_scores_nan", scores));
  cases->push_back(MakeCase("no_boxes", Scene()));
}

void AddImages(std::vector<OperatorCase>* cases) {
  const Scene scene = Clustered(1200, 90, 4, 14);
  cases->push_back(MakeImages("images_4", scene, 4, {}));
  cases->push_back(MakeImages("images_1", scene, 1, {}));
  cases->push_back(MakeImages("images_1200", scene, 1200, {}));
  cases->push_back(MakeImages("images_0", Scene(), 0, {}));
  cases->push_back(MakeImages("images_3_no_boxes", Scene(), 3, {0, 0, 0}));
  Scene padded = scene;  // what lies behind a count must not be looked at
  const std::vector<double> counts = {300, 0, 1, 257};
  for (std::size_t i = 0; i < padded.scores.size(); ++i) {
    if (static_cast<double>(i % 300) >= counts[i / 300]) {
      std::fill_n(padded.boxes.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, kNan);
      padded.scores[i] = kInfinity;
      padded.classes[i] = 1e15;
    }
  }
  const Types wide{DataType::kFp32, DataType::kFp32, DataType::kInt64};
  cases->push_back(MakeImages("counts", padded, 4, counts, {{"iou_threshold", 0.4}}, wide));
  cases->push_back(MakeImages("counts_limits", padded, 4, counts,
                              {{"top_k", std::int64_t{100}}, {"max_output", std::int64_t{9}}}, wide));
  cases->push_back(MakeImages("counts_zero", scene, 4, {0, 0, 0, 0}));
  for (std::uint32_t wanted = 1; wanted < 7; ++wanted) {
    cases->push_back(MakeImages("outputs_" + std::to_string(wanted), padded, 4, counts, {}, wide));
    cases->back().wanted_outputs = wanted;
  }
  cases->push_back(MakeCase("only_scores", Clustered(100, 9, 0, 15)));
  cases->back().wanted_outputs = 4;
}

OperatorCase MakeRotated(const std::string& name, const Scene& scene, AttributeList attributes = {}, Types types = {}) {
  Scene flat = scene;
  flat.boxes.resize(4 * scene.scores.size());  // replaced below
  OperatorCase made = MakeCase("rotated_" + name, flat, std::move(attributes), types);
  made.inputs[kBoxes] = FromDoubles(types.boxes, {static_cast<std::int64_t>(scene.scores.size()), 5}, scene.boxes);
  made.attributes.emplace_back("rotated", true);
  return made;
}

void AddRotated(std::vector<OperatorCase>* cases) {
  cases->push_back(MakeRotated("degrees", Turned(400, 40, 0, 720, 16)));
  cases->push_back(MakeRotated("classes", Turned(700, 60, 5, 360, 17), {{"iou_threshold", 0.3}}));
  cases->push_back(MakeRotated("radians", Turned(300, 25, 0, 6, 18), {{"angle_unit", std::string("radians")}}));
  cases->push_back(MakeRotated("FP16", Turned(300, 25, 2, 180, 19), {}, {DataType::kFp16, DataType::kFp16}));
  cases->push_back(MakeRotated("merged", Turned(2500, 300, 3, 360, 20)));
  Scene turns;  // the same box turned by quarters, and twice its own: only its quarter turns differ, IoU 1/3
  for (int i = 0; i < 24; ++i) {
    const int place = i / 8;
    turns.boxes.insert(turns.boxes.end(), {10.0 * place, 0, 8, 4, 90.0 * (i % 8) - 270});
    turns.scores.push_back(24 - i);
  }
  cases->push_back(MakeRotated("quarter_turns", turns));
  cases->push_back(MakeRotated("quarter_turns_low", turns, {{"iou_threshold", 0.25}}));
  Scene special = Turned(200, 15, 0, 360, 21);
  const double values[] = {kNan, kInfinity, -kInfinity, 0.0, -5.0, 3e38, 1e-40};
  for (std::size_t i = 0; i < 70; ++i) {
    special.boxes[5 * (2 * i) + i % 5] = values[i % std::size(values)];
  }
  for (std::size_t i = 0; i < special.scores.size(); ++i) {
    if (std::abs(special.boxes[5 * i + 4]) > 1e30) {
      special.boxes[5 * i + 4] = kInfinity;  // an angle whose turns no type can hold
    }
  }
  cases->push_back(MakeRotated("special", special));
  cases->push_back(MakeRotated("none", Scene()));
}

void AddSoft(std::vector<OperatorCase>* cases) {
  for (const std::string kind : {"linear", "gaussian"}) {
    const auto with = [&](AttributeList attributes) {
      attributes.emplace_back("soft_nms", kind);
      return attributes;
    };
    cases->push_back(MakeCase("soft_" + kind, Clustered(200, 25, 0, 22), with({})));
    cases->push_back(
        MakeCase("soft_" + kind + "_classes", Clustered(500, 60, 7, 23), with({{"score_threshold", 0.05}})));
    cases->push_back(MakeCase("soft_" + kind + "_limits", Clustered(400, 30, 4, 24),
                              with({{"top_k", std::int64_t{300}},
                                    {"max_per_class", std::int64_t{11}},
                                    {"max_output", std::int64_t{30}},
                                    {"iou_threshold", 0.3}})));
    cases->push_back(MakeCase("soft_" + kind + "_merged", Clustered(1500, 400, 40, 25), with({{"sigma", 0.25}})));
    Scene scores = Clustered(90, 6, 0, 26);  // scores that do not decay, and identical boxes
    const double values[] = {-1.0, 0.0, -0.0, kInfinity, -kInfinity, kNan, 0.5};
    for (std::size_t i = 0; i < 60; ++i) {
      scores.scores[i] = values[i % std::size(values)];
      std::copy_n(scores.boxes.begin(), 4, scores.boxes.begin() + static_cast<std::ptrdiff_t>(4 * i));
    }
    cases->push_back(MakeCase("soft_" + kind + "_special", scores, with({})));
    cases->push_back(MakeImages("soft_" + kind + "_images", Clustered(300, 40, 3, 27), 3, {100, 0, 40}, with({})));
    cases->push_back(MakeImages("soft_" + kind + "_empty", Scene(), 2, {}, with({})));
    cases->push_back(MakeRotated("soft_" + kind, Turned(150, 30, 2, 360, 28), with({})));
  }
}

}  // namespace

OperatorCases NmsCases() {
  OperatorCases all;
  all.name = "nms";
  all.oracle = &nms::Oracle;
  AddOrdinary(&all.cases);
  AddTiesAndThresholds(&all.cases);
  AddCodings(&all.cases);
  AddEdges(&all.cases);
  AddImages(&all.cases);
  AddRotated(&all.cases);
  AddSoft(&all.cases);
  return all;
}

}  // namespace kernelwire::testing

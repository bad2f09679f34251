// The oracle of detection_postprocess: one number after another, by the plainest code that is right, sharing none with
// the implementations. What decides between boxes is computed in f32, since the contract defines that arithmetic; only
// exponentials are taken in f64, and what they reach is compared within the contract's bounds. Included by
// detection_postprocess_cases.cc alone, which is compiled without contraction of a * b + c (kernels/CMakeLists.txt).
#ifndef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_ORACLE_H_
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_ORACLE_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"

namespace kernelwire::testing::detection {

enum Input { kPredictions, kBoxes, kScores, kAnchors, kCounts };

struct Options {
  std::map<std::string, std::string> texts;
  std::map<std::string, double> numbers;
  std::map<std::string, bool> flags;

  explicit Options(const OperatorCase& test_case) {
    for (const auto& [name, value] : test_case.attributes) {
      if (const auto* text = std::get_if<std::string>(&value)) {
        texts[name] = *text;
      } else if (const auto* flag = std::get_if<bool>(&value)) {
        flags[name] = *flag;
      } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        numbers[name] = static_cast<double>(*integer);
      } else {
        numbers[name] = std::get<double>(value);
      }
    }
  }
  std::string Text(const std::string& name, const std::string& otherwise) const {
    return texts.count(name) != 0 ? texts.at(name) : otherwise;
  }
  double Number(const std::string& name, double otherwise) const {
    return numbers.count(name) != 0 ? numbers.at(name) : otherwise;
  }
  bool Flag(const std::string& name) const { return flags.count(name) != 0 && flags.at(name); }
  /// A list of numbers; one alone may have come as a number.
  std::vector<double> List(const std::string& name) const {
    std::vector<double> list;
    std::stringstream text(Text(name, ""));
    for (std::string entry; std::getline(text, entry, ',');) {
      list.push_back(std::stod(entry));
    }
    if (numbers.count(name) != 0) {
      list.push_back(numbers.at(name));
    }
    return list;
  }
};

/// The inputs of one image, brought into one form.
struct ImageInputs {
  std::int64_t boxes = 0;
  std::int64_t classes = 0;
  std::vector<double> scores;      // [boxes, classes]
  std::vector<double> objectness;  // [boxes], or empty
  std::vector<double> numbers;     // [boxes, classes, 4]
  std::vector<double> anchors;     // [boxes, 4], or empty
};

inline std::vector<double> Values(const OperatorCase& test_case, int input) {
  const auto i = static_cast<std::size_t>(input);
  return i < test_case.inputs.size() && test_case.inputs[i].present() ? ToDoubles(test_case.inputs[i])
                                                                      : std::vector<double>();
}

inline std::vector<ImageInputs> ReadImages(const OperatorCase& test_case, bool* has_images) {
  const std::string layout = Options(test_case).Text("layout", "");
  const bool separate = layout.empty();
  const Shape& shape = test_case.inputs[separate ? kScores : kPredictions].desc.shape;
  *has_images = shape.rank() == 3;
  const std::int64_t images = *has_images ? shape[0] : 1;
  const std::int64_t rows = shape[shape.rank() - 2];
  const std::int64_t columns = shape[shape.rank() - 1];
  const std::vector<double> predictions = Values(test_case, kPredictions);
  const std::vector<double> boxes = Values(test_case, kBoxes);
  const std::vector<double> scores = Values(test_case, kScores);
  const std::vector<double> counts = Values(test_case, kCounts);
  std::vector<ImageInputs> all(static_cast<std::size_t>(images));
  for (std::int64_t m = 0; m < images; ++m) {
    ImageInputs& image = all[static_cast<std::size_t>(m)];
    const std::int64_t padded = layout == "yolov8" ? columns : rows;
    image.classes = layout == "yolov8" ? rows - 4 : layout == "yolov5" ? columns - 5 : columns;
    image.boxes = counts.empty() ? padded : static_cast<std::int64_t>(counts[static_cast<std::size_t>(m)]);
    image.anchors = Values(test_case, kAnchors);
    const auto at = [&](std::int64_t row, std::int64_t column) {
      return predictions[static_cast<std::size_t>((m * rows + row) * columns + column)];
    };
    const bool by_class = boxes.size() > static_cast<std::size_t>(4 * images * padded);
    for (std::int64_t i = 0; i < image.boxes; ++i) {
      if (layout == "yolov5") {
        image.objectness.push_back(at(i, 4));
      }
      for (std::int64_t c = 0; c < image.classes; ++c) {
        image.scores.push_back(layout == "yolov8"   ? at(4 + c, i)
                               : layout == "yolov5" ? at(i, 5 + c)
                                                    : scores[static_cast<std::size_t>((m * rows + i) * columns + c)]);
        for (std::int64_t k = 0; k < 4; ++k) {
          const std::int64_t box = by_class ? (m * rows + i) * columns + c : m * rows + i;
          image.numbers.push_back(layout == "yolov8"   ? at(k, i)
                                  : layout == "yolov5" ? at(i, k)
                                                       : boxes[static_cast<std::size_t>(4 * box + k)]);
        }
      }
    }
  }
  return all;
}

using Corners = std::array<float, 4>;

struct Candidate {
  double score;  // as the order takes it: f32 where no exponential is involved
  std::int64_t box, class_id;
  Corners corners;
  bool comparable;
};

inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The scores of one box's classes, after activation and objectness.
inline std::vector<double> ScoresOf(const Options& options, const ImageInputs& image, std::int64_t box) {
  const auto first = image.scores.begin() + box * image.classes;
  std::vector<double> scores(first, first + image.classes);
  const std::string activation = options.Text("score_activation", "none");
  if (activation == "softmax") {
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) {
      score = std::exp(score - largest);
      sum += score;
    }
    for (double& score : scores) {
      score /= sum;
    }
  } else if (activation == "sigmoid") {
    std::transform(scores.begin(), scores.end(), scores.begin(), Sigmoid);
  }
  if (!image.objectness.empty()) {
    const double raw = image.objectness[static_cast<std::size_t>(box)];
    const double objectness = activation == "none" ? raw : Sigmoid(raw);
    for (double& score : scores) {
      score = activation == "none" ? static_cast<double>(static_cast<float>(score) * static_cast<float>(objectness))
                                   : score * objectness;
    }
  }
  return scores;
}

inline Corners CornersOf(const Options& options, const ImageInputs& image, std::int64_t box, std::int64_t class_id,
                         bool* comparable) {
  const double* const n = &image.numbers[static_cast<std::size_t>(4 * (box * image.classes + class_id))];
  const float a = static_cast<float>(n[0]), b = static_cast<float>(n[1]), c = static_cast<float>(n[2]),
              d = static_cast<float>(n[3]);
  *comparable = !std::isnan(a) && !std::isnan(b) && !std::isnan(c) && !std::isnan(d);
  std::string coding = options.Text("box_coding", options.Text("layout", "").empty() ? "xyxy" : "cxcywh");
  float x = a, y = b, w = c, h = d;
  if (!image.anchors.empty()) {
    std::vector<double> scales = options.List("anchor_scales");
    scales.resize(4, 1.0);
    const double* const anchor = &image.anchors[static_cast<std::size_t>(4 * box)];
    const auto scale = [&](std::size_t i) { return static_cast<float>(scales[i]); };
    const auto of = [&](std::size_t i) { return static_cast<float>(anchor[i]); };
    x = of(0) + a / scale(0) * of(2);
    y = of(1) + b / scale(1) * of(3);
    w = of(2) * static_cast<float>(std::exp(static_cast<double>(c / scale(2))));
    h = of(3) * static_cast<float>(std::exp(static_cast<double>(d / scale(3))));
    coding = "cxcywh";
  }
  Corners corners{x, y, w, h};
  if (coding == "yxyx") {
    corners = {std::min(b, d), std::min(a, c), std::max(b, d), std::max(a, c)};
  } else if (coding == "xywh") {
    corners = {x, y, x + w, y + h};
  } else if (coding == "cxcywh") {
    corners = {x - w * 0.5f, y - h * 0.5f, x + w * 0.5f, y + h * 0.5f};
  }
  *comparable = *comparable && corners[2] >= corners[0] && corners[3] >= corners[1];
  return corners;
}

inline std::vector<Candidate> Candidates(const Options& options, const ImageInputs& image) {
  const auto threshold = static_cast<float>(options.Number("score_threshold", 0.25));
  const double background = options.Number("background_class", -1);
  const std::vector<double> listed = options.List("classes");
  const auto counts = [&](std::int64_t c) {
    return static_cast<double>(c) != background &&
           (listed.empty() || std::find(listed.begin(), listed.end(), static_cast<double>(c)) != listed.end());
  };
  std::vector<Candidate> all;
  for (std::int64_t box = 0; box < image.boxes; ++box) {
    const std::vector<double> scores = ScoresOf(options, image, box);
    std::int64_t best = -1;
    for (std::int64_t c = 0; c < image.classes; ++c) {
      const double score = scores[static_cast<std::size_t>(c)];
      if (counts(c) && !std::isnan(score) && (best < 0 || score > scores[static_cast<std::size_t>(best)])) {
        best = c;
      }
    }
    for (std::int64_t c = 0; c < image.classes; ++c) {
      const double score = scores[static_cast<std::size_t>(c)];
      if (counts(c) && score > static_cast<double>(threshold) && (options.Flag("multi_label") || c == best)) {
        Candidate candidate{score, box, c, {}, false};
        candidate.corners = CornersOf(options, image, box, c, &candidate.comparable);
        all.push_back(candidate);
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  return all;
}

inline bool Suppresses(const Candidate& kept, const Candidate& other, float threshold) {
  if (!kept.comparable || !other.comparable) {
    return false;
  }
  const Corners& a = kept.corners;
  const Corners& b = other.corners;
  const float width = std::max(0.0f, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const float height = std::max(0.0f, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const float shared = width * height;
  const float united = ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])) - shared;
  return shared / united > threshold;
}

inline std::vector<Candidate> Greedy(const Options& options, std::vector<Candidate> candidates) {
  constexpr double kNone = 1e18;
  candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(options.Number("top_k", kNone))));
  const auto threshold = static_cast<float>(options.Number("iou_threshold", 0.5));
  std::vector<Candidate> kept;
  for (const Candidate& candidate : candidates) {
    const auto of_class = std::count_if(kept.begin(), kept.end(),
                                        [&](const Candidate& other) { return other.class_id == candidate.class_id; });
    const bool suppressed = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return (options.Flag("class_agnostic") || other.class_id == candidate.class_id) &&
             Suppresses(other, candidate, threshold);
    });
    if (!suppressed && static_cast<double>(of_class) < options.Number("max_per_class", kNone) &&
        static_cast<double>(kept.size()) < options.Number("max_output", 300)) {
      kept.push_back(candidate);
    }
  }
  return kept;
}

inline Corners ToImage(const Options& options, Corners corners) {
  const std::vector<double> letterbox = options.List("letterbox");
  const std::vector<double> clip = options.List("clip");
  for (std::size_t k = 0; k < 4; ++k) {
    if (!letterbox.empty()) {
      corners[k] = (corners[k] - static_cast<float>(letterbox[1 + k % 2])) / static_cast<float>(letterbox[0]);
    }
    if (!clip.empty()) {
      const float low = static_cast<float>(clip[k % 2]), high = static_cast<float>(clip[2 + k % 2]);
      corners[k] = corners[k] < low ? low : corners[k] > high ? high : corners[k];
    }
  }
  return corners;
}

inline std::vector<ExpectedOutput> Oracle(const OperatorCase& test_case) {
  const Options options(test_case);
  bool has_images = false;
  const std::vector<ImageInputs> images = ReadImages(test_case, &has_images);
  const auto rows = static_cast<std::int64_t>(options.Number("max_output", 300));
  const bool has_anchors =
      static_cast<std::size_t>(kAnchors) < test_case.inputs.size() && test_case.inputs[kAnchors].present();
  const auto shape_of = [&](Shape of_image) {
    Shape shape = has_images ? Shape{static_cast<std::int64_t>(images.size())} : Shape{};
    for (const std::int64_t extent : of_image) {
      shape.Append(extent);
    }
    return shape;
  };
  std::vector<ExpectedOutput> outputs(5);
  outputs[0].desc = {DataType::kInt32, shape_of({1})};
  outputs[1].desc = {DataType::kFp32, shape_of({rows, 4})};
  outputs[2].desc = {DataType::kFp32, shape_of({rows})};
  outputs[3].desc = {DataType::kInt32, shape_of({rows})};
  outputs[4].desc = {DataType::kInt64, shape_of({rows})};
  for (const ImageInputs& image : images) {
    std::vector<Candidate> kept = Greedy(options, Candidates(options, image));
    outputs[0].values.push_back(static_cast<double>(kept.size()));
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      const bool padding = row >= kept.size();
      const Corners corners = padding ? Corners{} : ToImage(options, kept[row].corners);
      outputs[1].values.insert(outputs[1].values.end(), corners.begin(), corners.end());
      outputs[2].values.push_back(padding ? 0.0 : kept[row].score);
      outputs[3].values.push_back(padding ? -1.0 : static_cast<double>(kept[row].class_id));
      outputs[4].values.push_back(padding ? -1.0 : static_cast<double>(kept[row].box));
    }
  }
  if (has_anchors) {
    outputs[1].agreement = Agreement::kRounded;
    outputs[1].row_width = 4;
  }
  if (options.Text("score_activation", "none") != "none") {
    outputs[2].agreement = Agreement::kRounded;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].wanted = test_case.wanted_outputs == 0 || (test_case.wanted_outputs >> i & 1u) != 0;
  }
  return outputs;
}

}  // namespace kernelwire::testing::detection

#endif  // KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_ORACLE_H_

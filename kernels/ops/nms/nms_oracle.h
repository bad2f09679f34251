// The oracle of nms: the sequential greedy algorithm, one pair at a time. Sharing no code with the implementations.
//
// It computes in f32, unlike other oracles: a greedy result hangs on every single comparison, so the contract defines
// the arithmetic itself (f32, each operation rounded), and an oracle in f64 would answer another question. Included by
// nms_cases.cc alone, which is compiled without contraction of a * b + c (kernels/CMakeLists.txt).
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_ORACLE_H_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"

namespace kernelwire::testing::nms {

enum Input { kBoxes, kScores, kClasses, kCounts };

struct Corners {
  float x1, y1, x2, y2;
  bool comparable;  // no NaN, not empty
};

inline Corners ToCorners(const std::string& coding, float a, float b, float c, float d) {
  Corners box{a, b, c, d, false};
  if (coding == "yxyx") {
    box = {std::min(b, d), std::min(a, c), std::max(b, d), std::max(a, c), false};
  } else if (coding == "xywh") {
    box = {a, b, a + c, b + d, false};
  } else if (coding == "cxcywh") {
    box = {a - c * 0.5f, b - d * 0.5f, a + c * 0.5f, b + d * 0.5f, false};
  }
  const bool has_nan = std::isnan(a) || std::isnan(b) || std::isnan(c) || std::isnan(d);
  box.comparable = !has_nan && !(box.x2 < box.x1) && !(box.y2 < box.y1);
  return box;
}

inline float AreaOf(const Corners& box) { return (box.x2 - box.x1) * (box.y2 - box.y1); }

inline bool Suppresses(const Corners& kept, const Corners& box, float threshold) {
  if (!kept.comparable || !box.comparable) {
    return false;
  }
  const float width = std::max(0.0f, std::min(kept.x2, box.x2) - std::max(kept.x1, box.x1));
  const float height = std::max(0.0f, std::min(kept.y2, box.y2) - std::max(kept.y1, box.y1));
  const float shared = width * height;
  const float united = (AreaOf(kept) + AreaOf(box)) - shared;
  return shared / united > threshold;  // false for NaN
}

struct Options {
  std::string coding = "xyxy";
  float iou_threshold = 0.5f;
  bool has_score_threshold = false;
  float score_threshold = 0.0f;
  std::int64_t top_k = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_output = top_k;
  std::int64_t max_per_class = top_k;
};

inline Options ReadOptions(const OperatorCase& test_case) {
  Options options;
  for (const auto& [name, value] : test_case.attributes) {
    const auto number = [&value = value] { return static_cast<float>(std::get<double>(value)); };
    if (name == "box_coding") {
      options.coding = std::get<std::string>(value);
    } else if (name == "iou_threshold") {
      options.iou_threshold = number();
    } else if (name == "score_threshold") {
      options.has_score_threshold = true;
      options.score_threshold = number();
    } else {
      (name == "top_k"        ? options.top_k
       : name == "max_output" ? options.max_output
                              : options.max_per_class) = std::get<std::int64_t>(value);
    }
  }
  return options;
}

/// One image: `boxes` four numbers each; `classes` empty for one class. Returns the kept indices in score order.
inline std::vector<std::int64_t> Greedy(const Options& options, const std::vector<double>& boxes,
                                        const std::vector<double>& scores, const std::vector<double>& classes) {
  const auto score = [&](std::size_t i) { return static_cast<float>(scores[i]); };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isnan(score(i)) && (!options.has_score_threshold || score(i) > options.score_threshold)) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return score(i) > score(j); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(options.top_k)));

  std::vector<std::int64_t> kept;
  std::map<double, std::vector<Corners>> kept_of_class;
  for (const std::size_t i : order) {
    std::vector<Corners>& rivals = kept_of_class[classes.empty() ? 0.0 : classes[i]];
    const auto coordinate = [&](std::size_t k) { return static_cast<float>(boxes[4 * i + k]); };
    const Corners box = ToCorners(options.coding, coordinate(0), coordinate(1), coordinate(2), coordinate(3));
    const bool suppressed = std::any_of(rivals.begin(), rivals.end(), [&](const Corners& rival) {
      return Suppresses(rival, box, options.iou_threshold);
    });
    if (suppressed || static_cast<std::int64_t>(rivals.size()) >= options.max_per_class ||
        static_cast<std::int64_t>(kept.size()) >= options.max_output) {
      continue;
    }
    rivals.push_back(box);
    kept.push_back(static_cast<std::int64_t>(i));
  }
  return kept;
}

inline std::vector<ExpectedOutput> MakeExpected(std::uint32_t wanted, bool has_images,
                                                const std::vector<std::vector<std::int64_t>>& kept,
                                                const std::vector<double>& scores, std::int64_t boxes) {
  std::size_t most = 0;
  for (const auto& of_image : kept) {
    most = std::max(most, of_image.size());
  }
  const auto images = static_cast<std::int64_t>(kept.size());
  const auto columns = static_cast<std::int64_t>(most);
  const Shape table = has_images ? Shape{images, columns} : Shape{columns};
  std::vector<ExpectedOutput> outputs(3);
  outputs[0].desc = {DataType::kInt64, table};
  outputs[1].desc = {DataType::kInt32, {images}};
  outputs[2].desc = {DataType::kFp32, table};
  for (std::size_t image = 0; image < kept.size(); ++image) {
    outputs[1].values.push_back(static_cast<double>(kept[image].size()));
    for (std::size_t column = 0; column < most; ++column) {
      const bool padding = column >= kept[image].size();
      const std::int64_t index = padding ? -1 : kept[image][column];
      const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(image) * boxes + index);
      outputs[0].values.push_back(static_cast<double>(index));
      outputs[2].values.push_back(padding ? 0.0 : scores[at]);
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].wanted = wanted == 0 || (wanted >> i & 1u) != 0;
  }
  return outputs;
}

inline std::vector<ExpectedOutput> Oracle(const OperatorCase& test_case) {
  const Options options = ReadOptions(test_case);
  const Shape& shape = test_case.inputs[kBoxes].desc.shape;
  const bool has_images = shape.rank() == 3;
  const std::int64_t images = has_images ? shape[0] : 1;
  const std::int64_t boxes = shape[has_images ? 1 : 0];
  const auto read = [&](int input) {
    const HostTensor& tensor = test_case.inputs[static_cast<std::size_t>(input)];
    return tensor.present() ? ToDoubles(tensor) : std::vector<double>();
  };
  const std::vector<double> counts = read(kCounts);
  const std::vector<double> scores = read(kScores);
  const auto slice = [](const std::vector<double>& all, std::int64_t begin, std::int64_t count) {
    return all.empty() ? all : std::vector<double>(all.begin() + begin, all.begin() + begin + count);
  };
  std::vector<std::vector<std::int64_t>> kept;
  for (std::int64_t image = 0; image < images; ++image) {
    const std::int64_t first = image * boxes;
    const std::int64_t real =
        counts.empty() ? boxes : static_cast<std::int64_t>(counts[static_cast<std::size_t>(image)]);
    kept.push_back(Greedy(options, slice(read(kBoxes), 4 * first, 4 * real), slice(scores, first, real),
                          slice(read(kClasses), first, real)));
  }
  return MakeExpected(test_case.wanted_outputs, has_images, kept, scores, boxes);
}

}  // namespace kernelwire::testing::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_ORACLE_H_

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

#include "kernels/ops/nms/nms_rotated_oracle.h"
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

/// The IoU as the contract defines it; 0 for boxes that take no part.
inline float IouOf(const Corners& kept, const Corners& box) {
  if (!kept.comparable || !box.comparable) {
    return 0.0f;
  }
  const float width = std::max(0.0f, std::min(kept.x2, box.x2) - std::max(kept.x1, box.x1));
  const float height = std::max(0.0f, std::min(kept.y2, box.y2) - std::max(kept.y1, box.y1));
  if (width == 0.0f || height == 0.0f) {
    return 0.0f;  // as below, and soon done with: most pairs are such
  }
  const float shared = width * height;
  const float united = (AreaOf(kept) + AreaOf(box)) - shared;
  const float iou = shared / united;
  return std::isnan(iou) ? 0.0f : iou;
}

struct Options {
  std::string coding = "xyxy";
  float iou_threshold = 0.5f;
  bool has_score_threshold = false;
  float score_threshold = 0.0f;
  std::int64_t top_k = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_output = top_k;
  std::int64_t max_per_class = top_k;
  std::string soft = "none";
  double sigma = 0.5;
  bool rotated = false;
  bool radians = false;
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
    } else if (name == "soft_nms") {
      options.soft = std::get<std::string>(value);
    } else if (name == "sigma") {
      options.sigma = std::get<double>(value);
    } else if (name == "rotated") {
      options.rotated = std::get<bool>(value);
    } else if (name == "angle_unit") {
      options.radians = std::get<std::string>(value) == "radians";
    } else {
      (name == "top_k"        ? options.top_k
       : name == "max_output" ? options.max_output
                              : options.max_per_class) = std::get<std::int64_t>(value);
    }
  }
  return options;
}

struct Kept {
  std::int64_t index;
  double score;
};

/// The boxes of one image, and what two of them share.
class Boxes {
 public:
  Boxes(const Options& options, const std::vector<double>& numbers) {
    const std::size_t width = options.rotated ? 5 : 4;
    for (std::size_t i = 0; i < numbers.size(); i += width) {
      const auto number = [&](std::size_t k) { return static_cast<float>(numbers[i + k]); };
      if (options.rotated) {
        quads_.push_back(QuadOf(&numbers[i], options.radians));
      } else {
        corners_.push_back(ToCorners(options.coding, number(0), number(1), number(2), number(3)));
      }
    }
  }
  double Iou(std::size_t a, std::size_t b) const {
    return quads_.empty() ? static_cast<double>(IouOf(corners_[a], corners_[b])) : RotatedIou(quads_[a], quads_[b]);
  }

 private:
  std::vector<Corners> corners_;
  std::vector<Quad> quads_;
};

/// The candidates of one image in score order, at most top_k.
inline std::vector<Kept> Ranked(const Options& options, const std::vector<double>& scores) {
  std::vector<Kept> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto score = static_cast<float>(scores[i]);
    if (!std::isnan(score) && (!options.has_score_threshold || score > options.score_threshold)) {
      order.push_back({static_cast<std::int64_t>(i), scores[i]});
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const Kept& a, const Kept& b) { return a.score > b.score; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(options.top_k)));
  return order;
}

/// One image: four or five numbers a box; `classes` empty for one class. Returns what is kept, in score order.
inline std::vector<Kept> Greedy(const Options& options, const std::vector<double>& numbers,
                                const std::vector<double>& scores, const std::vector<double>& classes) {
  const Boxes boxes(options, numbers);
  const auto threshold = static_cast<double>(options.iou_threshold);
  std::vector<Kept> kept;
  std::map<double, std::vector<std::size_t>> kept_of_class;
  for (const Kept& candidate : Ranked(options, scores)) {
    const auto i = static_cast<std::size_t>(candidate.index);
    std::vector<std::size_t>& rivals = kept_of_class[classes.empty() ? 0.0 : classes[i]];
    const bool suppressed =
        std::any_of(rivals.begin(), rivals.end(), [&](std::size_t rival) { return boxes.Iou(rival, i) > threshold; });
    if (!suppressed && static_cast<std::int64_t>(rivals.size()) < options.max_per_class &&
        static_cast<std::int64_t>(kept.size()) < options.max_output) {
      rivals.push_back(i);
      kept.push_back(candidate);
    }
  }
  return kept;
}

/// Soft-NMS (Bodla et al., 2017): choose the best, lower the others of its class, again. Scores are f32, each step
/// rounded, but for the gaussian's exponential.
inline std::vector<Kept> Decay(const Options& options, const std::vector<double>& numbers,
                               const std::vector<double>& scores, const std::vector<double>& classes) {
  const Boxes boxes(options, numbers);
  std::vector<Kept> left = Ranked(options, scores);
  std::vector<Kept> kept;
  std::map<double, std::int64_t> count_of_class;
  const auto class_of = [&](std::int64_t i) { return classes.empty() ? 0.0 : classes[static_cast<std::size_t>(i)]; };
  while (!left.empty() && static_cast<std::int64_t>(kept.size()) < options.max_output) {
    const auto better = [](const Kept& a, const Kept& b) {
      return a.score != b.score ? a.score > b.score : a.index < b.index;
    };
    const auto best = std::min_element(left.begin(), left.end(), better);
    const Kept chosen = *best;
    left.erase(best);
    if (options.has_score_threshold && !(chosen.score > static_cast<double>(options.score_threshold))) {
      break;
    }
    if (count_of_class[class_of(chosen.index)]++ >= options.max_per_class) {
      continue;  // gone, and lowers nobody
    }
    kept.push_back(chosen);
    for (Kept& other : left) {
      if (class_of(other.index) == class_of(chosen.index) && other.score > 0) {
        const auto iou = static_cast<float>(
            boxes.Iou(static_cast<std::size_t>(chosen.index), static_cast<std::size_t>(other.index)));
        const float weight = options.soft == "gaussian"
                                 ? static_cast<float>(std::exp(-static_cast<double>(iou * iou) / options.sigma))
                             : iou > options.iou_threshold ? 1.0f - iou
                                                           : 1.0f;
        other.score = weight > 0 ? static_cast<double>(static_cast<float>(other.score) * weight) : 0.0;
      }
    }
  }
  return kept;
}

inline std::vector<ExpectedOutput> MakeExpected(std::uint32_t wanted, bool has_images,
                                                const std::vector<std::vector<Kept>>& kept) {
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
      const Kept entry = column < kept[image].size() ? kept[image][column] : Kept{-1, 0.0};
      outputs[0].values.push_back(static_cast<double>(entry.index));
      outputs[2].values.push_back(entry.score);
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
  std::vector<std::vector<Kept>> kept;
  const std::int64_t width = options.rotated ? 5 : 4;
  for (std::int64_t image = 0; image < images; ++image) {
    const std::int64_t first = image * boxes;
    const std::int64_t real =
        counts.empty() ? boxes : static_cast<std::int64_t>(counts[static_cast<std::size_t>(image)]);
    kept.push_back((options.soft == "none" ? Greedy : Decay)(options, slice(read(kBoxes), width * first, width * real),
                                                             slice(scores, first, real),
                                                             slice(read(kClasses), first, real)));
  }
  std::vector<ExpectedOutput> outputs = MakeExpected(test_case.wanted_outputs, has_images, kept);
  if (options.soft == "gaussian" || (options.soft != "none" && options.rotated)) {
    outputs[2].agreement = Agreement::kRounded;
    outputs[2].row_width = std::max<std::int64_t>(1, outputs[2].desc.shape[outputs[2].desc.shape.rank() - 1]);
  }
  return outputs;
}

}  // namespace kernelwire::testing::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_ORACLE_H_

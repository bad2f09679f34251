// The last part of detection_postprocess on the host: the candidates of one image ranked, suppressed and written.
// Included by detection_postprocess_host.cc alone, which is compiled without contraction of a * b + c.
#ifndef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_FINISH_H_
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_FINISH_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/float16.h"
#include "kernels/core/operator.h"
#include "kernels/ops/detection_postprocess/detection_postprocess.h"
#include "kernels/primitives/box_suppress.h"

namespace kernelwire::detection {

/// A box, for one of its classes, whose score is above the threshold.
struct Candidate {
  float score;
  std::uint32_t box;
  std::int32_t class_id;
};

/// What the last part of an image needs.
struct ImageScratch {
  std::vector<Candidate> candidates;
  std::vector<std::uint64_t> keys, spare;
  box::RankedBoxes ranked;
};

/// The corners of a box. Returns whether one of its numbers is NaN.
inline bool LoadBox(const Params& params, const Segment& segment, std::int64_t image, const Candidate& candidate,
                    box::Corners* corners) {
  const BoxPlaces places = PlacesOfBox(params, segment, image, candidate.box, candidate.class_id);
  float numbers[4];
  float anchor[4] = {};
  bool has_nan = false;
  for (int k = 0; k < 4; ++k) {
    numbers[k] = LoadFloat(params.boxes, places.data, places.first + k * places.step);
    if (params.anchors != DataType::kInvalid) {
      anchor[k] = LoadFloat(params.anchors, segment.inputs[kAnchors], 4 * std::int64_t{candidate.box} + k);
    }
    has_nan = has_nan || std::isnan(numbers[k]) || std::isnan(anchor[k]);
  }
  *corners = DecodeBox(params, numbers, params.anchors != DataType::kInvalid ? anchor : nullptr);
  return has_nan;
}

/// Where the outputs of one image lie; null for those that are not wanted.
struct ImageOutputs {
  std::int32_t* count;
  float* boxes;
  float* scores;
  std::int32_t* classes;
  std::int64_t* indices;

  ImageOutputs(const Params& params, const Segment& segment, std::int64_t image) {
    const auto place = [&](int output, auto* unit, std::int64_t elements) {
      using T = decltype(unit);
      return segment.outputs[output] == nullptr ? nullptr : static_cast<T>(segment.outputs[output]) + image * elements;
    };
    const std::int64_t rows = params.max_output;
    count = place(kNumDetections, static_cast<std::int32_t*>(nullptr), 1);
    boxes = place(kDetectedBoxes, static_cast<float*>(nullptr), 4 * rows);
    scores = place(kDetectedScores, static_cast<float*>(nullptr), rows);
    classes = place(kDetectedClasses, static_cast<std::int32_t*>(nullptr), rows);
    indices = place(kIndices, static_cast<std::int64_t*>(nullptr), rows);
  }

  void Write(std::int64_t row, const box::Corners& corners, float score, std::int32_t class_id, std::int64_t index) {
    if (boxes != nullptr) {
      const float numbers[4] = {corners.x1, corners.y1, corners.x2, corners.y2};
      std::copy_n(numbers, 4, boxes + 4 * row);
    }
    if (scores != nullptr) {
      scores[row] = score;
    }
    if (classes != nullptr) {
      classes[row] = class_id;
    }
    if (indices != nullptr) {
      indices[row] = index;
    }
  }
};

/// Ranks and suppresses the candidates of one image, and writes what is left.
class ImageFinisher {
 public:
  ImageFinisher(const Params& params, const Segment& segment, std::int64_t image, ImageScratch* scratch)
      : params_(params), segment_(segment), image_(image), scratch_(*scratch) {}

  void Run(ParallelExecutor* threads) {
    Rank();
    box::GreedyOptions options;
    options.iou_threshold = params_.iou_threshold;
    options.per_group = params_.max_output;
    if (params_.class_agnostic) {
      options.per_class = params_.max_per_class == kNoLimit ? box::kUnlimited : std::int64_t{params_.max_per_class};
    } else {
      options.per_group = std::min(params_.max_output, params_.max_per_class);
    }
    scratch_.ranked.Suppress(options, threads);
    Write();
  }

 private:
  const Candidate& At(std::size_t rank) const {
    return scratch_.candidates[static_cast<std::uint32_t>(scratch_.keys[rank])];
  }

  void Rank() {
    const std::vector<Candidate>& candidates = scratch_.candidates;
    scratch_.keys.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      scratch_.keys.push_back(std::uint64_t{box::DescendingKey(candidates[i].score)} << 32 | i);
    }
    box::SortByUpperHalf(&scratch_.keys, &scratch_.spare);
    const std::size_t ranks = std::min(candidates.size(), static_cast<std::size_t>(params_.top_k));
    box::RankedBoxes& ranked = scratch_.ranked;
    ranked.boxes.resize(ranks);
    ranked.classes.resize(ranks);
    ranked.groups.resize(params_.class_agnostic ? 0 : ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      box::Corners corners{};
      const bool has_nan = LoadBox(params_, segment_, image_, At(rank), &corners);
      ranked.boxes[rank] = box::ForSuppression(corners, has_nan);
      ranked.classes[rank] = static_cast<std::uint32_t>(At(rank).class_id);
      if (!params_.class_agnostic) {
        ranked.groups[rank] = ranked.classes[rank];
      }
    }
  }

  void Write() {
    ImageOutputs outputs(params_, segment_, image_);
    std::int64_t row = 0;
    for (std::size_t rank = 0; rank < scratch_.ranked.keep.size() && row < params_.max_output; ++rank) {
      if (scratch_.ranked.keep[rank] != 0) {
        const Candidate& candidate = At(rank);
        box::Corners corners{};
        LoadBox(params_, segment_, image_, candidate, &corners);
        const float score = box::ScoreOfKey(static_cast<std::uint32_t>(scratch_.keys[rank] >> 32));
        outputs.Write(row++, ToImage(segment_, corners), score, candidate.class_id, candidate.box);
      }
    }
    if (outputs.count != nullptr) {
      *outputs.count = static_cast<std::int32_t>(row);
    }
    for (; row < params_.max_output; ++row) {
      outputs.Write(row, {0.0f, 0.0f, 0.0f, 0.0f}, 0.0f, -1, -1);
    }
  }

  const Params& params_;
  const Segment& segment_;
  const std::int64_t image_;
  ImageScratch& scratch_;
};

}  // namespace kernelwire::detection

#endif  // KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_FINISH_H_

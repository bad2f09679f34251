// nms on the host. Per image: filter by score, sort by (score, index), and hold each box against the kept boxes of its
// class, a vector of them at a time (box_suppress.h). No pair is looked at that scores or classes spare.
//
// Compiled without contraction of a * b + c, which would round otherwise than the definition (box_geometry.h).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/core/float16.h"
#include "kernels/core/operator.h"
#include "kernels/ops/nms/nms.h"
#include "kernels/ops/nms/nms_groups.h"
#include "kernels/primitives/box_suppress.h"
#include "kernels/primitives/rotated_box.h"
#include "kernels/primitives/scratch_lease.h"
#include "kernels/primitives/segment_lookup.h"

namespace kernelwire {
namespace nms {
namespace {

std::uint32_t LoadClass(DataType dtype, const void* data, std::int64_t i) {
  return dtype == DataType::kInt64 ? static_cast<std::uint32_t>(static_cast<const std::int64_t*>(data)[i])
                                   : static_cast<const std::uint32_t*>(data)[i];
}

/// One image of one request: where its numbers lie.
struct Image {
  const Segment* segment;
  std::int64_t index;  // within the request
  std::int64_t boxes() const { return segment->extents[kBoxesPerImage]; }
  std::int64_t columns() const { return segment->extents[kColumns]; }
  std::int64_t first_box() const { return index * boxes(); }
  std::int64_t real_boxes() const {
    const auto* counts = static_cast<const std::int32_t*>(segment->inputs[kCounts]);
    return counts == nullptr ? boxes() : std::clamp<std::int64_t>(counts[index], 0, boxes());
  }
  std::uint32_t class_of(const Params& params, std::uint32_t box) const {
    return LoadClass(params.classes, segment->inputs[kClasses], first_box() + box);
  }
};

void LoadBox(const Params& params, const Image& image, std::uint32_t index, box::Corners* box) {
  const std::int64_t first = 4 * (image.first_box() + index);
  float n[4];
  bool has_nan = false;
  for (int k = 0; k < 4; ++k) {
    n[k] = LoadFloat(params.boxes, image.segment->inputs[kBoxes], first + k);
    has_nan = has_nan || std::isnan(n[k]);
  }
  *box = box::ForSuppression(box::ToCorners(params.coding, n[0], n[1], n[2], n[3]), has_nan);
}

void LoadBox(const Params& params, const Image& image, std::uint32_t index, box::RotatedBox* box) {
  const std::int64_t first = 5 * (image.first_box() + index);
  const auto number = [&](int k) { return LoadFloat(params.boxes, image.segment->inputs[kBoxes], first + k); };
  *box = box::MakeRotatedBox(number(0), number(1), number(2), number(3), number(4), params.degrees);
}

/// What one image needs while it is worked on.
struct Scratch {
  std::vector<std::uint64_t> keys;  // the candidates by score, at most top_k; in the end those that are kept
  std::vector<std::uint64_t> spare;
  box::RankedBoxes ranked;
  std::vector<std::uint64_t> by_class;      // class, rank
  std::vector<std::size_t> first_of_class;  // positions in by_class, and its size behind the last
  std::vector<std::vector<std::uint64_t>> kept_of_class;
};

void RankCandidates(const Params& params, const Image& image, Scratch* scratch) {
  const void* const scores = image.segment->inputs[kScores];
  const std::int64_t first = image.first_box();
  const std::int64_t real = image.real_boxes();
  scratch->keys.clear();
  for (std::int64_t i = 0; i < real; ++i) {
    const float score = LoadFloat(params.scores, scores, first + i);
    if (params.has_score_threshold ? score > params.score_threshold : score == score) {
      scratch->keys.push_back(KeyOf(score, static_cast<std::uint32_t>(i)));
    }
  }
  box::SortByUpperHalf(&scratch->keys, &scratch->spare);
  scratch->keys.resize(std::min(scratch->keys.size(), static_cast<std::size_t>(params.top_k)));
}

/// Exact greedy suppression of axis-aligned boxes. `threads` may be null: then all in this one.
void SuppressBoxes(const Params& params, const Image& image, ParallelExecutor* threads, Scratch* scratch) {
  const std::size_t ranks = scratch->keys.size();
  box::RankedBoxes& ranked = scratch->ranked;
  ranked.boxes.resize(ranks);
  ranked.groups.resize(params.classes == DataType::kInvalid ? 0 : ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto index = static_cast<std::uint32_t>(scratch->keys[rank]);
    LoadBox(params, image, index, &ranked.boxes[rank]);
    if (params.classes != DataType::kInvalid) {
      ranked.groups[rank] = image.class_of(params, index);
    }
  }
  box::GreedyOptions options;
  options.iou_threshold = params.iou_threshold;
  options.per_group = std::min(params.max_per_class, params.max_output);
  ranked.Suppress(options, threads);
  std::size_t kept = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (ranked.keep[rank] != 0) {
      scratch->keys[kept++] = scratch->keys[rank];
    }
  }
  scratch->keys.resize(kept);
}

void GroupByClass(const Params& params, const Image& image, Scratch* scratch) {
  const std::size_t ranks = scratch->keys.size();
  scratch->by_class.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t value = params.classes == DataType::kInvalid
                                    ? 0
                                    : image.class_of(params, static_cast<std::uint32_t>(scratch->keys[rank]));
    scratch->by_class[rank] = std::uint64_t{value} << 32 | rank;
  }
  box::SortByUpperHalf(&scratch->by_class, &scratch->spare);
  scratch->first_of_class.clear();
  for (std::size_t i = 0; i < ranks; ++i) {
    if (i == 0 || scratch->by_class[i] >> 32 != scratch->by_class[i - 1] >> 32) {
      scratch->first_of_class.push_back(i);
    }
  }
  scratch->first_of_class.push_back(ranks);
}

/// Rotated boxes and soft-NMS: classes side by side on the threads, boxes of a class one after another.
template <typename Box>
void RunGroups(const Params& params, const Image& image, ParallelExecutor* threads, Scratch* scratch) {
  GroupByClass(params, image, scratch);
  const std::size_t classes = scratch->first_of_class.size() - 1;
  const std::int64_t most = std::min(params.max_per_class, params.max_output);
  scratch->kept_of_class.resize(std::max(scratch->kept_of_class.size(), classes));
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const ScratchLease<std::vector<GroupBox<Box>>> boxes;
    for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c) {
      boxes->clear();
      for (std::size_t i = scratch->first_of_class[c]; i < scratch->first_of_class[c + 1]; ++i) {
        const std::uint64_t key = scratch->keys[static_cast<std::uint32_t>(scratch->by_class[i])];
        GroupBox<Box>& made = boxes->emplace_back();
        LoadBox(params, image, static_cast<std::uint32_t>(key), &made.box);
        made.area = Area(made.box);
        made.key = key;
      }
      scratch->kept_of_class[c].clear();
      if (params.soft == SoftNms::kNone) {
        SuppressGroup(params, most, &*boxes, &scratch->kept_of_class[c]);
      } else {
        DecayGroup(params, most, &*boxes, &scratch->kept_of_class[c]);
      }
    }
  };
  if (threads == nullptr) {
    run(0, static_cast<std::int64_t>(classes));
  } else {
    threads->ParallelFor(static_cast<std::int64_t>(classes), 1, run);
  }
  scratch->keys.clear();
  for (std::size_t c = 0; c < classes; ++c) {
    const std::vector<std::uint64_t>& kept = scratch->kept_of_class[c];
    scratch->keys.insert(scratch->keys.end(), kept.begin(), kept.end());
  }
  std::sort(scratch->keys.begin(), scratch->keys.end());
}

/// Writes the kept boxes, fills the rest of the rows, and counts.
void WriteImage(const Image& image, const std::vector<std::uint64_t>& kept) {
  const Segment& segment = *image.segment;
  const std::int64_t columns = image.columns();
  const std::int64_t count = std::min<std::int64_t>(static_cast<std::int64_t>(kept.size()), columns);
  if (auto* indices = static_cast<std::int64_t*>(segment.outputs[kIndices])) {
    indices += image.index * columns;
    std::transform(kept.begin(), kept.begin() + count, indices,
                   [](std::uint64_t key) { return std::int64_t{static_cast<std::uint32_t>(key)}; });
    std::fill(indices + count, indices + columns, kNoIndex);
  }
  if (auto* scores = static_cast<float*>(segment.outputs[kKeptScores])) {
    scores += image.index * columns;
    std::transform(kept.begin(), kept.begin() + count, scores, &ScoreOf);
    std::fill(scores + count, scores + columns, kNoScore);
  }
  if (auto* const counts = static_cast<std::int32_t*>(segment.outputs[kCount])) {
    counts[image.index] = static_cast<std::int32_t>(count);
  }
}

void RunImage(const Params& params, const Image& image, ParallelExecutor* threads) {
  const ScratchLease<Scratch> scratch(image.boxes() <= box::kRetainedBoxes);
  RankCandidates(params, image, &*scratch);
  if (params.rotated) {
    RunGroups<box::RotatedBox>(params, image, threads, &*scratch);
  } else if (params.soft != SoftNms::kNone) {
    RunGroups<box::Corners>(params, image, threads, &*scratch);
  } else {
    SuppressBoxes(params, image, threads, &*scratch);
  }
  WriteImage(image, scratch->keys);
}

/// From this many boxes on, the work of one image is spread over the threads; what goes box by box, sooner.
std::int64_t LargeImage(const Params& params) {
  return params.rotated || params.soft != SoftNms::kNone ? box::kLargeImage / 16 : box::kLargeImage;
}

}  // namespace
}  // namespace nms

/// Large images one after another, each spread over the threads; then the small ones side by side.
absl::Status RunNmsHost(const Launch& launch, ParallelExecutor& threads) {
  const nms::Params params = launch.plan->Params<nms::Params>();
  const std::int64_t large = nms::LargeImage(params);
  for (int s = 0; s < launch.segment_count; ++s) {
    const Segment& segment = launch.segments[s];
    for (std::int64_t i = 0; i < segment.rows && segment.extents[nms::kBoxesPerImage] >= large; ++i) {
      nms::RunImage(params, {&segment, i}, &threads);
    }
  }
  threads.ParallelFor(launch.total_rows, 1, [&](std::int64_t from, std::int64_t to) {
    ForEachSegmentRange(launch.segments, launch.segment_count, from, to,
                        [&](const Segment& segment, std::int64_t first, std::int64_t last) {
                          for (std::int64_t i = first; i < last; ++i) {
                            if (const nms::Image image{&segment, i}; image.boxes() < large) {
                              nms::RunImage(params, image, nullptr);
                            }
                          }
                        });
  });
  return absl::OkStatus();
}

}  // namespace kernelwire

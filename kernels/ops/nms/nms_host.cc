// nms on the host. Per image: filter by score, sort by (score, index), bring the boxes of a class together, and hold
// each box against the kept boxes of its class, a vector of them at a time. No pair is looked at that scores or classes
// spare.
//
// Compiled once per instruction set (Highway's run-time dispatch) and without contraction of a * b + c, which would
// round the IoU differently from the definition; see README.md.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kernels/core/float16.h"
#include "kernels/core/operator.h"
#include "kernels/ops/nms/nms.h"

// The inner loops, once for every instruction set.
#define HWY_TARGET_INCLUDE "kernels/ops/nms/nms_greedy-inl.h"
#include "hwy/foreach_target.h"
#include "kernels/ops/nms/nms_greedy-inl.h"

namespace kernelwire {
namespace nms {

HWY_EXPORT(TestAgainstKept);
HWY_EXPORT(Resolve);

}  // namespace nms

namespace {

using nms::Box;
using nms::BoxCoding;
using nms::ClassBoxes;
using nms::KeptBoxes;
using nms::Params;

/// From this many boxes on, the work of one image is spread over the threads.
constexpr std::int64_t kLargeImage = 8192;

float LoadFloat(DataType dtype, const void* data, std::int64_t i) {
  switch (dtype) {
    case DataType::kFp16:
      return Fp16ToFloat(static_cast<const std::uint16_t*>(data)[i]);
    case DataType::kBf16:
      return Bf16ToFloat(static_cast<const std::uint16_t*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}

std::int32_t LoadClass(DataType dtype, const void* data, std::int64_t i) {
  return dtype == DataType::kInt64 ? static_cast<std::int32_t>(static_cast<const std::int64_t*>(data)[i])
                                   : static_cast<const std::int32_t*>(data)[i];
}

Box LoadBox(const Params& params, const void* boxes, std::int64_t i) {
  const float a = LoadFloat(params.boxes, boxes, 4 * i);
  const float b = LoadFloat(params.boxes, boxes, 4 * i + 1);
  const float c = LoadFloat(params.boxes, boxes, 4 * i + 2);
  const float d = LoadFloat(params.boxes, boxes, 4 * i + 3);
  Box box{a, b, c, d, 0.0f};
  switch (params.coding) {
    case BoxCoding::kXyxy:
      break;
    case BoxCoding::kYxyx:
      box = {std::min(b, d), std::min(a, c), std::max(b, d), std::max(a, c), 0.0f};
      break;
    case BoxCoding::kXywh:
      box = {a, b, a + c, b + d, 0.0f};
      break;
    case BoxCoding::kCxcywh:
      box = {a - 0.5f * c, b - 0.5f * d, a + 0.5f * c, b + 0.5f * d, 0.0f};
      break;
  }
  // A NaN fails the comparisons. Where the area is infinite, every IoU is 0 or NaN, neither of which is greater than a
  // threshold; where it is 0, so is what the box shares with others.
  const float area = (box.x2 - box.x1) * (box.y2 - box.y1);
  const bool active = box.x2 > box.x1 && box.y2 > box.y1 && area < std::numeric_limits<float>::infinity() && a == a &&
                      b == b && c == c && d == d;
  box.area = active ? area : 0.0f;
  return box;
}

/// A key that orders scores downwards when keys go up; -0 and 0 are equal.
std::uint32_t DescendingKey(float score) {
  const float canonical = score == 0.0f ? 0.0f : score;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &canonical, sizeof(bits));
  return (bits & 0x80000000u) != 0 ? bits : ~(bits | 0x80000000u);
}

/// What one image needs while it is worked on.
struct Scratch {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> spare;
  std::vector<std::uint32_t> order;  // index of the box of each rank by score
  std::vector<Box> boxes;            // by position: classes together, best first
  std::vector<std::uint8_t> keep;    // by position
  std::vector<std::uint8_t> keep_by_rank;
  std::vector<std::int64_t> first_of_class;  // positions, and the number of boxes behind the last
  KeptBoxes kept;
};

/// Scratch that stays with its thread from call to call, so that a served request allocates nothing. A pool rather than
/// one: an executor may lend a waiting thread to another image.
class ScratchLease {
 public:
  explicit ScratchLease(std::int64_t boxes) : boxes_(boxes) {
    if (Pool().empty()) {
      scratch_ = std::make_unique<Scratch>();
    } else {
      scratch_ = std::move(Pool().back());
      Pool().pop_back();
    }
  }
  ~ScratchLease() {
    if (boxes_ <= 16 * kLargeImage) {  // what a rare huge image needed is not held for ever
      Pool().push_back(std::move(scratch_));
    }
  }
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;
  Scratch* get() const { return scratch_.get(); }

 private:
  static std::vector<std::unique_ptr<Scratch>>& Pool() {
    thread_local std::vector<std::unique_ptr<Scratch>> pool;
    return pool;
  }
  std::int64_t boxes_;
  std::unique_ptr<Scratch> scratch_;
};

/// Stable by the upper 32 bits, which is all that has to be sorted: the lower ones ascend already. Radix of one byte; a
/// byte that all keys share costs no pass, and class numbers share most.
void SortByUpperHalf(std::vector<std::uint64_t>* keys, std::vector<std::uint64_t>* spare) {
  constexpr std::size_t kShort = 128;  // below, comparing is cheaper than counting
  if (keys->size() < kShort) {
    std::sort(keys->begin(), keys->end());
    return;
  }
  spare->resize(keys->size());
  std::array<std::array<std::uint32_t, 256>, 4> counts{};
  for (const std::uint64_t key : *keys) {
    for (std::size_t digit = 0; digit < 4; ++digit) {
      ++counts[digit][(key >> (32 + 8 * digit)) & 0xff];
    }
  }
  for (std::size_t digit = 0; digit < 4; ++digit) {
    std::array<std::uint32_t, 256>& next = counts[digit];
    if (next[(keys->front() >> (32 + 8 * digit)) & 0xff] == keys->size()) {
      continue;
    }
    std::uint32_t place = 0;
    for (std::uint32_t& bucket : next) {
      const std::uint32_t size = bucket;
      bucket = place;
      place += size;
    }
    for (const std::uint64_t key : *keys) {
      (*spare)[next[(key >> (32 + 8 * digit)) & 0xff]++] = key;
    }
    keys->swap(*spare);
  }
}

/// One image of one request: where its numbers lie.
struct Image {
  const Segment* segment;
  std::int64_t index;  // within the request
  std::int64_t boxes() const { return segment->extents[nms::kBoxesPerImage]; }
  std::int64_t columns() const { return segment->extents[nms::kColumns]; }
  std::int64_t first_box() const { return index * boxes(); }
  std::int64_t real_boxes() const {
    const auto* counts = static_cast<const std::int32_t*>(segment->inputs[nms::kCounts]);
    return counts == nullptr ? boxes() : std::clamp<std::int64_t>(counts[index], 0, boxes());
  }
};

/// Fills order: the candidates by score, at most top_k.
void RankCandidates(const Params& params, const Image& image, Scratch* scratch) {
  const void* const scores = image.segment->inputs[nms::kScores];
  const std::int64_t first = image.first_box();
  const std::int64_t real = image.real_boxes();
  scratch->keys.clear();
  for (std::int64_t i = 0; i < real; ++i) {
    const float score = LoadFloat(params.scores, scores, first + i);
    if (params.has_score_threshold ? score > params.score_threshold : score == score) {
      scratch->keys.push_back(std::uint64_t{DescendingKey(score)} << 32 | static_cast<std::uint64_t>(i));
    }
  }
  SortByUpperHalf(&scratch->keys, &scratch->spare);
  const std::size_t ranks = std::min(scratch->keys.size(), static_cast<std::size_t>(params.top_k));
  scratch->order.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    scratch->order[rank] = static_cast<std::uint32_t>(scratch->keys[rank]);
  }
}

/// Makes keys[position] = class, rank (all of one class if there are no classes) and loads the boxes in this order.
void GatherByClass(const Params& params, const Image& image, Scratch* scratch) {
  const void* const classes = image.segment->inputs[nms::kClasses];
  const std::int64_t first = image.first_box();
  const std::size_t ranks = scratch->order.size();
  scratch->keys.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::int32_t value =
        classes == nullptr ? 0 : LoadClass(params.classes, classes, first + scratch->order[rank]);
    scratch->keys[rank] = std::uint64_t{static_cast<std::uint32_t>(value)} << 32 | rank;
  }
  SortByUpperHalf(&scratch->keys, &scratch->spare);
  scratch->boxes.resize(ranks);
  scratch->first_of_class.clear();
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::uint32_t rank = static_cast<std::uint32_t>(scratch->keys[i]);
    scratch->boxes[i] = LoadBox(params, image.segment->inputs[nms::kBoxes], first + scratch->order[rank]);
    if (i == 0 || scratch->keys[i] >> 32 != scratch->keys[i - 1] >> 32) {
      scratch->first_of_class.push_back(static_cast<std::int64_t>(i));
    }
  }
  scratch->first_of_class.push_back(static_cast<std::int64_t>(ranks));
}

/// A class of many boxes, tile by tile: the threads test a tile against all that is kept, then one resolves it.
void SuppressInTiles(const ClassBoxes& all, std::int64_t most, float threshold, ParallelExecutor& threads,
                     KeptBoxes* kept) {
  constexpr std::int64_t kTile = 1024;
  constexpr std::int64_t kGrain = 64;
  kept->Clear(static_cast<std::size_t>(all.count));
  std::int64_t count = 0;
  for (std::int64_t begin = 0; begin < all.count; begin += kTile) {
    const std::int64_t end = count < most ? std::min(all.count, begin + kTile) : begin;
    if (end == begin) {
      std::fill(all.keep + begin, all.keep + all.count, std::uint8_t{0});
      return;
    }
    threads.ParallelFor(end - begin, kGrain, [&](std::int64_t from, std::int64_t to) {
      HWY_DYNAMIC_DISPATCH(nms::TestAgainstKept)(all, begin + from, begin + to, *kept, threshold);
    });
    count += HWY_DYNAMIC_DISPATCH(nms::Resolve)(all, begin, end, kept->size, most - count, threshold, kept);
  }
}

/// Decides keep[position] for every class. `threads` may be null: then all in this one.
void SuppressByClass(const Params& params, ParallelExecutor* threads, Scratch* scratch) {
  scratch->keep.assign(scratch->boxes.size(), 1);
  const std::int64_t most = std::min(params.max_per_class, params.max_output);
  const auto class_boxes = [scratch](std::int64_t i) {
    const std::int64_t* const first = &scratch->first_of_class[static_cast<std::size_t>(i)];
    return ClassBoxes{scratch->boxes.data() + first[0], scratch->keep.data() + first[0], first[1] - first[0]};
  };
  const auto is_long = [&](const ClassBoxes& all) { return threads != nullptr && all.count >= kLargeImage; };
  const auto resolve_short = [&](std::int64_t begin, std::int64_t end, KeptBoxes* kept) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (const ClassBoxes all = class_boxes(i); !is_long(all)) {
        kept->Clear(static_cast<std::size_t>(all.count));
        HWY_DYNAMIC_DISPATCH(nms::Resolve)(all, 0, all.count, 0, most, params.iou_threshold, kept);
      }
    }
  };
  const std::int64_t classes = static_cast<std::int64_t>(scratch->first_of_class.size()) - 1;
  if (threads == nullptr) {
    resolve_short(0, classes, &scratch->kept);
    return;
  }
  threads->ParallelFor(classes, 1, [&](std::int64_t begin, std::int64_t end) {
    const ScratchLease lease(kLargeImage);
    resolve_short(begin, end, &lease.get()->kept);
  });
  for (std::int64_t i = 0; i < classes; ++i) {
    if (const ClassBoxes all = class_boxes(i); is_long(all)) {
      SuppressInTiles(all, most, params.iou_threshold, *threads, &scratch->kept);
    }
  }
}

/// Writes the kept boxes by rank, fills the rest of the rows, and counts.
void WriteImage(const Params& params, const Image& image, Scratch* scratch) {
  scratch->keep_by_rank.resize(scratch->keep.size());
  for (std::size_t i = 0; i < scratch->keep.size(); ++i) {
    scratch->keep_by_rank[static_cast<std::uint32_t>(scratch->keys[i])] = scratch->keep[i];
  }
  const Segment& segment = *image.segment;
  const std::int64_t columns = image.columns();
  auto* indices = static_cast<std::int64_t*>(segment.outputs[nms::kIndices]);
  auto* scores = static_cast<float*>(segment.outputs[nms::kKeptScores]);
  auto* const counts = static_cast<std::int32_t*>(segment.outputs[nms::kCount]);
  indices = indices != nullptr ? indices + image.index * columns : nullptr;
  scores = scores != nullptr ? scores + image.index * columns : nullptr;
  std::int64_t kept = 0;
  for (std::size_t rank = 0; rank < scratch->keep_by_rank.size() && kept < columns; ++rank) {
    if (scratch->keep_by_rank[rank] == 0) {
      continue;
    }
    const std::int64_t index = scratch->order[rank];
    if (indices != nullptr) {
      indices[kept] = index;
    }
    if (scores != nullptr) {
      scores[kept] = LoadFloat(params.scores, segment.inputs[nms::kScores], image.first_box() + index);
    }
    ++kept;
  }
  if (indices != nullptr) {
    std::fill(indices + kept, indices + columns, nms::kNoIndex);
  }
  if (scores != nullptr) {
    std::fill(scores + kept, scores + columns, nms::kNoScore);
  }
  if (counts != nullptr) {
    counts[image.index] = static_cast<std::int32_t>(kept);
  }
}

void RunImage(const Params& params, const Image& image, ParallelExecutor* threads) {
  const ScratchLease lease(image.boxes());
  RankCandidates(params, image, lease.get());
  GatherByClass(params, image, lease.get());
  SuppressByClass(params, threads, lease.get());
  WriteImage(params, image, lease.get());
}

}  // namespace

/// Large images one after another, each spread over the threads; then the small ones side by side.
absl::Status RunNmsHost(const Launch& launch, ParallelExecutor& threads) {
  const Params params = launch.plan->Params<Params>();
  const Segment* const end = launch.segments + launch.segment_count;
  for (const Segment* segment = launch.segments; segment != end; ++segment) {
    for (std::int64_t i = 0; i < segment->rows && segment->extents[nms::kBoxesPerImage] >= kLargeImage; ++i) {
      RunImage(params, {segment, i}, &threads);
    }
  }
  threads.ParallelFor(launch.total_rows, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t row = from; row < to; ++row) {
      const Segment* const segment =
          std::upper_bound(launch.segments, end, row,
                           [](std::int64_t at, const Segment& s) { return at < s.first_row; }) -
          1;
      if (const Image image{segment, row - segment->first_row}; image.boxes() < kLargeImage) {
        RunImage(params, image, nullptr);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace kernelwire

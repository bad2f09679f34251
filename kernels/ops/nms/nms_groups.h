// The parts of nms on the host that go box by box: rotated boxes, and soft-NMS of either kind of box. One group (class)
// at a time, best first. Included by nms_host.cc alone, which is compiled without contraction of a * b + c.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_GROUPS_H_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_GROUPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/ops/nms/nms.h"
#include "kernels/primitives/box_geometry.h"

namespace kernelwire::nms {

/// A kept box: DescendingKey of its score, its index. Keys ascend in the order of the outputs.
inline std::uint64_t KeyOf(float score, std::uint32_t index) {
  return std::uint64_t{box::DescendingKey(score)} << 32 | index;
}
inline float ScoreOf(std::uint64_t key) { return box::ScoreOfKey(static_cast<std::uint32_t>(key >> 32)); }

template <typename Box>
struct GroupBox {
  Box box;
  float area;
  std::uint64_t key;
};

/// Exact greedy suppression: `kept` gets the keys of at most `most` boxes. `boxes` come in the order of their keys;
/// those that were kept end up in front.
template <typename Box>
void SuppressGroup(const Params& params, std::int64_t most, std::vector<GroupBox<Box>>* boxes,
                   std::vector<std::uint64_t>* kept) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < boxes->size() && static_cast<std::int64_t>(count) < most; ++i) {
    const GroupBox<Box> candidate = (*boxes)[i];
    const bool gone = std::any_of(
        boxes->begin(), boxes->begin() + static_cast<std::ptrdiff_t>(count), [&](const GroupBox<Box>& other) {
          return Overlap(candidate.box, candidate.area, other.box, other.area, params.iou_threshold);
        });
    if (!gone) {
      (*boxes)[count++] = candidate;
      kept->push_back(candidate.key);
    }
  }
}

/// Soft-NMS: chooses the box of the best score, lowers those of the others, and so on, until none is above the score
/// threshold or `most` are chosen. `kept` gets the keys at the time of choice. Empties `boxes`.
template <typename Box>
void DecayGroup(const Params& params, std::int64_t most, std::vector<GroupBox<Box>>* boxes,
                std::vector<std::uint64_t>* kept) {
  const auto by_key = [](const GroupBox<Box>& a, const GroupBox<Box>& b) { return a.key < b.key; };
  for (std::int64_t count = 0; count < most && !boxes->empty(); ++count) {
    const auto best = std::min_element(boxes->begin(), boxes->end(), by_key);
    const GroupBox<Box> chosen = *best;
    if (params.has_score_threshold && !(ScoreOf(chosen.key) > params.score_threshold)) {
      return;
    }
    kept->push_back(chosen.key);
    *best = boxes->back();
    boxes->pop_back();
    for (GroupBox<Box>& other : *boxes) {
      const float iou = Iou(chosen.box, chosen.area, other.box, other.area);
      if (iou > 0.0f) {
        other.key = KeyOf(Decayed(params, ScoreOf(other.key), iou), static_cast<std::uint32_t>(other.key));
      }
    }
  }
}

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_GROUPS_H_

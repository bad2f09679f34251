// The greedy part of nms on the host: one class of boxes, best first, each held against the kept ones a vector at a
// time.
//
// Compiled once per instruction set (Highway's run-time dispatch), in a translation unit without contraction of
// a * b + c, which would round the IoU differently from the definition; see README.md. Included by nms_host.cc alone.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_GREEDY_TYPES_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_GREEDY_TYPES_
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kernelwire::nms {

/// Two corners in f32 and the area between them; area 0 marks a box that neither suppresses nor is suppressed.
struct Box {
  float x1, y1, x2, y2, area;
};

/// The kept boxes of a class that can suppress, best first, in columns for vector loads.
struct KeptBoxes {
  std::vector<float> x1, y1, x2, y2, area;
  std::size_t size = 0;

  /// Room for `boxes` and for one vector (at most 64 floats) read beyond them.
  void Clear(std::size_t boxes) {
    size = 0;
    for (std::vector<float>* column : {&x1, &y1, &x2, &y2, &area}) {
      if (column->size() < boxes + 64) {
        column->resize(boxes + 64);
      }
    }
  }
  void Append(const Box& box) {
    x1[size] = box.x1;
    y1[size] = box.y1;
    x2[size] = box.x2;
    y2[size] = box.y2;
    area[size] = box.area;
    ++size;
  }
};

/// The boxes of one class of one image, best first. `keep` is indexed by position, like `boxes`.
struct ClassBoxes {
  const Box* boxes;
  std::uint8_t* keep;
  std::int64_t count;
};

}  // namespace kernelwire::nms
#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_GREEDY_TYPES_

// Everything below exists once per instruction set: the guard is flipped by Highway each time.
#if defined(KERNELWIRE_KERNELS_OPS_NMS_NMS_GREEDY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_OPS_NMS_NMS_GREEDY_INL_H_
#undef KERNELWIRE_KERNELS_OPS_NMS_NMS_GREEDY_INL_H_
#else
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_GREEDY_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire::nms::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether one of the kept boxes [from, kept.size) has an IoU with `box` strictly greater than `threshold`.
bool IsSuppressed(const Box& box, const KeptBoxes& kept, std::size_t from, float threshold) {
  const hn::ScalableTag<float> d;
  const auto limit = hn::Set(d, threshold);
  const auto x1 = hn::Set(d, box.x1);
  const auto y1 = hn::Set(d, box.y1);
  const auto x2 = hn::Set(d, box.x2);
  const auto y2 = hn::Set(d, box.y2);
  const auto area = hn::Set(d, box.area);
  for (std::size_t i = from; i < kept.size; i += hn::Lanes(d)) {
    const auto right = hn::Min(x2, hn::LoadU(d, &kept.x2[i]));
    const auto left = hn::Max(x1, hn::LoadU(d, &kept.x1[i]));
    const auto bottom = hn::Min(y2, hn::LoadU(d, &kept.y2[i]));
    const auto top = hn::Max(y1, hn::LoadU(d, &kept.y1[i]));
    const auto overlap = hn::And(hn::And(hn::Gt(right, left), hn::Gt(bottom, top)), hn::FirstN(d, kept.size - i));
    if (hn::AllFalse(d, overlap)) {
      continue;  // most pairs: the division is spared
    }
    const auto shared = hn::Mul(hn::Sub(right, left), hn::Sub(bottom, top));
    const auto united = hn::Sub(hn::Add(area, hn::LoadU(d, &kept.area[i])), shared);
    if (!hn::AllFalse(d, hn::And(overlap, hn::Gt(hn::Div(shared, united), limit)))) {
      return true;
    }
  }
  return false;
}

/// Clears keep[i] of the boxes [begin, end) that an already kept box suppresses.
void TestAgainstKept(const ClassBoxes& all, std::int64_t begin, std::int64_t end, const KeptBoxes& kept,
                     float threshold) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (all.boxes[i].area > 0.0f && IsSuppressed(all.boxes[i], kept, 0, threshold)) {
      all.keep[i] = 0;
    }
  }
}

/// Decides the boxes [begin, end) in order, those with keep[i] = 1, which have been tested against the first `tested`
/// kept boxes. Returns how many it kept; beyond `most` none is.
std::int64_t Resolve(const ClassBoxes& all, std::int64_t begin, std::int64_t end, std::size_t tested, std::int64_t most,
                     float threshold, KeptBoxes* kept) {
  std::int64_t count = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const Box& box = all.boxes[i];
    const bool active = box.area > 0.0f;
    if (all.keep[i] == 0 || count == most || (active && IsSuppressed(box, *kept, tested, threshold))) {
      all.keep[i] = 0;
      continue;
    }
    ++count;
    if (active) {
      kept->Append(box);
    }
  }
  return count;
}

}  // namespace kernelwire::nms::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_GREEDY_INL_H_

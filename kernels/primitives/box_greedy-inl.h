// The inner loops of greedy suppression on the host: boxes of one group, best first, each held against the kept ones a
// vector at a time.
//
// Compiled once per instruction set (Highway's run-time dispatch), in a translation unit without contraction of
// a * b + c, which would round the IoU differently from the definition (box_geometry.h). Included by box_suppress.cc
// alone, after foreach_target.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_BOX_GREEDY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_BOX_GREEDY_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_BOX_GREEDY_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_GREEDY_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hwy/highway.h"
#include "kernels/primitives/box_suppress.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire::box::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether one of the kept boxes [from, kept.size) has an IoU with `box` strictly greater than `threshold`.
bool IsSuppressed(const Corners& box, const RankedBoxes::Columns& kept, std::size_t from, float threshold) {
  const hn::ScalableTag<float> d;
  const auto limit = hn::Set(d, threshold);
  const auto x1 = hn::Set(d, box.x1);
  const auto y1 = hn::Set(d, box.y1);
  const auto x2 = hn::Set(d, box.x2);
  const auto y2 = hn::Set(d, box.y2);
  const auto area = hn::Set(d, Area(box));
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
void TestAgainstKept(const RankedBoxes::Group& all, std::int64_t begin, std::int64_t end,
                     const RankedBoxes::Columns& kept, float threshold) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (IsActive(all.boxes[i]) && IsSuppressed(all.boxes[i], kept, 0, threshold)) {
      all.keep[i] = 0;
    }
  }
}

/// Decides the boxes [begin, end) in order, those with keep[i] = 1, which have been tested against the first `tested`
/// kept boxes. Returns how many it kept; beyond `most` none is, nor beyond `most_of_class` of a class.
std::int64_t Resolve(const RankedBoxes::Group& all, std::int64_t begin, std::int64_t end, std::size_t tested,
                     std::int64_t most, std::int64_t most_of_class, float threshold, RankedBoxes::Columns* kept,
                     std::vector<std::int64_t>* kept_of_class) {
  std::int64_t count = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const Corners& box = all.boxes[i];
    const bool active = IsActive(box);
    std::int64_t* const of_class = all.classes != nullptr ? &(*kept_of_class)[all.classes[i]] : nullptr;
    if (all.keep[i] == 0 || count == most || (of_class != nullptr && *of_class >= most_of_class) ||
        (active && IsSuppressed(box, *kept, tested, threshold))) {
      all.keep[i] = 0;
      continue;
    }
    ++count;
    if (of_class != nullptr) {
      ++*of_class;
    }
    if (active) {
      kept->Append(box, Area(box));
    }
  }
  return count;
}

}  // namespace kernelwire::box::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_GREEDY_INL_H_

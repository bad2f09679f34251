// Reading the scores on the host: the best class of each box, or every class above a cutoff, a vector at a time.
// Included once per Highway target by detection_postprocess_host.cc, after foreach_target.
#ifndef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_SCAN_TYPES_
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_SCAN_TYPES_
#include <cstdint>
#include <vector>

#include "kernels/ops/detection_postprocess/detection_postprocess.h"

namespace kernelwire::detection {

/// Boxes that are scanned together.
inline constexpr std::int64_t kScanBoxes = 512;

/// What one look at the scores of up to kScanBoxes boxes found, before any activation.
struct ScanResult {
  float best[kScanBoxes];             // the greatest score of a class that counts
  std::int32_t class_of[kScanBoxes];  // the lowest class that has it; -1: none but NaN
  float largest[kScanBoxes];          // of all classes, for softmax
};

/// Classes that count, and for each class 0 or NaN, which is no score.
struct CountedClasses {
  std::vector<std::int32_t> list;
  std::vector<float> spoil;  // by class: added to a score
  bool all = true;
};

}  // namespace kernelwire::detection
#endif  // KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_SCAN_TYPES_

#if defined(KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_SCAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_SCAN_INL_H_
#undef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_SCAN_INL_H_
#else
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_SCAN_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/primitives/largest_lane-inl.h"
#include "kernels/primitives/row_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire::detection::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using kernelwire::HWY_NAMESPACE::BlockBuffer;
using kernelwire::HWY_NAMESPACE::kBlock;
using kernelwire::HWY_NAMESPACE::LargestLane;
using kernelwire::HWY_NAMESPACE::LoadBlock;
static_assert(kScanBoxes <= kBlock);

constexpr float kLowest = -std::numeric_limits<float>::infinity();

inline const void* At(DataType type, const void* data, std::int64_t element) {
  return static_cast<const std::uint8_t*>(data) + element * static_cast<std::int64_t>(SizeOf(type));
}

/// Takes one class of neighbouring boxes into account. Comparisons drop NaN.
HWY_INLINE void TakePlane(const float* scores, std::int64_t count, std::int32_t class_id, bool counts, bool softmax,
                          ScanResult* result) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto ids = hn::Set(di, class_id);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto score = hn::LoadU(d, scores + i);
    if (counts) {
      const auto best = hn::LoadU(d, result->best + i);
      const auto better = hn::Gt(score, best);
      hn::StoreU(hn::IfThenElse(better, score, best), d, result->best + i);
      const auto classes = hn::LoadU(di, result->class_of + i);
      hn::StoreU(hn::IfThenElse(hn::RebindMask(di, better), ids, classes), di, result->class_of + i);
    }
    if (softmax) {
      const auto largest = hn::LoadU(d, result->largest + i);
      hn::StoreU(hn::IfThenElse(hn::Gt(score, largest), score, largest), d, result->largest + i);
    }
  }
  for (; i < count; ++i) {
    if (counts && scores[i] > result->best[i]) {
      result->best[i] = scores[i];
      result->class_of[i] = class_id;
    }
    if (softmax && scores[i] > result->largest[i]) {
      result->largest[i] = scores[i];
    }
  }
}

/// The greatest of `count` scores, each plus spoil[i] where that is not null; NaN dropped.
HWY_INLINE float GreatestOf(const float* scores, const float* spoil, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto greatest = hn::Set(d, kLowest);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto score = hn::LoadU(d, scores + i);
    if (spoil != nullptr) {
      score = hn::Add(score, hn::LoadU(d, spoil + i));
    }
    greatest = hn::IfThenElse(hn::Gt(score, greatest), score, greatest);
  }
  float all = LargestLane(d, greatest);
  for (; i < count; ++i) {
    const float score = spoil == nullptr ? scores[i] : scores[i] + spoil[i];
    all = score > all ? score : all;
  }
  return all;
}

/// The best class of `count` boxes from `first_box` on. Requires: count <= kScanBoxes.
void ScanBest(const Params& params, const ScorePlaces& places, const CountedClasses& counted, std::int64_t first_box,
              std::int64_t count, ScanResult* result) {
  BlockBuffer<float> buffer;
  const bool softmax = params.activation == Activation::kSoftmax;
  std::fill_n(result->best, count, kLowest);
  std::fill_n(result->class_of, count, -1);
  std::fill_n(result->largest, count, kLowest);
  if (params.layout == Layout::kYolov8) {
    for (std::int32_t c = 0; c < params.classes; ++c) {
      const bool counts = IsAllowed(params, c);
      if (counts || softmax) {
        const void* const plane = At(params.scores, places.data, places.first + first_box + c * places.class_step);
        TakePlane(LoadBlock(params.scores, plane, count, buffer.values), count, c, counts, softmax, result);
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = places.first + (first_box + i) * places.box_step;
    for (std::int64_t c = 0; c < params.classes; c += kBlock) {
      const std::int64_t here = std::min<std::int64_t>(kBlock, params.classes - c);
      const float* const scores =
          LoadBlock(params.scores, At(params.scores, places.data, row + c), here, buffer.values);
      const float* const spoil = counted.all ? nullptr : counted.spoil.data() + c;
      const float best = GreatestOf(scores, spoil, here);
      if (best > result->best[i]) {
        result->best[i] = best;
        const auto is_best = [&](std::int64_t k) {
          return scores[k] == best && (spoil == nullptr || spoil[k] == 0.0f);
        };
        std::int64_t k = 0;
        while (!is_best(k)) {
          ++k;
        }
        result->class_of[i] = static_cast<std::int32_t>(c + k);
      }
      if (softmax) {
        result->largest[i] = std::max(result->largest[i], counted.all ? best : GreatestOf(scores, nullptr, here));
      }
    }
  }
}

/// One class of `count` neighbouring boxes, or `count` neighbouring classes of one box, as f32. The result is `buffer`
/// or the memory itself.
const float* LoadScores(DataType type, const void* data, std::int64_t element, std::int64_t count, float* buffer) {
  return LoadBlock(type, At(type, data, element), count, buffer);
}

}  // namespace kernelwire::detection::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

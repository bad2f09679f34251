// Walking over nested axes at equal steps without a division for each: the vectors of a result, or the rows of a
// column, where these lie in several axes. Light: device code includes it.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STEPS_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STEPS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/primitives/reduce_params.h"

namespace kernelwire {

/// Steps of one size over numbers that count over the axes of a map. An axis that ends begins again, and the one
/// outside of it goes on.
struct NestedSteps {
  /// The axes, innermost first, that steps are counted on. One more may lie outside of them; with more than that, each
  /// number is divided.
  static constexpr int kCounted = 2;
  /// Extents that are larger count as this; walks are shorter.
  static constexpr int kFar = 1 << 30;

  int step = 1;
  int extents[kCounted];         // innermost first, as the next two
  int steps[kCounted];           // what a step is on each axis
  std::int64_t wraps[kCounted];  // what is added to the offset when the axis begins again, and the next goes on
  std::int64_t offset = 0;       // of a step, as long as no axis ends
};

/// Requires: at least one axis; 0 < `step`, and few steps are less than kFar.
inline NestedSteps StepsOver(const IndexMap& map, int step) {
  NestedSteps steps{};
  steps.step = step;
  std::int64_t left = step;
  for (int i = 0; i < NestedSteps::kCounted && i < map.axes; ++i) {
    const int axis = map.axes - 1 - i;
    const std::int64_t extent = map.extents[axis];
    const std::int64_t above = axis > 0 ? left / extent : 0;  // the outermost does not end
    steps.extents[i] = static_cast<int>(std::min<std::int64_t>(extent, NestedSteps::kFar));
    steps.steps[i] = static_cast<int>(left - above * extent);
    steps.wraps[i] = axis > 0 ? map.strides[axis - 1] - extent * map.strides[axis] : 0;
    steps.offset += steps.steps[i] * map.strides[axis];
    left = above;
  }
  steps.offset += left * map.strides[0];
  return steps;
}

#ifdef __CUDACC__

/// The offsets that the numbers first, first + step, ... lead to, in elements; bit u of `last`: the u-th is the last of
/// the innermost axis. Takes a division for each axis but one, whatever kCount is; with more axes than kCounted and
/// one, one for each of them and each number, in a loop that stays one. Numbers at or beyond the map's end have
/// any.
template <int kCount>
__device__ __forceinline__ void FindOffsets(const IndexMap& map, const NestedSteps& steps, std::int64_t first,
                                            std::int64_t (&offsets)[kCount], unsigned* last) {
  *last = 0;
  if (map.axes > NestedSteps::kCounted + 1) {
    const std::int64_t extent = map.extents[map.axes - 1];
#pragma unroll 1
    for (int u = 0; u < kCount; ++u, first += steps.step) {
#pragma unroll
      for (int i = 1; i < kCount; ++i) {  // moved up instead of indexed: they stay in registers
        offsets[i - 1] = offsets[i];
      }
      offsets[kCount - 1] = map.Offset(first);
      *last |= (first + 1) % extent == 0 ? 1U << u : 0U;
    }
    return;
  }
  std::int64_t offset = 0;
  int left[NestedSteps::kCounted];  // of each axis, from the number on
#pragma unroll
  for (int i = 0; i < NestedSteps::kCounted; ++i) {
    left[i] = NestedSteps::kFar;
    if (const int axis = map.axes - 1 - i; axis >= 0) {
      const std::int64_t extent = map.extents[axis];
      const std::int64_t above = axis > 0 ? first / extent : 0;
      const std::int64_t index = first - above * extent;
      left[i] = static_cast<int>(min(extent - index, std::int64_t{NestedSteps::kFar}));
      offset += index * map.strides[axis];
      first = above;
    }
  }
  offset += first * map.strides[0];
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    offsets[u] = offset;
    *last |= left[0] == 1 ? 1U << u : 0U;
    offset += steps.offset;
    bool ends = false;
#pragma unroll
    for (int i = 0; i < NestedSteps::kCounted; ++i) {
      if (i == 0 || map.axes > i + 1) {
        left[i] -= steps.steps[i] + (ends ? 1 : 0);
        ends = left[i] <= 0;
        left[i] += ends ? steps.extents[i] : 0;
        offset += ends ? steps.wraps[i] : 0;
      }
    }
  }
}

#endif  // __CUDACC__

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STEPS_H_

// The largest lane of a vector. Included once per Highway target, after foreach_target.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_LARGEST_LANE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_LARGEST_LANE_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_LARGEST_LANE_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_LARGEST_LANE_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// Requires: no lane is NaN, or the caller knows of it and throws the result away.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::TFromD<D> LargestLane(D d, hwy::HWY_NAMESPACE::Vec<D> value) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_EMU128
  // Highway's own emulation starts from the lowest finite number, which is above -infinity.
  HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  hn::Store(value, d, lanes);
  return *std::max_element(lanes, lanes + hn::Lanes(d));
#else
  return hn::GetLane(hn::MaxOfLanes(d, value));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

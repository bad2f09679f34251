// Comparing elements on the host, and reductions that compare, as max, min, argmax and argmin do. Included once per
// Highway target.
//
// The smallest is the largest of what has been turned around: -x, or ~x for integers, which have one more negative
// number. NaN is above everything, either way; the zeros are equal.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COMPARE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COMPARE_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COMPARE_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COMPARE_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/primitives/largest_lane-inl.h"
#include "kernels/primitives/reduce_host-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename Work>
constexpr Work LowestOf() {
  return std::is_floating_point_v<Work> ? -std::numeric_limits<Work>::infinity() : std::numeric_limits<Work>::min();
}

template <bool kSmallest, typename Work>
Work TurnOne(Work value) {
  if constexpr (std::is_floating_point_v<Work>) {
    return kSmallest ? -value : value;
  } else {
    return kSmallest ? ~value : value;
  }
}

template <bool kSmallest, class D>
HWY_INLINE hn::Vec<D> Turn(D d, hn::Vec<D> value) {
  if constexpr (!kSmallest) {
    return value;
  } else if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    return hn::Neg(value);
  } else {
    return hn::Xor(value, hn::Set(d, hn::TFromD<D>{-1}));
  }
}

/// Whether `a` is above `b`: larger, or the only NaN.
template <typename Work>
bool IsAbove(Work a, Work b) {
  if constexpr (std::is_floating_point_v<Work>) {
    return a > b || (std::isnan(a) && !std::isnan(b));
  } else {
    return a > b;
  }
}

/// The largest of a block, turned, or NaN. Requires: count >= 1.
template <bool kSmallest, class From>
auto LargestOfBlock(const typename From::Stored* x, std::int64_t count) {
  using Work = typename From::Value;
  constexpr Work kLowest = LowestOf<Work>();
  const hn::ScalableTag<Work> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto m0 = hn::Set(d, kLowest);
  auto m1 = m0;
  auto m2 = m0;
  auto m3 = m0;
  auto nan = hn::Lt(m0, m0);  // nowhere
  const auto join = [&](auto value, auto& largest) HWY_ATTR {
    largest = hn::Max(Turn<kSmallest>(d, value), largest);  // may drop a NaN, which `nan` knows
    if constexpr (std::is_floating_point_v<Work>) {
      nan = hn::Or(nan, hn::IsNaN(value));
    }
  };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    join(From::Load(d, x + i), m0);
    join(From::Load(d, x + i + lanes), m1);
    join(From::Load(d, x + i + 2 * lanes), m2);
    join(From::Load(d, x + i + 3 * lanes), m3);
  }
  for (; i + lanes <= count; i += lanes) {
    join(From::Load(d, x + i), m0);
  }
  if (i < count) {
    join(From::LoadPartial(d, x + i, count - i, TurnOne<kSmallest>(kLowest)), m1);
  }
  if constexpr (std::is_floating_point_v<Work>) {
    if (!hn::AllFalse(d, nan)) {
      return std::numeric_limits<Work>::quiet_NaN();
    }
  }
  return LargestLane(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3)));
}

/// Where the first of a block's largest is. Requires: `largest` is LargestOfBlock of it.
template <bool kSmallest, class From>
std::int64_t FirstOf(const typename From::Stored* x, std::int64_t count, typename From::Value largest) {
  using Work = typename From::Value;
  const hn::ScalableTag<Work> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto wanted = hn::Set(d, TurnOne<kSmallest>(largest));
  const auto find = [&](auto value) HWY_ATTR {
    if constexpr (std::is_floating_point_v<Work>) {
      if (std::isnan(largest)) {
        return hn::FindFirstTrue(d, hn::IsNaN(value));
      }
    }
    return hn::FindFirstTrue(d, hn::Eq(value, wanted));
  };
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const std::int64_t lane = find(From::Load(d, x + i));
    if (lane >= 0) {
      return i + lane;
    }
  }
  return i + find(From::LoadPartial(d, x + i, count - i, TurnOne<kSmallest>(LowestOf<Work>())));
}

/// Where `a` is above `b`.
template <class D>
HWY_INLINE hn::Mask<D> IsAboveEach(D d, hn::Vec<D> a, hn::Vec<D> b) {
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    const auto new_nan = hn::AndNot(hn::VecFromMask(d, hn::IsNaN(b)), hn::VecFromMask(d, hn::IsNaN(a)));
    return hn::Or(hn::Gt(a, b), hn::MaskFromVec(new_nan));
  } else {
    return hn::Gt(a, b);
  }
}

/// Whether some lane of some row may be NaN: their sum is, with infinities of both signs too.
template <class D, class Rows>
HWY_INLINE bool MayHaveNan(D d, const Rows& rows) {
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    return !hn::AllFalse(d, hn::IsNaN(rows.Joined(d, JoinBySum())));
  } else {
    return false;
  }
}

/// `largest`, but NaN where a row or `before` is.
template <class D, class Rows>
HWY_INLINE hn::Vec<D> WithNans(D d, const Rows& rows, hn::Vec<D> before, hn::Vec<D> largest) {
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    if (MayHaveNan(d, rows) || !hn::AllFalse(d, hn::IsNaN(before))) {
      auto nan = hn::IsNaN(before);
      for (int row = 0; row < Rows::kRows; ++row) {
        nan = hn::Or(nan, hn::IsNaN(rows.At(d, row)));
      }
      return hn::IfThenElse(nan, hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN()), largest);
    }
  }
  return largest;
}

/// Runs a phase of the reduction R<Work, kSmallest>, which keeps the largest, or the largest of what it turns. Work is
/// a type that holds every element.
template <template <typename Work, bool kSmallest> class R, bool kSmallest>
void RunComparison(const HostReduction& job, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  const DataType type = job.params.x_type;
  if (type == DataType::kFp64) {
    RunPhase(job, R<double, kSmallest>{}, phase, begin, end);
  } else if (IsFloat(type)) {
    RunPhase(job, R<float, kSmallest>{}, phase, begin, end);
  } else if (type == DataType::kInt64) {
    RunPhase(job, R<std::int64_t, kSmallest>{}, phase, begin, end);
  } else {
    RunPhase(job, R<std::int32_t, kSmallest>{}, phase, begin, end);
  }
}

template <template <typename Work, bool kSmallest> class R>
void RunComparison(const HostReduction& job, bool smallest, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  if (smallest) {
    RunComparison<R, true>(job, phase, begin, end);
  } else {
    RunComparison<R, false>(job, phase, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

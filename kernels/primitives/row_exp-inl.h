// Maxima and sums of exponentials of blocks of f32 or f64, for softmax and its relatives on the host. Included once per
// Highway target, after foreach_target.
//
// NaN: every function that exponentiates gives NaN for NaN; maxima may drop it, which is enough for softmax, where the
// sum of exponentials then tells. The order of a sum depends on the count alone, never on addresses.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_ROW_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_ROW_EXP_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_ROW_EXP_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_EXP_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/primitives/row_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// exp(x) for x <= 0, within 1 ulp or so, subnormal results kept; NaN for NaN (Highway's own gives 0 there).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOf(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

template <typename Acc>
Acc MaximumOfBlock(const Acc* x, std::int64_t count) {
  constexpr Acc kLowest = -std::numeric_limits<Acc>::infinity();
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto maximum0 = hn::Set(d, kLowest);
  auto maximum1 = maximum0;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    maximum0 = hn::Max(maximum0, hn::LoadU(d, x + i));
    maximum1 = hn::Max(maximum1, hn::LoadU(d, x + i + lanes));
  }
  for (; i + lanes <= count; i += lanes) {
    maximum0 = hn::Max(maximum0, hn::LoadU(d, x + i));
  }
  if (i < count) {
    maximum1 = hn::Max(maximum1, LoadPartial(d, x + i, count - i, kLowest));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(maximum0, maximum1)));
}

/// The sum of exp(x - offset). The exponentials themselves go to `exponentials` unless that is null; it may be `x`.
/// Four accumulators keep the chains of additions short, which is what bounds the error of the sum.
template <typename Acc>
double SumExpOfBlock(const Acc* x, std::int64_t count, Acc offset, Acc* exponentials) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto offsets = hn::Set(d, offset);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  const auto next = [&](std::int64_t i) HWY_ATTR {
    const auto e = ExpOf(d, hn::Sub(hn::LoadU(d, x + i), offsets));
    if (exponentials != nullptr) {
      hn::StoreU(e, d, exponentials + i);
    }
    return e;
  };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = hn::Add(sum0, next(i));
    sum1 = hn::Add(sum1, next(i + lanes));
    sum2 = hn::Add(sum2, next(i + 2 * lanes));
    sum3 = hn::Add(sum3, next(i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) {
    sum0 = hn::Add(sum0, next(i));
  }
  if (i < count) {
    const auto last = LoadPartial(d, x + i, count - i, -std::numeric_limits<Acc>::infinity());
    const auto e = ExpOf(d, hn::Sub(last, offsets));
    if (exponentials != nullptr) {
      StorePartial(e, d, exponentials + i, count - i);
    }
    sum1 = hn::Add(sum1, e);
  }
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
}

/// y = exp(x - offset) * factor; y may be x.
template <typename Acc>
void ExpBlock(const Acc* x, std::int64_t count, Acc offset, Acc factor, Acc* y) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto offsets = hn::Set(d, offset);
  const auto factors = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Mul(ExpOf(d, hn::Sub(hn::LoadU(d, x + i), offsets)), factors), d, y + i);
  }
  if (i < count) {
    const auto last = LoadPartial(d, x + i, count - i, Acc{0});
    StorePartial(hn::Mul(ExpOf(d, hn::Sub(last, offsets)), factors), d, y + i, count - i);
  }
}

template <typename Acc>
void ScaleInPlace(Acc* x, std::int64_t count, Acc factor) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factors = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), factors), d, x + i);
  }
  if (i < count) {
    StorePartial(hn::Mul(LoadPartial(d, x + i, count - i, Acc{0}), factors), d, x + i, count - i);
  }
}

// The same for interleaved rows: element j belongs to row j, whose statistics are element j of aligned arrays with room
// for whole vectors. What the lanes beyond `count` hold is never looked at.

/// maximum[j] = max(maximum[j], x[j])
template <typename Acc>
void MaximumEach(const Acc* x, std::int64_t count, Acc* HWY_RESTRICT maximum) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    hn::Store(hn::Max(hn::Load(d, maximum + j), hn::LoadU(d, x + j)), d, maximum + j);
  }
  if (j < count) {
    hn::Store(hn::Max(hn::Load(d, maximum + j), LoadPartial(d, x + j, count - j, Acc{0})), d, maximum + j);
  }
}

/// sum[j] += exp(x[j] - offset[j])
template <typename Acc>
void AddExpEach(const Acc* x, std::int64_t count, const Acc* HWY_RESTRICT offset, Acc* HWY_RESTRICT sum) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t j = 0;
  for (; j < count; j += lanes) {
    const auto value = j + lanes <= count ? hn::LoadU(d, x + j) : LoadPartial(d, x + j, count - j, Acc{0});
    const auto e = ExpOf(d, hn::Sub(value, hn::Load(d, offset + j)));
    hn::Store(hn::Add(hn::Load(d, sum + j), e), d, sum + j);
  }
}

/// y[j] = exp(x[j] - offset[j]) * factor[j]; y may be x.
template <typename Acc>
void ExpEach(const Acc* x, std::int64_t count, const Acc* HWY_RESTRICT offset, const Acc* HWY_RESTRICT factor, Acc* y) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    const auto e = ExpOf(d, hn::Sub(hn::LoadU(d, x + j), hn::Load(d, offset + j)));
    hn::StoreU(hn::Mul(e, hn::Load(d, factor + j)), d, y + j);
  }
  if (j < count) {
    const auto last = LoadPartial(d, x + j, count - j, Acc{0});
    const auto e = ExpOf(d, hn::Sub(last, hn::Load(d, offset + j)));
    StorePartial(hn::Mul(e, hn::Load(d, factor + j)), d, y + j, count - j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

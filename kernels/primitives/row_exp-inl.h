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
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/primitives/largest_lane-inl.h"
#include "kernels/primitives/row_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// exp(x) of f32 for x <= 0, within 1 ulp, subnormal results kept; NaN for NaN; exp(0) is 1.
///
/// x = n log 2 + r with |r| <= log 2 / 2. exp(r) is 1 + r + r^2 q(r), where q is a polynomial fitted for the smallest
/// relative error of the whole, 3e-9. Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits; with 191
/// added, these are the exponent field of 2^(n + 64), so that subnormal results are rounded once, by the last factor.
template <class D>
HWY_INLINE hn::Vec<D> ExpOfF32(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto magic = hn::Set(d, 12582912.0F + 191.0F);
  const auto lowest = hn::Set(d, -104.0F);           // its exponential is rounded to 0
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);  // not Max: NaN has to pass
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic);
  const auto n = hn::Sub(shifted, magic);
  // log 2 in two parts, of which the first has so few bits that its product with n is exact.
  auto r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e4p-1F), x);
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6F), r);
  auto q = hn::MulAdd(r, hn::Set(d, 1.38144620e-3F), hn::Set(d, 8.36878088e-3F));
  q = hn::MulAdd(q, r, hn::Set(d, 4.16683944e-2F));
  q = hn::MulAdd(q, r, hn::Set(d, 1.66665201e-1F));
  q = hn::MulAdd(q, r, hn::Set(d, 4.99999934e-1F));
  const auto exp_r = hn::Add(hn::MulAdd(hn::Mul(r, r), q, r), hn::Set(d, 1.0F));
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  return hn::Mul(hn::Mul(exp_r, power), hn::Set(d, 0x1p-64F));
}

/// exp(x) for x <= 0, within 1 ulp or so, subnormal results kept; NaN for NaN (Highway's own gives 0 there).
template <class D>
HWY_INLINE hn::Vec<D> ExpOf(D d, hn::Vec<D> x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return ExpOfF32(d, x);
  } else {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
  }
}

/// The largest element. `ahead`: see MapElements.
template <class From, typename Acc>
Acc MaximumOfElements(const typename From::Stored* x, std::int64_t count, std::int64_t ahead = 0) {
  constexpr Acc kLowest = -std::numeric_limits<Acc>::infinity();
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto maximum0 = hn::Set(d, kLowest);
  auto maximum1 = maximum0;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    if (ahead != 0) {
      FetchToRead(x + i, ahead);
      FetchToRead(x + i + lanes, ahead);
    }
    maximum0 = hn::Max(maximum0, From::Load(d, x + i));
    maximum1 = hn::Max(maximum1, From::Load(d, x + i + lanes));
  }
  for (; i + lanes <= count; i += lanes) {
    maximum0 = hn::Max(maximum0, From::Load(d, x + i));
  }
  if (i < count) {
    maximum1 = hn::Max(maximum1, From::LoadPartial(d, x + i, count - i, kLowest));
  }
  return LargestLane(d, hn::Max(maximum0, maximum1));
}

template <typename Acc>
Acc MaximumOfBlock(DataType dtype, const void* block, std::int64_t count, Acc* buffer, std::int64_t ahead) {
  Acc maximum{};
  ReadBlock(dtype, block, count, buffer, [&](auto elements, const auto* x) {
    maximum = MaximumOfElements<decltype(elements), Acc>(x, count, ahead);
  });
  return maximum;
}

/// Adds exp(x - offset), and keeps it in `exponentials` if kKeep.
template <typename Acc, bool kKeep>
struct AddExp {
  Acc offset;
  Acc* exponentials;

  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Add(D d, hn::Vec<D> x, std::int64_t i, std::int64_t count, hn::Vec<D> sum) const {
    const auto e = ExpOf(d, hn::Sub(x, hn::Set(d, offset)));
    if constexpr (kKeep && kWhole) {
      FetchToWrite(exponentials + i);
      hn::StoreU(e, d, exponentials + i);
    } else if constexpr (kKeep) {
      SameElements<Acc>::StorePartial(e, d, exponentials + i, count);
    }
    return hn::Add(sum, e);
  }
};

/// The sum of exp(x - offset).
template <class From, typename Acc>
double SumExpOfElements(const typename From::Stored* x, std::int64_t count, Acc offset) {
  return SumElements<From, Acc>(x, count, -std::numeric_limits<Acc>::infinity(), AddExp<Acc, false>{offset, nullptr},
                                0);
}

/// The same over a block. The exponentials themselves go to `exponentials` unless that is null; it
/// may be the block itself where it has type Acc.
template <typename Acc>
double SumExpOfBlock(DataType dtype, const void* block, std::int64_t count, Acc offset, Acc* exponentials, Acc* buffer,
                     std::int64_t ahead = 0) {
  constexpr Acc kNothing = -std::numeric_limits<Acc>::infinity();
  if (exponentials == nullptr) {
    return SumBlock(dtype, block, count, kNothing, AddExp<Acc, false>{offset, nullptr}, buffer, ahead);
  }
  return SumBlock(dtype, block, count, kNothing, AddExp<Acc, true>{offset, exponentials}, buffer, ahead);
}

// Functions of elements (see row_block-inl.h).

template <typename Acc>
struct TimesFactor {
  Acc factor;
  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Apply(D d, hn::Vec<D> x, std::int64_t /*i*/, std::int64_t /*count*/) const {
    return hn::Mul(x, hn::Set(d, factor));
  }
};

/// exp(x - offset) * factor
template <typename Acc>
struct ScaledExp {
  Acc offset;
  Acc factor;
  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Apply(D d, hn::Vec<D> x, std::int64_t /*i*/, std::int64_t /*count*/) const {
    return hn::Mul(ExpOf(d, hn::Sub(x, hn::Set(d, offset))), hn::Set(d, factor));
  }
};

/// x - first - second: two subtractions, since the sum of the two may have lost what the result consists of.
template <typename Acc>
struct MinusTwo {
  Acc first;
  Acc second;
  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Apply(D d, hn::Vec<D> x, std::int64_t /*i*/, std::int64_t /*count*/) const {
    return hn::Sub(hn::Sub(x, hn::Set(d, first)), hn::Set(d, second));
  }
};

// For interleaved rows: element j belongs to row j, whose statistics are element j of aligned arrays with room for
// whole vectors. What the lanes beyond `count` hold is never looked at.

/// exp(x - offset[j]) * factor[j]
template <typename Acc>
struct ScaledExpEach {
  const Acc* offset;
  const Acc* factor;
  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Apply(D d, hn::Vec<D> x, std::int64_t j, std::int64_t /*count*/) const {
    return hn::Mul(ExpOf(d, hn::Sub(x, hn::Load(d, offset + j))), hn::Load(d, factor + j));
  }
};

/// x - first[j] - second[j]
template <typename Acc>
struct MinusTwoEach {
  const Acc* first;
  const Acc* second;
  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Apply(D d, hn::Vec<D> x, std::int64_t j, std::int64_t /*count*/) const {
    return hn::Sub(hn::Sub(x, hn::Load(d, first + j)), hn::Load(d, second + j));
  }
};

/// maximum[j] = max(maximum[j], x[j])
template <typename Acc>
void MaximumEach(const Acc* x, std::int64_t count, Acc* HWY_RESTRICT maximum) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = 0; j < count; j += lanes) {
    const bool whole = j + lanes <= count;
    const auto value = whole ? hn::LoadU(d, x + j) : SameElements<Acc>::LoadPartial(d, x + j, count - j, Acc{0});
    hn::Store(hn::Max(hn::Load(d, maximum + j), value), d, maximum + j);
  }
}

/// sum[j] += exp(x[j] - offset[j])
template <typename Acc>
void AddExpEach(const Acc* x, std::int64_t count, const Acc* HWY_RESTRICT offset, Acc* HWY_RESTRICT sum) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = 0; j < count; j += lanes) {
    const bool whole = j + lanes <= count;
    const auto value = whole ? hn::LoadU(d, x + j) : SameElements<Acc>::LoadPartial(d, x + j, count - j, Acc{0});
    const auto e = ExpOf(d, hn::Sub(value, hn::Load(d, offset + j)));
    hn::Store(hn::Add(hn::Load(d, sum + j), e), d, sum + j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

// Results of a reduction on their way into y, many neighbours at a time: real ones by vectors. Included once per
// Highway target, after foreach_target.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_STORE_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/core/dtype.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store.h"
#include "kernels/primitives/row_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Highway's replacements for a narrowing instruction make the largest f32 of what overflows, not infinity.
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
inline constexpr bool kNarrowsToInfinity = false;
#else
inline constexpr bool kNarrowsToInfinity = true;
#endif

/// Results that are worked on at once.
inline constexpr std::int64_t kResultsAtOnce = 256;

/// What f64 rounds to in one step on its way through f32 into a 16-bit type ("round to odd", see RoundableDouble): the
/// bits that f32 does not hold leave their mark in its last one. Exact but for f32's subnormal numbers.
template <class D>
HWY_INLINE hn::Vec<D> Roundable(D d, hn::Vec<D> value) {
  const hn::RebindToUnsigned<D> du;
  const auto cut_off = hn::Set(du, (std::uint64_t{1} << 29) - 1);
  const auto bits = hn::BitCast(du, value);
  const auto mark = hn::Add(hn::And(bits, cut_off), cut_off);
  return hn::BitCast(d, hn::AndNot(cut_off, hn::Or(bits, mark)));
}

/// Whether all lanes are rounded rightly by way of Roundable: 0, or no subnormal number of BF16.
template <class D>
HWY_INLINE bool AreRoundable(D d, hn::Vec<D> value) {
  const auto magnitude = hn::Abs(value);
  const auto subnormal = hn::And(hn::Lt(magnitude, hn::Set(d, 0x1p-126)), hn::Gt(magnitude, hn::Zero(d)));
  return hn::AllFalse(d, subnormal);
}

/// Rounds each of `values` once. Returns how many are done: whole vectors, up to the first that needs more care.
template <class To>
std::int64_t NarrowReals(const double* values, std::int64_t count, typename To::Stored* y) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  std::int64_t done = 0;
  for (; done + lanes <= count; done += lanes) {
    auto value = hn::LoadU(wide, values + done);
    if constexpr (sizeof(typename To::Stored) == 2) {
      if (!AreRoundable(wide, value)) {
        break;
      }
      value = Roundable(wide, value);
    }
    To::Store(hn::DemoteTo(narrow, value), narrow, y + done);
  }
  return done;
}

/// y[i] = values[i] for `count` neighbours from `first` on.
inline void StoreReals(DataType type, const double* values, std::int64_t count, void* y, std::int64_t first) {
  std::int64_t done = 0;
  if constexpr (kNarrowsToInfinity) {
    WithElements<float>(type, [&](auto elements) {
      using To = decltype(elements);
      done = NarrowReals<To>(values, count, static_cast<typename To::Stored*>(y) + first);
    });
  }
  for (; done < count; ++done) {
    StoreReal(type, values[done], y, first + done);
  }
}

/// The results that `count` totals come to, from `place` on. Requires: count <= kResultsAtOnce.
template <class R>
void StoreResults(const HostReduction& job, const HostPlace& place, const R& reduction, const typename R::Total* totals,
                  std::int64_t count) {
  if constexpr (std::is_same_v<decltype(reduction.Result(*totals)), double>) {
    double values[kResultsAtOnce];
    for (std::int64_t j = 0; j < count; ++j) {
      // One NaN for all: which of two a sum or product takes its bits from is the compiler's choice, in each loop anew.
      const double value = reduction.Result(totals[j]);
      values[j] = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
    }
    StoreReals(job.params.y_type, values, count, place.segment.outputs[0], place.index);
  } else {
    for (std::int64_t j = 0; j < count; ++j) {
      StoreWhole(job, {place.segment, place.piece, place.result + j, place.index + j}, reduction.Result(totals[j]));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

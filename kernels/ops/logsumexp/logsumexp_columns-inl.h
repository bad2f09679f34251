// Columns of logsumexp on the host: a maximum and a sum in every lane. Included once per Highway target.
#if defined(KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_COLUMNS_INL_H_
#undef KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_COLUMNS_INL_H_
#else
#define KERNELWIRE_KERNELS_OPS_LOGSUMEXP_LOGSUMEXP_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/primitives/reduce_columns-inl.h"
#include "kernels/primitives/reduce_sum-inl.h"
#include "kernels/primitives/row_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// sum = the sum of exp(x - the maximum), or of exp(x) if that is infinite.
struct ScaledSum {
  double sum;
  double maximum;
};

template <typename Work>
class ScaledSumColumns {
 public:
  template <class R>
  explicit ScaledSumColumns(const R& /*reduction*/) {}

  void Start(std::int64_t slots) {
    std::fill_n(maxima_, slots, -kInfinity);
    std::fill_n(sums_, slots, 0.0);
  }

  template <class Rows>
  HWY_INLINE void Step(const Rows& rows, std::int64_t slot, std::int64_t /*element*/) {
    const hn::ScalableTag<Work> d;
    const auto before = hn::Load(d, maxima_ + slot);
    const auto maximum = hn::Max(rows.Joined(d, JoinByOrder<false>()), before);  // of NaNs, the sum knows
    if (!hn::AllFalse(d, hn::Gt(maximum, before))) {
      hn::Store(maximum, d, maxima_ + slot);
      Rescale(before, maximum, slot);
    }
    if (hn::AllFalse(d, hn::Eq(maximum, hn::Set(d, kInfinity)))) {
      AddExponentials<false>(rows, maximum, slot);
    } else {
      AddExponentials<true>(rows, maximum, slot);
    }
  }

  ScaledSum TotalOf(std::int64_t slot) const {
    const double maximum = static_cast<double>(maxima_[slot]);
    const bool infinite = maxima_[slot] == kInfinity && !std::isnan(sums_[slot]);
    return {infinite ? maximum : sums_[slot], maximum};
  }

 private:
  static constexpr Work kInfinity = std::numeric_limits<Work>::infinity();
  using D = hn::ScalableTag<Work>;

  /// Infinite maxima are not subtracted.
  static HWY_INLINE hn::Vec<D> OffsetOf(hn::Vec<D> maximum) {
    const D d;
    return hn::IfThenElseZero(hn::Lt(hn::Abs(maximum), hn::Set(d, kInfinity)), maximum);
  }

  /// The sums as they are with a larger maximum. In f64: a column that rises slowly is rescaled many times. The sum
  /// beside a maximum of +infinity does not count, but for NaN.
  void Rescale(hn::Vec<D> before, hn::Vec<D> maximum, std::int64_t slot) {
    const D d;
    const auto difference = hn::Sub(before, OffsetOf(maximum));
    JoinWidened(d, difference, sums_ + slot, [](auto wide, auto by, auto sum) HWY_ATTR {
      return hn::IfThenElse(hn::Lt(by, hn::Zero(wide)), hn::Mul(sum, ExpOf(wide, by)), sum);
    });
  }

  /// kInfinite: some maximum is +infinity. Its lane then sums up anything but a NaN, unless there is one.
  template <bool kInfinite, class Rows>
  HWY_INLINE void AddExponentials(const Rows& rows, hn::Vec<D> maximum, std::int64_t slot) {
    const D d;
    const auto offset = OffsetOf(maximum);
    auto sum = Exponential<kInfinite>(rows.At(d, 0), offset);
    for (int row = 1; row < Rows::kRows; ++row) {
      sum = hn::Add(sum, Exponential<kInfinite>(rows.At(d, row), offset));
    }
    AddWidened(d, sum, sums_ + slot);
  }

  template <bool kInfinite>
  static HWY_INLINE hn::Vec<D> Exponential(hn::Vec<D> x, hn::Vec<D> offset) {
    const D d;
    auto difference = hn::Sub(x, offset);
    if constexpr (kInfinite) {
      difference = hn::IfThenElse(hn::Gt(difference, hn::Zero(d)), hn::Zero(d), difference);  // NaN passes
    }
    return ExpOf(d, difference);
  }

  HWY_ALIGN Work maxima_[kColumnsOfATile];
  HWY_ALIGN double sums_[kColumnsOfATile];
};

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

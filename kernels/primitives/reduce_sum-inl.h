// Sums of blocks of f32 or 16-bit elements on the host: in f32 for short chains, and on in f64. Included once per
// Highway target, after foreach_target.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SUM_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SUM_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_SUM_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/primitives/row_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// f64 in a whole vector for half a vector of D, or for its only lane.
#if HWY_TARGET == HWY_SCALAR
template <class D>
using WideTag = hn::ScalableTag<double>;
#else
template <class D>
using WideTag = hn::Repartition<double, D>;
#endif

/// Calls f(f64 tag, half) for the two halves of a vector of f32, widened, or once where a vector has one lane.
template <class D, class F>
HWY_INLINE void ForEachWidened(D /*d*/, hn::Vec<D> value, const F& f) {
  const WideTag<D> wide;
#if HWY_TARGET == HWY_SCALAR
  f(wide, hn::PromoteTo(wide, value));
#else
  const hn::Half<D> half;
  f(wide, hn::PromoteTo(wide, hn::LowerHalf(half, value)));
  f(wide, hn::PromoteTo(wide, hn::UpperHalf(half, value)));
#endif
}

/// totals[j] = join(f64 tag, lane j, totals[j]) of a vector of f32 or f64.
template <class D, class F>
HWY_INLINE void JoinWidened(D d, hn::Vec<D> value, double* totals, const F& join) {
  if constexpr (std::is_same_v<hn::TFromD<D>, double>) {
    hn::StoreU(join(d, value, hn::LoadU(d, totals)), d, totals);
  } else {
    ForEachWidened(d, value, [&](auto wide, auto half) HWY_ATTR {
      hn::StoreU(join(wide, half, hn::LoadU(wide, totals)), wide, totals);
      totals += hn::Lanes(wide);
    });
  }
}

/// The same with one of `rows` (ColumnRows) after the other.
template <class Rows, class F>
HWY_INLINE void JoinRowsWidened(const Rows& rows, double* totals, const F& join) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<typename Rows::Work, decltype(wide)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  const auto columns = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<typename Rows::Work>()));
  for (std::int64_t j = 0; j < columns; j += lanes) {
    auto total = hn::LoadU(wide, totals + j);
    for (int row = 0; row < Rows::kRows; ++row) {
      const auto value = rows.At(narrow, row, j);
      if constexpr (std::is_same_v<typename Rows::Work, double>) {
        total = join(wide, value, total);
      } else {
        total = join(wide, hn::PromoteTo(wide, value), total);
      }
    }
    hn::StoreU(total, wide, totals + j);
  }
}

/// totals[j] += lane j
template <class D>
HWY_INLINE void AddWidened(D d, hn::Vec<D> value, double* totals) {
  JoinWidened(d, value, totals, [](auto /*wide*/, auto x, auto total) HWY_ATTR { return hn::Add(total, x); });
}

// What is added up of each element:
struct Itself {
  template <class D>
  static HWY_INLINE hn::Vec<D> Of(D /*d*/, hn::Vec<D> x) {
    return x;
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> Add(D /*d*/, hn::Vec<D> x, hn::Vec<D> sum) {
    return hn::Add(sum, x);
  }
};
struct Squared {
  template <class D>
  static HWY_INLINE hn::Vec<D> Of(D /*d*/, hn::Vec<D> x) {
    return hn::Mul(x, x);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> Add(D /*d*/, hn::Vec<D> x, hn::Vec<D> sum) {
    return hn::MulAdd(x, x, sum);
  }
};

/// 32 bytes of memory at a time, of any type. FP32 that is read by 64 comes from memory up to a fifth slower (Zen 5: so
/// many misses at once as the processor then sees are in the way of its own fetching ahead).
template <class From>
using TagOfSums = hn::CappedTag<float, 32 / sizeof(typename From::Stored)>;

/// The sum over a block, in four chains of eight additions each at a time, which f64 takes over.
template <class From, class Term>
double SumOfFloats(const typename From::Stored* x, std::int64_t count) {
  constexpr std::int64_t kVectorsOfAChain = 32;  // of the four
  const TagOfSums<From> d;
  const WideTag<TagOfSums<From>> wide;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto total = hn::Zero(wide);
  const auto add = [&total](auto /*wide*/, auto half) HWY_ATTR { total = hn::Add(total, half); };
  std::int64_t i = 0;
  while (i + 4 * lanes <= count) {
    auto s0 = Term::Of(d, From::Load(d, x + i));
    auto s1 = Term::Of(d, From::Load(d, x + i + lanes));
    auto s2 = Term::Of(d, From::Load(d, x + i + 2 * lanes));
    auto s3 = Term::Of(d, From::Load(d, x + i + 3 * lanes));
    const std::int64_t end = std::min(count, i + kVectorsOfAChain * lanes);
    for (i += 4 * lanes; i + 4 * lanes <= end; i += 4 * lanes) {
      s0 = Term::Add(d, From::Load(d, x + i), s0);
      s1 = Term::Add(d, From::Load(d, x + i + lanes), s1);
      s2 = Term::Add(d, From::Load(d, x + i + 2 * lanes), s2);
      s3 = Term::Add(d, From::Load(d, x + i + 3 * lanes), s3);
    }
    ForEachWidened(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), add);
  }
  for (; i + lanes <= count; i += lanes) {
    ForEachWidened(d, Term::Of(d, From::Load(d, x + i)), add);
  }
  if (i < count) {
    ForEachWidened(d, Term::Of(d, From::LoadPartial(d, x + i, count - i, 0.0F)), add);
  }
  return hn::GetLane(hn::SumOfLanes(wide, total));
}

/// The same, in f64 all the way.
template <class From, class Term>
double SumInF64(const typename From::Stored* x, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<double> wide;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto total = hn::Zero(wide);
  for (std::int64_t i = 0; i < count; i += lanes) {
    const auto value = i + lanes <= count ? From::Load(d, x + i) : From::LoadPartial(d, x + i, count - i, 0.0F);
    ForEachWidened(d, value, [&total](auto tag, auto half) HWY_ATTR { total = Term::Add(tag, half, total); });
  }
  return hn::GetLane(hn::SumOfLanes(wide, total));
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

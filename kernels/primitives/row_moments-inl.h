// Mean and variance of rows on the host: centred, never mean(x^2) - mean(x)^2, and with a mean that keeps more digits
// than f32 has. Included once per Highway target, after foreach_target.
//
// Source of the merging: T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating Formulae and a Pairwise Algorithm for
// Computing Sample Variances", 1979.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_MOMENTS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/primitives/row_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// Of some elements of a row.
struct Moments {
  double count = 0.0;
  double mean = 0.0;
  double squares = 0.0;  // sum of (x - mean)^2
};

/// Both together. Requires: `b` is not empty.
inline Moments Merge(const Moments& a, const Moments& b) {
  const double count = a.count + b.count;
  const double apart = b.mean - a.mean;
  const double share = b.count / count;
  return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
}

struct OffsetSums {
  double sum;      // of x - pivot
  double squares;  // of (x - pivot)^2
};

/// Two accumulators for either sum; the order depends on `count` alone. `ahead`: see MapElements.
template <class From, typename Acc>
OffsetSums SumsAround(Acc pivot, const typename From::Stored* x, std::int64_t count, std::int64_t ahead) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto pivots = hn::Set(d, pivot);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto squares0 = hn::Zero(d);
  auto squares1 = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    if (ahead != 0) {
      FetchToRead(x + i, ahead);
      FetchToRead(x + i + lanes, ahead);
    }
    const auto x0 = hn::Sub(From::Load(d, x + i), pivots);
    const auto x1 = hn::Sub(From::Load(d, x + i + lanes), pivots);
    sum0 = hn::Add(sum0, x0);
    sum1 = hn::Add(sum1, x1);
    squares0 = hn::MulAdd(x0, x0, squares0);
    squares1 = hn::MulAdd(x1, x1, squares1);
  }
  for (; i < count; i += lanes) {
    const bool whole = i + lanes <= count;
    const auto value = whole ? From::Load(d, x + i) : From::LoadPartial(d, x + i, count - i, pivot);
    const auto x0 = hn::Sub(value, pivots);
    sum0 = hn::Add(sum0, x0);
    squares0 = hn::MulAdd(x0, x0, squares0);
  }
  return {static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)))),
          static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(squares0, squares1))))};
}

template <class From, typename Acc>
Moments MomentsAround(Acc pivot, const typename From::Stored* x, std::int64_t count, std::int64_t ahead) {
  const OffsetSums sums = SumsAround<From, Acc>(pivot, x, count, ahead);
  const auto n = static_cast<double>(count);
  const double offset = sums.sum / n;
  const double squares = sums.squares - offset * sums.sum;
  return {n, static_cast<double>(pivot) + offset, squares > 0.0 || squares != squares ? squares : 0.0};
}

/// Of a block. Differences from an element of the block itself are exact where it is nearly constant, so neither a
/// large mean nor a constant block loses digits. Where that element happens to lie far out (beyond four deviations the
/// correction would cost more than four bits), differences from the mean just found take its place.
/// Requires: count > 0.
template <typename Acc>
Moments MomentsOfBlock(DataType dtype, const void* block, std::int64_t count, Acc* buffer, std::int64_t ahead) {
  Moments moments;
  ReadBlock(dtype, block, count, buffer, [&](auto elements, const auto* x) {
    using From = decltype(elements);
    const auto first = static_cast<Acc>(ReadScalar(dtype, block, 0));
    moments = MomentsAround<From, Acc>(first, x, count, ahead);
    const double away = moments.mean - static_cast<double>(first);
    if (!(away * away * moments.count <= 16.0 * moments.squares)) {
      moments = MomentsAround<From, Acc>(static_cast<Acc>(moments.mean), x, count, 0);
    }
  });
  return moments;
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

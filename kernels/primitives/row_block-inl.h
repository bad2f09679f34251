// Host rows, a block at a time: out of memory of any floating-point type into the accumulation type, through a function
// of each element, and back with one rounding. Included once per Highway target (hence "-inl" and the guard that
// toggles); needs foreach_target before it. How single vectors are read and written is in row_elements-inl.h.
//
// A row is worked on in blocks of kBlock elements that stay in the first-level cache. A block's elements are always
// combined in the same order, whatever its address: sums inside a block run in the accumulation type, sums of blocks
// run in f64, so that a row of 2^24 elements is summed as exactly as a short one.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_ROW_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_ROW_BLOCK_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_ROW_BLOCK_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_BLOCK_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/core/dtype.h"
#include "kernels/primitives/row_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// Elements of a block; a multiple of every target's vector. Fewer for a lone lane, whose chains of additions are long.
inline constexpr std::int64_t kBlock = HWY_TARGET == HWY_SCALAR ? 512 : 2048;

/// Room for one block in the accumulation type.
template <typename Acc>
struct BlockBuffer {
  HWY_ALIGN Acc values[kBlock];
};

/// The type whose bits are those of the accumulation type: blocks of it are used where they lie.
template <typename Acc>
constexpr DataType TypeOf() {
  return std::is_same_v<Acc, double> ? DataType::kFp64 : DataType::kFp32;
}

/// Element `index` of memory of `dtype`.
inline const void* At(DataType dtype, const void* data, std::int64_t index) {
  return static_cast<const std::byte*>(data) + index * static_cast<std::int64_t>(SizeOf(dtype));
}
inline void* At(DataType dtype, void* data, std::int64_t index) {
  return static_cast<std::byte*>(data) + index * static_cast<std::int64_t>(SizeOf(dtype));
}

/// Memory as Elements (row_elements-inl.h) take it.
template <class Elements>
const typename Elements::Stored* As(const void* block) {
  return static_cast<const typename Elements::Stored*>(block);
}
template <class Elements>
typename Elements::Stored* As(void* block) {
  return static_cast<typename Elements::Stored*>(block);
}

// Functions of elements are structs with
//   template <bool kWhole, class D> Vec<D> Apply(D d, Vec<D> x, int64 i, int64 count) const
// where x are elements [i, i + count) of the block, count == Lanes(d) if kWhole. They read further operands by:

/// Lanes [i, i + count) of a second operand.
template <bool kWhole, class D, typename Acc = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Operand(D d, const Acc* values, std::int64_t i, std::int64_t count) {
  if constexpr (kWhole) {
    return hn::LoadU(d, values + i);
  } else {
    return SameElements<Acc>::LoadPartial(d, values + i, count, Acc{0});
  }
}

/// to[i] = f(from[i]), each rounded once. `to` may be `from`. `ahead`, here and below: how many bytes after what is
/// read memory is fetched for later; 0: none is.
template <class From, class To, typename Acc, class F>
void MapElements(const typename From::Stored* from, std::int64_t count, const F& f, typename To::Stored* to,
                 std::int64_t ahead) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    if (ahead != 0) {
      FetchToRead(from + i, ahead);
    }
    FetchToWrite(to + i);
    To::Store(f.template Apply<true>(d, From::Load(d, from + i), i, lanes), d, to + i);
  }
  if (i < count) {
    const std::int64_t left = count - i;
    const auto last = From::LoadPartial(d, from + i, left, Acc{0});
    To::StorePartial(f.template Apply<false>(d, last, i, left), d, to + i, left);
  }
}

/// The sum of f(x) over a block, f(fill) being 0. Four accumulators hide the latency of the addition and keep the
/// chains short, which is what bounds the error; the order depends on `count` alone. f: template <bool kWhole, class D>
/// Vec<D> Add(D d, Vec<D> x, int64 i, int64 count, Vec<D> sum) const
template <class From, typename Acc, class F>
double SumElements(const typename From::Stored* x, std::int64_t count, Acc fill, const F& f, std::int64_t ahead) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    if (ahead != 0) {
      FetchToRead(x + i, ahead);
      FetchToRead(x + i + lanes, ahead);
      FetchToRead(x + i + 2 * lanes, ahead);
      FetchToRead(x + i + 3 * lanes, ahead);
    }
    sum0 = f.template Add<true>(d, From::Load(d, x + i), i, lanes, sum0);
    sum1 = f.template Add<true>(d, From::Load(d, x + i + lanes), i + lanes, lanes, sum1);
    sum2 = f.template Add<true>(d, From::Load(d, x + i + 2 * lanes), i + 2 * lanes, lanes, sum2);
    sum3 = f.template Add<true>(d, From::Load(d, x + i + 3 * lanes), i + 3 * lanes, lanes, sum3);
  }
  for (; i + lanes <= count; i += lanes) {
    sum0 = f.template Add<true>(d, From::Load(d, x + i), i, lanes, sum0);
  }
  if (i < count) {
    sum1 = f.template Add<false>(d, From::LoadPartial(d, x + i, count - i, fill), i, count - i, sum1);
  }
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
}

struct Identity {
  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Apply(D /*d*/, hn::Vec<D> x, std::int64_t /*i*/, std::int64_t /*count*/) const {
    return x;
  }
};

/// A block in the accumulation type: its own memory where it has that type, otherwise `buffer`, filled.
/// Requires: room for `count` elements in `buffer`, as everywhere below.
template <typename Acc>
const Acc* LoadBlock(DataType dtype, const void* block, std::int64_t count, Acc* buffer, std::int64_t ahead = 0) {
  if (dtype == TypeOf<Acc>()) {
    return static_cast<const Acc*>(block);
  }
  const bool done = WithElements<Acc>(dtype, [&](auto elements) {
    using From = decltype(elements);
    MapElements<From, SameElements<Acc>, Acc>(As<From>(block), count, Identity{}, buffer, ahead);
  });
  if (!done) {
    for (std::int64_t i = 0; i < count; ++i) {
      buffer[i] = static_cast<Acc>(ReadScalar(dtype, block, i));
    }
  }
  return buffer;
}

/// y becomes f of x, each element rounded once. x may be y, or `buffer`.
template <typename Acc, class F>
void MapToBlock(const Acc* x, std::int64_t count, const F& f, DataType y_type, void* y, Acc* buffer,
                std::int64_t ahead = 0) {
  const bool done = WithElements<Acc>(y_type, [&](auto elements) {
    using To = decltype(elements);
    MapElements<SameElements<Acc>, To, Acc>(x, count, f, As<To>(y), ahead);
  });
  if (!done) {
    MapElements<SameElements<Acc>, SameElements<Acc>, Acc>(x, count, f, buffer, ahead);
    for (std::int64_t i = 0; i < count; ++i) {
      WriteScalar(y_type, buffer[i], y, i);
    }
  }
}

/// The same of x of any type. y may be x where they have one type.
template <typename Acc, class F>
void MapBlock(DataType x_type, const void* x, std::int64_t count, const F& f, DataType y_type, void* y, Acc* buffer,
              std::int64_t ahead = 0) {
  const bool done = x_type == y_type && WithElements<Acc>(x_type, [&](auto elements) {
                      using Same = decltype(elements);
                      MapElements<Same, Same, Acc>(As<Same>(x), count, f, As<Same>(y), ahead);
                    });
  if (!done) {
    const Acc* const loaded = LoadBlock(x_type, x, count, buffer, ahead);
    MapToBlock(loaded, count, f, y_type, y, buffer, loaded == buffer ? 0 : ahead);
  }
}

/// Calls f(elements, block) for a block to be read only: as it lies, or from `buffer` if its type has to be converted.
template <typename Acc, class F>
void ReadBlock(DataType dtype, const void* block, std::int64_t count, Acc* buffer, const F& f) {
  const bool done = WithElements<Acc>(dtype, [&](auto elements) { f(elements, As<decltype(elements)>(block)); });
  if (!done) {
    f(SameElements<Acc>{}, LoadBlock(dtype, block, count, buffer));
  }
}

/// SumElements of a block of any type.
template <typename Acc, class F>
double SumBlock(DataType dtype, const void* block, std::int64_t count, Acc fill, const F& f, Acc* buffer,
                std::int64_t ahead = 0) {
  double sum = 0.0;
  ReadBlock(dtype, block, count, buffer, [&](auto elements, const auto* x) {
    sum = SumElements<decltype(elements), Acc>(x, count, fill, f, ahead);
  });
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

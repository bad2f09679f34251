// Host rows, a block at a time: out of memory of any floating-point type into the accumulation type, and back with one
// rounding. Included once per Highway target (hence "-inl" and the guard that toggles); needs foreach_target before it.
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
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/core/dtype.h"
#include "kernels/core/float16.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Elements of a block; a multiple of every target's vector.
inline constexpr std::int64_t kBlock = 2048;

/// Room for one block in the accumulation type.
template <typename Acc>
struct BlockBuffer {
  HWY_ALIGN Acc values[kBlock];
};

/// The type whose bits are `dtype`, when that is the accumulation type itself: such blocks are used where they lie.
template <typename Acc>
constexpr DataType TypeOf() {
  return std::is_same_v<Acc, double> ? DataType::kFp64 : DataType::kFp32;
}

/// The first `count` lanes from `from`, the others `fill`. Never reads beyond.
template <class D, typename Acc = hn::TFromD<D>>
hn::Vec<D> LoadPartial(D d, const Acc* from, std::int64_t count, Acc fill) {
  HWY_ALIGN Acc lanes[HWY_MAX_BYTES / sizeof(Acc)];
  hn::Store(hn::Set(d, fill), d, lanes);
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(Acc));
  return hn::Load(d, lanes);
}

/// Writes the first `count` lanes only.
template <class D, typename Acc = hn::TFromD<D>>
void StorePartial(hn::Vec<D> value, D d, Acc* to, std::int64_t count) {
  HWY_ALIGN Acc lanes[HWY_MAX_BYTES / sizeof(Acc)];
  hn::Store(value, d, lanes);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(Acc));
}

inline double ReadScalar(DataType dtype, const void* data, std::int64_t index) {
  switch (dtype) {
    case DataType::kFp16:
      return static_cast<double>(Fp16ToFloat(static_cast<const std::uint16_t*>(data)[index]));
    case DataType::kBf16:
      return static_cast<double>(Bf16ToFloat(static_cast<const std::uint16_t*>(data)[index]));
    case DataType::kFp32:
      return static_cast<double>(static_cast<const float*>(data)[index]);
    default:
      return static_cast<const double*>(data)[index];
  }
}

template <typename Acc>
void WriteScalar(DataType dtype, Acc value, void* data, std::int64_t index) {
  switch (dtype) {
    case DataType::kFp16:
      static_cast<std::uint16_t*>(data)[index] = DoubleToFp16(static_cast<double>(value));
      return;
    case DataType::kBf16:
      static_cast<std::uint16_t*>(data)[index] = DoubleToBf16(static_cast<double>(value));
      return;
    case DataType::kFp32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      return;
    default:
      static_cast<double*>(data)[index] = static_cast<double>(value);
  }
}

// Whole vectors between 16-bit memory and f32; each returns how many elements it did, and the rest go one by one.
// Where the machine has no conversions of its own (before AVX2), Highway's replacements do not keep NaN: none are done.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
inline constexpr bool kHasHalfConversions = false;
#else
inline constexpr bool kHasHalfConversions = true;
#endif

inline std::int64_t WidenFp16(const std::uint16_t* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  if constexpr (kHasHalfConversions) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> dh;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const hn::Rebind<std::uint16_t, decltype(d)> du16;
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(du16, from + i))), d, to + i);
    }
  }
  return i;
}

inline std::int64_t WidenBf16(const std::uint16_t* from, std::int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::uint16_t, decltype(d)> du16;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto upper = hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(du16, from + i)));
    hn::StoreU(hn::BitCast(d, upper), d, to + i);
  }
  return i;
}

inline std::int64_t NarrowFp16(const float* from, std::int64_t count, std::uint16_t* to) {
  std::int64_t i = 0;
  if constexpr (kHasHalfConversions) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> dh;
    const hn::Rebind<std::uint16_t, decltype(d)> du16;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(hn::BitCast(du16, hn::DemoteTo(dh, hn::LoadU(d, from + i))), du16, to + i);
    }
  }
  return i;
}

/// Highway's own f32 to bf16 truncates; this rounds to nearest even and keeps NaN, as FloatToBf16 does.
inline std::int64_t NarrowBf16(const float* from, std::int64_t count, std::uint16_t* to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::uint16_t, decltype(d)> du16;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto one = hn::Set(du, 1u);
  const auto below_half = hn::Set(du, 0x7FFFu);
  const auto quiet = hn::Set(du, 0x0040u);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, from + i);
    const auto bits = hn::BitCast(du, value);
    const auto kept = hn::ShiftRight<16>(bits);
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(below_half, hn::And(kept, one))));
    const auto is_nan = hn::RebindMask(du, hn::IsNaN(value));
    const auto result = hn::IfThenElse(is_nan, hn::Or(kept, quiet), rounded);
    hn::StoreU(hn::DemoteTo(du16, hn::BitCast(di, result)), du16, to + i);
  }
  return i;
}

/// Elements [first, first + count) of a row, in the accumulation type: the row's own memory where it has that type,
/// otherwise `buffer`, filled. Requires: 0 <= count <= kBlock.
template <typename Acc>
const Acc* LoadBlock(DataType dtype, const void* row, std::int64_t first, std::int64_t count, Acc* buffer) {
  if (dtype == TypeOf<Acc>()) {
    return static_cast<const Acc*>(row) + first;
  }
  std::int64_t done = 0;
  if constexpr (std::is_same_v<Acc, float>) {
    if (dtype == DataType::kFp16) {
      done = WidenFp16(static_cast<const std::uint16_t*>(row) + first, count, buffer);
    } else if (dtype == DataType::kBf16) {
      done = WidenBf16(static_cast<const std::uint16_t*>(row) + first, count, buffer);
    }
  }
  for (; done < count; ++done) {
    buffer[done] = static_cast<Acc>(ReadScalar(dtype, row, first + done));
  }
  return buffer;
}

/// Where a block of results is to be computed: in the row itself where it has the accumulation type, else in `buffer`.
template <typename Acc>
Acc* PlaceOfBlock(DataType dtype, void* row, std::int64_t first, Acc* buffer) {
  return dtype == TypeOf<Acc>() ? static_cast<Acc*>(row) + first : buffer;
}

/// Brings results computed at PlaceOfBlock into the row, each rounded once.
template <typename Acc>
void StoreBlock(DataType dtype, const Acc* buffer, std::int64_t count, void* row, std::int64_t first) {
  if (dtype == TypeOf<Acc>()) {
    return;
  }
  std::int64_t done = 0;
  if constexpr (std::is_same_v<Acc, float>) {
    if (dtype == DataType::kFp16) {
      done = NarrowFp16(buffer, count, static_cast<std::uint16_t*>(row) + first);
    } else if (dtype == DataType::kBf16) {
      done = NarrowBf16(buffer, count, static_cast<std::uint16_t*>(row) + first);
    }
  }
  for (; done < count; ++done) {
    WriteScalar(dtype, buffer[done], row, first + done);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

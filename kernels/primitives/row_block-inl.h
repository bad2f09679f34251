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

// Whether masked loads and stores of 4- and 8-byte lanes leave alone what the mask excludes. Highway says so of all
// lanes or of none; AVX2's own instructions do it for these.
#if HWY_MEM_OPS_MIGHT_FAULT == 0 || HWY_TARGET == HWY_AVX2
inline constexpr bool kMasksProtect = true;
#else
inline constexpr bool kMasksProtect = false;
#endif

/// The first `count` lanes from `from`, the others `fill`. Never reads beyond. Requires: 0 < count < Lanes(d).
template <class D, typename Acc = hn::TFromD<D>>
hn::Vec<D> LoadPartial(D d, const Acc* from, std::int64_t count, Acc fill) {
  if constexpr (kMasksProtect) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(count));
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), hn::Set(d, fill));
  }
  HWY_ALIGN Acc lanes[HWY_MAX_BYTES / sizeof(Acc)];
  hn::Store(hn::Set(d, fill), d, lanes);
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(Acc));
  return hn::Load(d, lanes);
}

/// Writes the first `count` lanes only. Requires: as above.
template <class D, typename Acc = hn::TFromD<D>>
void StorePartial(hn::Vec<D> value, D d, Acc* to, std::int64_t count) {
  if constexpr (kMasksProtect) {
    hn::BlendedStore(value, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
    return;
  }
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

// Between 16-bit memory and f32: each function converts as many elements as make whole vectors of `d`, from element
// `done` on, and returns how many are done then.
// Where the machine has no conversions of FP16 (before AVX2), Highway's replacements do not keep NaN: none are done.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
inline constexpr bool kHasFp16Conversions = false;
#else
inline constexpr bool kHasFp16Conversions = true;
#endif

template <class D>
std::int64_t WidenFp16(D d, const std::uint16_t* from, std::int64_t done, std::int64_t count, float* to) {
  if constexpr (kHasFp16Conversions) {
    const hn::Rebind<hwy::float16_t, D> d_half;
    const hn::Rebind<std::uint16_t, D> d_bits;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; done + lanes <= count; done += lanes) {
      hn::StoreU(hn::PromoteTo(d, hn::BitCast(d_half, hn::LoadU(d_bits, from + done))), d, to + done);
    }
  }
  return done;
}

template <class D>
std::int64_t WidenBf16(D d, const std::uint16_t* from, std::int64_t done, std::int64_t count, float* to) {
  const hn::Rebind<std::uint16_t, D> d_bits;
  const hn::RebindToUnsigned<D> du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; done + lanes <= count; done += lanes) {
    const auto upper = hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(d_bits, from + done)));
    hn::StoreU(hn::BitCast(d, upper), d, to + done);
  }
  return done;
}

template <class D>
std::int64_t NarrowFp16(D d, const float* from, std::int64_t done, std::int64_t count, std::uint16_t* to) {
  if constexpr (kHasFp16Conversions) {
    const hn::Rebind<hwy::float16_t, D> d_half;
    const hn::Rebind<std::uint16_t, D> d_bits;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; done + lanes <= count; done += lanes) {
      hn::StoreU(hn::BitCast(d_bits, hn::DemoteTo(d_half, hn::LoadU(d, from + done))), d_bits, to + done);
    }
  }
  return done;
}

/// Highway's own f32 to bf16 truncates; this rounds to nearest even and keeps NaN, as FloatToBf16 does.
template <class D>
std::int64_t NarrowBf16(D d, const float* from, std::int64_t done, std::int64_t count, std::uint16_t* to) {
  const hn::Rebind<std::uint16_t, D> d_bits;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto one = hn::Set(du, 1u);
  const auto below_half = hn::Set(du, 0x7FFFu);
  const auto quiet = hn::Set(du, 0x0040u);
  for (; done + lanes <= count; done += lanes) {
    const auto value = hn::LoadU(d, from + done);
    const auto bits = hn::BitCast(du, value);
    const auto kept = hn::ShiftRight<16>(bits);
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(below_half, hn::And(kept, one))));
    const auto is_nan = hn::RebindMask(du, hn::IsNaN(value));
    const auto result = hn::IfThenElse(is_nan, hn::Or(kept, quiet), rounded);
    hn::StoreU(hn::DemoteTo(d_bits, hn::BitCast(di, result)), d_bits, to + done);
  }
  return done;
}

/// Widens whole vectors, then what is left by vectors of four, and returns how many elements are done.
inline std::int64_t Widen16(DataType dtype, const std::uint16_t* from, std::int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> d4;
  if (dtype == DataType::kFp16) {
    return WidenFp16(d4, from, WidenFp16(d, from, 0, count, to), count, to);
  }
  return WidenBf16(d4, from, WidenBf16(d, from, 0, count, to), count, to);
}

inline std::int64_t Narrow16(DataType dtype, const float* from, std::int64_t count, std::uint16_t* to) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> d4;
  if (dtype == DataType::kFp16) {
    return NarrowFp16(d4, from, NarrowFp16(d, from, 0, count, to), count, to);
  }
  return NarrowBf16(d4, from, NarrowBf16(d, from, 0, count, to), count, to);
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
    if (SizeOf(dtype) == 2) {
      done = Widen16(dtype, static_cast<const std::uint16_t*>(row) + first, count, buffer);
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
    if (SizeOf(dtype) == 2) {
      done = Narrow16(dtype, buffer, count, static_cast<std::uint16_t*>(row) + first);
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

// Memory of any floating-point type, read and written by Highway as vectors of f32 or f64: widening is exact, narrowing
// rounds once, to nearest even, NaN stays NaN, and nothing is flushed. Included once per target, after foreach_target.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_ROW_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_ROW_ELEMENTS_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_ROW_ELEMENTS_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_ELEMENTS_INL_H_
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

// Whether masked loads and stores of 4- and 8-byte lanes leave alone what the mask excludes. Highway says so of all
// lanes or of none; AVX2's own instructions do it for these.
#if HWY_MEM_OPS_MIGHT_FAULT == 0 || HWY_TARGET == HWY_AVX2
inline constexpr bool kMasksProtect = true;
#else
inline constexpr bool kMasksProtect = false;
#endif

// Where the machine has no conversions of FP16 (before AVX2), Highway's replacements do not keep NaN: there FP16 goes
// through ReadScalar and WriteScalar. Highway has HWY_SSE2 since its version 1.0.4.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR || \
    (defined(HWY_SSE2) && HWY_TARGET == HWY_SSE2)
inline constexpr bool kHasFp16Conversions = false;
#else
inline constexpr bool kHasFp16Conversions = true;
#endif

// Hardware prefetchers stop at the end of every page, and a loop then waits for the translation of the next one and for
// its first lines: rows in memory took up to twice as long as with these. Addresses beyond the end of a tensor do no
// harm.

/// How far ahead of a loop lines are fetched that are read in order for the first time, or written.
inline constexpr std::int64_t kReadAheadBytes = 4096;
inline constexpr std::int64_t kWriteAheadBytes = 2048;

/// Asks for the line `bytes` after `at`, to be read: into the second-level cache, which has room for it and from where
/// the processor brings it on in time. Into the first it took up to 2.3 times as long (Zen 5, columns in memory).
HWY_INLINE void FetchToRead(const void* at, std::int64_t bytes) {
  __builtin_prefetch(static_cast<const std::byte*>(at) + bytes, 0, 2);
}
/// Asks for the line kWriteAheadBytes after `at`, to be written.
HWY_INLINE void FetchToWrite(const void* at) {
  __builtin_prefetch(static_cast<const std::byte*>(at) + kWriteAheadBytes, 1, 3);
}

// Each of the following structs is a way to read and write memory. `Load` and `Store` move a whole vector of `d`;
// `LoadPartial` and `StorePartial` move its first `count` lanes, 0 < count < Lanes(d), and touch nothing beyond: what
// is not read becomes `fill`. `Stored` is what lies in memory, `Value` what it is read as.

/// Memory of the type that is computed in.
template <typename Acc>
struct SameElements {
  using Stored = Acc;
  using Value = Acc;

  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const Acc* from) {
    return hn::LoadU(d, from);
  }
  template <class D>
  static HWY_INLINE void Store(hn::Vec<D> value, D d, Acc* to) {
    hn::StoreU(value, d, to);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> LoadPartial(D d, const Acc* from, std::int64_t count, Acc fill) {
    if constexpr (kMasksProtect) {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(count));
      return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), hn::Set(d, fill));
    }
    HWY_ALIGN Acc lanes[HWY_MAX_BYTES / sizeof(Acc)];
    hn::Store(hn::Set(d, fill), d, lanes);
    std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(Acc));
    return hn::Load(d, lanes);
  }
  template <class D>
  static HWY_INLINE void StorePartial(hn::Vec<D> value, D d, Acc* to, std::int64_t count) {
    if constexpr (kMasksProtect) {
      hn::BlendedStore(value, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
      return;
    }
    HWY_ALIGN Acc lanes[HWY_MAX_BYTES / sizeof(Acc)];
    hn::Store(value, d, lanes);
    std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(Acc));
  }
};

/// What 16-bit types have in common; `Type` makes f32 of their bits and back.
template <class Type>
struct HalfElements {
  using Stored = std::uint16_t;
  using Value = float;

  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const std::uint16_t* from) {
    return Type::Widened(d, hn::LoadU(Bits<D>(), from));
  }
  template <class D>
  static HWY_INLINE void Store(hn::Vec<D> value, D d, std::uint16_t* to) {
    hn::StoreU(Type::Narrowed(d, value), Bits<D>(), to);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> LoadPartial(D d, const std::uint16_t* from, std::int64_t count, float fill) {
    const auto n = static_cast<std::size_t>(count);
    const auto mask = hn::FirstN(d, n);
    if constexpr (HWY_MEM_OPS_MIGHT_FAULT == 0) {
      const Bits<D> d_bits;
      const auto bits = hn::MaskedLoad(hn::FirstN(d_bits, n), d_bits, from);
      return hn::IfThenElse(mask, Type::Widened(d, bits), hn::Set(d, fill));
    }
    HWY_ALIGN std::uint16_t lanes[HWY_MAX_BYTES / sizeof(float)] = {};
    std::memcpy(lanes, from, n * sizeof(std::uint16_t));
    return hn::IfThenElse(mask, Load(d, lanes), hn::Set(d, fill));
  }
  template <class D>
  static HWY_INLINE void StorePartial(hn::Vec<D> value, D d, std::uint16_t* to, std::int64_t count) {
    const auto n = static_cast<std::size_t>(count);
    if constexpr (HWY_MEM_OPS_MIGHT_FAULT == 0) {
      const Bits<D> d_bits;
      hn::BlendedStore(Type::Narrowed(d, value), hn::FirstN(d_bits, n), d_bits, to);
      return;
    }
    HWY_ALIGN std::uint16_t lanes[HWY_MAX_BYTES / sizeof(float)];
    Store(value, d, lanes);
    std::memcpy(to, lanes, n * sizeof(std::uint16_t));
  }

 protected:
  template <class D>
  using Bits = hn::Rebind<std::uint16_t, D>;
};

struct Fp16Elements : HalfElements<Fp16Elements> {
  template <class D>
  static HWY_INLINE hn::Vec<D> Widened(D d, hn::Vec<Bits<D>> bits) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
  }
  template <class D>
  static HWY_INLINE hn::Vec<Bits<D>> Narrowed(D /*d*/, hn::Vec<D> value) {
    return hn::BitCast(Bits<D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), value));
  }
};

struct Bf16Elements : HalfElements<Bf16Elements> {
  template <class D>
  static HWY_INLINE hn::Vec<D> Widened(D d, hn::Vec<Bits<D>> bits) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), bits)));
  }
  /// Highway's own f32 to bf16 truncates; this rounds to nearest even and keeps NaN, as FloatToBf16 does.
  template <class D>
  static HWY_INLINE hn::Vec<Bits<D>> Narrowed(D /*d*/, hn::Vec<D> value) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(du, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
    const auto rounded = hn::Add(bits, hn::Add(hn::Set(du, 0x7FFFU), odd));
    const auto quiet = hn::Or(bits, hn::Set(du, 0x400000U));
    const auto result = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded);
    return hn::DemoteTo(Bits<D>(), hn::BitCast(di, hn::ShiftRight<16>(result)));
  }
};

/// Calls f(elements) with the way to read and write `dtype` by vectors of Acc, and returns true; false where there is
/// none, and elements have to be converted one by one.
template <typename Acc, class F>
bool WithElements(DataType dtype, const F& f) {
  constexpr bool kF32 = std::is_same_v<Acc, float>;
  if (dtype == (kF32 ? DataType::kFp32 : DataType::kFp64)) {
    f(SameElements<Acc>{});
    return true;
  }
  if constexpr (kF32) {
    if (dtype == DataType::kBf16) {
      f(Bf16Elements{});
      return true;
    }
    if (kHasFp16Conversions && dtype == DataType::kFp16) {
      f(Fp16Elements{});
      return true;
    }
  }
  return false;
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

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

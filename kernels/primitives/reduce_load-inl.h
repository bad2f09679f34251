// Blocks of the elements that reductions take, of any type, as the types they are computed in. Beside row_block-inl.h,
// which knows the four floating-point types of the norms; here are FP8 and the integers.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/core/dtype.h"
#include "kernels/primitives/fp8_values.h"
#include "kernels/primitives/row_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Asks for the first lines of the pages that begin in the block behind this one. The processor fetches the others in
/// time by itself, and to ask for them, too, would slow down what comes out of a cache.
inline void FetchPages(const std::byte* block, std::int64_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::int64_t kLines = 4;
  constexpr std::int64_t kLine = 64;
  const auto address = reinterpret_cast<std::uintptr_t>(block) + kReadAheadBytes;
  const auto to_page = static_cast<std::int64_t>((kPage - address % kPage) % kPage);
  for (std::int64_t page = to_page; page < bytes; page += static_cast<std::int64_t>(kPage)) {
    for (std::int64_t line = 0; line < kLines; ++line) {
      FetchToRead(block + page + line * kLine, kReadAheadBytes);
    }
  }
}

/// `count` elements of T at `from` as the integer or floating-point type Work, one by one.
template <typename T, typename Work>
const Work* ConvertBlock(const T* from, std::int64_t count, Work* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<Work>(from[i]);  // NOLINT(bugprone-signed-char-misuse): INT8 is a number, no character
  }
  return to;
}

/// A vector's elements, which are of its own type or of a narrower one that it holds.
template <class D, typename Work>
HWY_INLINE hn::Vec<D> LoadWide(D d, const Work* from) {
  if constexpr (std::is_same_v<Work, hn::TFromD<D>>) {
    return hn::LoadU(d, from);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<Work, D>(), from));
  }
}

/// 8-bit integers as i32, whole vectors first.
template <typename T>
const std::int32_t* WidenIntegers(const T* from, std::int64_t count, std::int32_t* to) {
  const hn::ScalableTag<std::int32_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t done = 0;
  for (; done + lanes <= count; done += lanes) {
    hn::StoreU(LoadWide(d, from + done), d, to + done);
  }
  ConvertBlock(from + done, count - done, to + done);
  return to;
}

/// Elements [first, first + count) at `data` as Work: f32, f64, i32 or i64, whichever holds them. They are read where
/// they lie if Work is their own type, and come in `buffer` otherwise. Requires: 0 <= count <= kBlock.
template <typename Work>
const Work* LoadElements(DataType dtype, const void* data, std::int64_t first, std::int64_t count, Work* buffer) {
  const auto* const bytes = static_cast<const std::uint8_t*>(data) + first * static_cast<std::int64_t>(SizeOf(dtype));
  switch (dtype) {
    case DataType::kInt8:
      if constexpr (std::is_same_v<Work, std::int32_t>) {
        return WidenIntegers(reinterpret_cast<const std::int8_t*>(bytes), count, buffer);
      }
      return ConvertBlock(reinterpret_cast<const std::int8_t*>(bytes), count, buffer);
    case DataType::kUint8:
      if constexpr (std::is_same_v<Work, std::int32_t>) {
        return WidenIntegers(bytes, count, buffer);
      }
      return ConvertBlock(bytes, count, buffer);
    case DataType::kInt32:
      if constexpr (std::is_same_v<Work, std::int32_t>) {
        return reinterpret_cast<const std::int32_t*>(bytes);
      }
      return ConvertBlock(reinterpret_cast<const std::int32_t*>(bytes), count, buffer);
    case DataType::kInt64:
      if constexpr (std::is_same_v<Work, std::int64_t>) {
        return reinterpret_cast<const std::int64_t*>(bytes);
      }
      return ConvertBlock(reinterpret_cast<const std::int64_t*>(bytes), count, buffer);
    case DataType::kFp8E4m3:
    case DataType::kFp8E5m2: {
      const float* const values = Fp8Values(dtype);
      for (std::int64_t i = 0; i < count; ++i) {
        buffer[i] = static_cast<Work>(values[bytes[i]]);
      }
      return buffer;
    }
    default:
      if constexpr (std::is_floating_point_v<Work>) {
        return LoadBlock(dtype, bytes, count, buffer);
      }
      return buffer;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard

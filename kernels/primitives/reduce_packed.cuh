// Elements of any type that reductions take, as they lie in memory, and on their way out of it.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PACKED_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PACKED_CUH_

#include <cuda_fp8.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// kLength elements as they lie in memory, in whole words: a register each. Elements come out one at a time, when they
/// are needed; narrow ones as an array of their own would take a register each from the start.
template <typename T, int kLength>
struct Packed {
  static constexpr int kBytes = static_cast<int>(sizeof(T)) * kLength;
  static constexpr int kWords = (kBytes + 3) / 4;
  unsigned words[kWords];

  /// Requires: `from` in device memory, aligned to kBytes, and not written by this launch. Vectors of 16 bytes say that
  /// nobody will ask the first-level cache for them again: up to 2 % of a sum on an H200, and 5 % of an argmax.
  static __device__ __forceinline__ Packed Load(const T* from) {
    Packed packed{};
    if constexpr (kBytes == 16) {
      asm("ld.global.nc.L1::evict_first.v4.u32 {%0, %1, %2, %3}, [%4];"
          : "=r"(packed.words[0]), "=r"(packed.words[1]), "=r"(packed.words[2]), "=r"(packed.words[3])
          : "l"(from));
    } else {
      using Unit = std::conditional_t<
          kBytes == 8, uint2,
          std::conditional_t<kBytes == 4, unsigned, std::conditional_t<kBytes == 2, std::uint16_t, std::uint8_t>>>;
      static_assert(sizeof(Unit) == kBytes);
      const Unit unit = __ldg(reinterpret_cast<const Unit*>(from));
      memcpy(packed.words, &unit, sizeof(unit));
    }
    return packed;
  }

  /// The same from wherever an element begins, in aligned words: one more, unless it lies aligned, which the next
  /// thread reads as its first. Reads no word that holds no element. Requires: whole words.
  static __device__ __forceinline__ Packed LoadUnaligned(const T* from) {
    static_assert(kBytes % 4 == 0);
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const auto* const aligned = reinterpret_cast<const unsigned*>(address & ~std::uintptr_t{3});
    const auto bits = static_cast<unsigned>(address & 3) * 8;
    Packed packed;
    packed.words[0] = __ldg(aligned);
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const bool last = i + 1 == kWords;
      if (!last) {
        packed.words[i + 1] = __ldg(aligned + i + 1);
      }
      if constexpr (sizeof(T) < 4) {
        const unsigned next = last ? __ldg(aligned + (bits == 0 ? i : kWords)) : packed.words[i + 1];
        packed.words[i] = __funnelshift_r(packed.words[i], next, bits);
      }
    }
    return packed;
  }

  static __device__ __forceinline__ Packed Filled(T value) {
    Packed packed{};
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      packed.Set(j, value);
    }
    return packed;
  }

  __device__ __forceinline__ T Get(int j) const {
    T value;
    if constexpr (sizeof(T) >= 4) {
      memcpy(&value, &words[j * static_cast<int>(sizeof(T) / 4)], sizeof(T));
    } else {
      constexpr int kInWord = 4 / static_cast<int>(sizeof(T));
      const unsigned bits = words[j / kInWord] >> (8 * sizeof(T) * (j % kInWord));
      memcpy(&value, &bits, sizeof(T));
    }
    return value;
  }

  /// Replaces all but the first `count` elements.
  __device__ __forceinline__ void FillFrom(int count, T fill) {
    const Packed filled = Filled(fill);
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const int bytes = count * static_cast<int>(sizeof(T)) - 4 * i;
      const unsigned kept = bytes >= 4 ? ~0U : bytes > 0 ? ~0U >> (32 - 8 * bytes) : 0U;
      words[i] = (words[i] & kept) | (filled.words[i] & ~kept);
    }
  }

  /// Requires: element j is all zero bits.
  __device__ __forceinline__ void Set(int j, T value) {
    if constexpr (sizeof(T) >= 4) {
      memcpy(&words[j * static_cast<int>(sizeof(T) / 4)], &value, sizeof(T));
    } else {
      constexpr int kInWord = 4 / static_cast<int>(sizeof(T));
      unsigned bits = 0;
      memcpy(&bits, &value, sizeof(T));
      words[j / kInWord] |= bits << (8 * sizeof(T) * (j % kInWord));
    }
  }
};

template <typename T>
inline constexpr bool kIsFp8 = std::is_same_v<T, __nv_fp8_e4m3> || std::is_same_v<T, __nv_fp8_e5m2>;

/// Elements j and j + 1 of FP8 as FP16, which has all their values. Requires: j is even.
template <typename T, int kLength>
__device__ __forceinline__ __half2 HalvesOfBytes(const Packed<T, kLength>& packed, int j) {
  static_assert(kIsFp8<T>);
  const unsigned word = packed.words[j / 4];
  if constexpr (std::is_same_v<T, __nv_fp8_e5m2>) {  // the upper half of an FP16
    const unsigned halves = __byte_perm(word, 0, j % 4 == 0 ? 0x1404 : 0x3424);
    __half2 pair;
    memcpy(&pair, &halves, sizeof(pair));
    return pair;
  } else {
    const auto pair = static_cast<__nv_fp8x2_storage_t>(word >> (8 * (j % 4)));
    return __half2(__nv_cvt_fp8x2_to_halfraw2(pair, __NV_E4M3));
  }
}

/// The elements, widened. FP8 goes by pairs, which one instruction converts where the device has it.
template <typename T, int kLength, typename Acc>
__device__ __forceinline__ void WidenPacked(const Packed<T, kLength>& packed, Acc (&to)[kLength]) {
  if constexpr (kIsFp8<T> && kLength % 2 == 0) {
#pragma unroll
    for (int j = 0; j < kLength; j += 2) {
      const float2 wide = __half22float2(HalvesOfBytes(packed, j));
      to[j] = static_cast<Acc>(wide.x);
      to[j + 1] = static_cast<Acc>(wide.y);
    }
  } else {
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      to[j] = Widen<Acc>(packed.Get(j));
    }
  }
}

/// Adds value i + half to value i, until one is left; half: of the power of two that kCount fits into. Values that are
/// missing count as zeros: those at the end change no bit.
template <int kCount, typename T, int kRoom>
__device__ __forceinline__ T SumPairwise(T (&values)[kRoom]) {
  if constexpr (kCount > 1) {
    constexpr int kHalf = kCount > 16 ? 16 : kCount > 8 ? 8 : kCount > 4 ? 4 : kCount > 2 ? 2 : 1;
    static_assert(kCount <= 2 * kHalf);
#pragma unroll
    for (int i = 0; i + kHalf < kCount; ++i) {
      values[i] += values[i + kHalf];
    }
    return SumPairwise<kHalf>(values);
  } else {
    return values[0];
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PACKED_CUH_

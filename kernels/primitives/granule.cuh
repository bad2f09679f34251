// Sixteen bytes of memory as a thread moves them: packed elements of any floating-point type, widened for arithmetic
// and narrowed once at the end. They stay packed in 32-bit registers, since a 16-bit element alone would take a whole
// one.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// The device's name of a type.
template <typename T>
inline constexpr DataType kDataTypeOf = std::is_same_v<T, __half>          ? DataType::kFp16
                                        : std::is_same_v<T, __nv_bfloat16> ? DataType::kBf16
                                        : std::is_same_v<T, float>         ? DataType::kFp32
                                                                           : DataType::kFp64;

/// Lies on a 16-byte boundary of memory.
struct alignas(16) Granule {
  unsigned words[4];
};

template <typename T>
inline constexpr int kElementsOfGranule = 16 / static_cast<int>(sizeof(T));

/// Device memory only: without that promise the compiler takes the slower path that finds out.
__device__ __forceinline__ Granule LoadGranule(const void* from) {
  __builtin_assume(__isGlobal(from));
  return *static_cast<const Granule*>(from);
}

/// The same of memory that nobody writes while the kernel runs: such reads need not keep their place among writes.
__device__ __forceinline__ Granule LoadConstantGranule(const void* from) {
  const uint4 words = __ldg(static_cast<const uint4*>(from));
  return {{words.x, words.y, words.z, words.w}};
}

__device__ __forceinline__ void StoreGranule(void* to, const Granule& granule) {
  __builtin_assume(__isGlobal(to));
  *static_cast<Granule*>(to) = granule;
}

/// Makes the compiler forget how the words came about: it must neither keep widened copies of the elements, which take
/// twice the registers, nor carry 16-bit elements one by one through a branch, which would have to wait for every load.
__device__ __forceinline__ void Opaque(Granule& granule) {
  asm volatile("" : "+r"(granule.words[0]), "+r"(granule.words[1]), "+r"(granule.words[2]), "+r"(granule.words[3]));
}

/// `value` in every place.
template <typename T>
__device__ __forceinline__ Granule FilledGranule(T value) {
  Granule granule;
  if constexpr (sizeof(T) == 2) {
    unsigned short bits;
    memcpy(&bits, &value, sizeof(bits));
    const unsigned word = bits * 0x10001U;
    granule = {{word, word, word, word}};
  } else {
    T values[kElementsOfGranule<T>];
#pragma unroll
    for (T& each : values) {
      each = value;
    }
    memcpy(&granule, values, sizeof(granule));
  }
  return granule;
}

/// The elements, exactly.
template <typename T, typename Acc>
__device__ __forceinline__ void Unpack(const Granule& granule, Acc (&values)[kElementsOfGranule<T>]) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values[2 * i] = static_cast<Acc>(__uint_as_float(granule.words[i] << 16));
      values[2 * i + 1] = static_cast<Acc>(__uint_as_float(granule.words[i] & 0xFFFF0000U));
    }
  } else if constexpr (std::is_same_v<T, __half>) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      __half2 pair;
      memcpy(&pair, &granule.words[i], sizeof(pair));
      const float2 both = __half22float2(pair);
      values[2 * i] = static_cast<Acc>(both.x);
      values[2 * i + 1] = static_cast<Acc>(both.y);
    }
  } else {
    T elements[kElementsOfGranule<T>];
    memcpy(elements, &granule, sizeof(granule));
#pragma unroll
    for (int i = 0; i < kElementsOfGranule<T>; ++i) {
      values[i] = Widen<Acc>(elements[i]);
    }
  }
}

/// Each value rounded once, to nearest even.
template <typename T, typename Acc>
__device__ __forceinline__ Granule Pack(const Acc (&values)[kElementsOfGranule<T>]) {
  Granule granule;
  if constexpr (std::is_same_v<Acc, float> && sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<T, __half>) {
        const __half2 pair = __floats2half2_rn(values[2 * i], values[2 * i + 1]);
        memcpy(&granule.words[i], &pair, sizeof(pair));
      } else {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
        memcpy(&granule.words[i], &pair, sizeof(pair));
      }
    }
  } else {
    T elements[kElementsOfGranule<T>];
#pragma unroll
    for (int i = 0; i < kElementsOfGranule<T>; ++i) {
      elements[i] = Narrow<T>(values[i]);
    }
    memcpy(&granule, elements, sizeof(granule));
  }
  return granule;
}

/// Bytes [4 * kWord + offset % 4, ...) of `low` followed by `high`.
template <int kStep, int kWord>
__device__ __forceinline__ Granule BytesFromWord(const Granule& low, const Granule& high, unsigned offset) {
  unsigned words[5];
#pragma unroll
  for (int i = 0; i < 5; ++i) {
    words[i] = kWord + i < 4 ? low.words[(kWord + i) % 4] : high.words[(kWord + i) % 4];
  }
  Granule result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    result.words[i] = kStep % 4 == 0 ? words[i] : __funnelshift_r(words[i], words[i + 1], offset % 4 * 8);
  }
  return result;
}

/// Bytes [offset, offset + 16) of `low` followed by `high`. Requires: 0 <= offset < 16, a multiple of kStep. The offset
/// is one for a whole row, so the cases are branches that a warp takes together.
template <int kStep>
__device__ __forceinline__ Granule BytesFrom(const Granule& low, const Granule& high, unsigned offset) {
  switch (offset / 4) {
    case 0:
      return BytesFromWord<kStep, 0>(low, high, offset);
    case 1:
      return BytesFromWord<kStep, 1>(low, high, offset);
    case 2:
      return BytesFromWord<kStep, 2>(low, high, offset);
    default:
      return BytesFromWord<kStep, 3>(low, high, offset);
  }
}

/// `granule` with `fill` in place of all elements but [first, end).
template <typename T>
__device__ __forceinline__ Granule KeepElements(const Granule& granule, int first, int end, T fill) {
  const Granule filled = FilledGranule(fill);
  Granule kept;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned mask = 0;
    constexpr int kOfWord = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
#pragma unroll
    for (int j = 0; j < kOfWord; ++j) {
      const int element = i * 4 / static_cast<int>(sizeof(T)) + j;
      const unsigned bits =
          sizeof(T) < 4 ? ((1U << (8 * sizeof(T) % 32)) - 1U) << (8 * sizeof(T) * j % 32) : 0xFFFFFFFFU;
      mask |= element >= first && element < end ? bits : 0U;
    }
    kept.words[i] = (granule.words[i] & mask) | (filled.words[i] & ~mask);
  }
  return kept;
}

/// Elements [first, end) of the granule's worth at `from`, the others `fill`; and back. Reads and writes nothing else.
template <typename T>
__device__ __forceinline__ Granule LoadElements(const T* from, int first, int end, T fill) {
  T elements[kElementsOfGranule<T>];
#pragma unroll
  for (int j = 0; j < kElementsOfGranule<T>; ++j) {
    elements[j] = fill;
    if (j >= first && j < end) {
      elements[j] = from[j];
    }
  }
  Granule granule;
  memcpy(&granule, elements, sizeof(granule));
  Opaque(granule);
  return granule;
}

template <typename T>
__device__ __forceinline__ void StoreElements(const Granule& granule, T* to, int first, int end) {
  T elements[kElementsOfGranule<T>];
  memcpy(elements, &granule, sizeof(granule));
#pragma unroll
  for (int j = 0; j < kElementsOfGranule<T>; ++j) {
    if (j >= first && j < end) {
      to[j] = elements[j];
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_CUH_

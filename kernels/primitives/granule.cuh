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

/// A number of words that is known when a kernel is compiled, or -1 for one that is not.
template <int kWords>
struct OffsetWords {
  static constexpr int kValue = kWords;
};

/// Bytes [offset, offset + 16) of `low` followed by `high`. Requires: 0 <= offset < 16, a multiple of kStep;
/// kWords = offset / 4, or -1.
template <int kStep, int kWords>
__device__ __forceinline__ Granule BytesFrom(const Granule& low, const Granule& high, unsigned offset) {
  unsigned words[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    words[i] = i < 4 ? low.words[i % 4] : high.words[i % 4];
  }
  if constexpr (kWords < 0) {
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      words[i] = offset >= 8 ? words[i + 2] : words[i];
    }
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      words[i] = offset % 8 >= 4 ? words[i + 1] : words[i];
    }
  }
  constexpr int kFirst = kWords < 0 ? 0 : kWords;
  Granule result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned word = words[kFirst + i];
    const unsigned next = words[(kFirst + i + 1) % 8];
    result.words[i] = kStep % 4 == 0 ? word : __funnelshift_r(word, next, offset % 4 * 8);
  }
  return result;
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

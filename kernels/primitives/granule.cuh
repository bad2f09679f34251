// Sixteen bytes of memory, or four, as a thread moves them: packed elements of any floating-point type, widened for
// arithmetic and narrowed once at the end. They stay packed in 32-bit registers, since a 16-bit element alone would
// take a whole one.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <climits>
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

/// Words of 4 bytes that a thread moves at once. They lie on a boundary of as many bytes.
template <int kWords>
struct alignas(4 * kWords) Words {
  unsigned words[kWords];
};

using Granule = Words<4>;
using Word = Words<1>;

template <typename T, typename Unit>
inline constexpr int kElementsOf = static_cast<int>(sizeof(Unit) / sizeof(T));
template <typename T>
inline constexpr int kElementsOfGranule = kElementsOf<T, Granule>;

/// Granules of memory that lie one after another, and of the next one `behind` bytes, whole elements: where a tensor
/// ends, the rest of that is not its own, and not read.
struct GranuleSpan {
  const void* first;
  int bytes;
  int behind;
};

/// Bytes that may be read: as many as one wants.
inline constexpr int kNoEnd = INT_MAX;

/// The span of `bytes` bytes from a granule's beginning `first` on, from where `readable` bytes may be read.
__device__ __forceinline__ GranuleSpan SpanOfBytes(const void* first, int bytes, int readable) {
  const int all = (bytes + 15) / 16 * 16;
  return all <= readable ? GranuleSpan{first, all, 0} : GranuleSpan{first, bytes / 16 * 16, bytes % 16};
}

/// Device memory only: without that promise the compiler takes the slower path that finds out.
__device__ __forceinline__ Granule LoadGranule(const void* from) {
  __builtin_assume(__isGlobal(from));
  return *static_cast<const Granule*>(from);
}

/// The same under a condition, else `granule` stays as it is. A relaxed read, not for its meaning: such reads stay in
/// the order in which they stand, and a row that is asked for out of order comes up to a sixth slower. They also pass
/// by the first-level cache and leave it to what is read again, weights.
__device__ __forceinline__ void LoadGranuleIf(bool condition, const void* from, Granule& granule) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %5, 0;\n"
      "  @wanted ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];\n"
      "}\n"
      : "+r"(granule.words[0]), "+r"(granule.words[1]), "+r"(granule.words[2]), "+r"(granule.words[3])
      : "l"(from), "r"(static_cast<unsigned>(condition)));
}

/// The same of a word, by way of the first-level cache: neighbouring words that begin anywhere share sectors.
__device__ __forceinline__ void LoadWordIf(bool condition, const void* from, Word& word) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %2, 0;\n"
      "  @wanted ld.global.u32 %0, [%1];\n"
      "}\n"
      : "+r"(word.words[0])
      : "l"(from), "r"(static_cast<unsigned>(condition)));
}

/// That of the first 2 bytes of a word, and zeros.
__device__ __forceinline__ void LoadHalfWordIf(bool condition, const void* from, Word& word) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %2, 0;\n"
      "  @wanted ld.global.u16 %0, [%1];\n"
      "}\n"
      : "+r"(word.words[0])
      : "l"(from), "r"(static_cast<unsigned>(condition)));
}

/// The same of memory that nobody writes while the kernel runs: such reads need not keep their place among writes.
__device__ __forceinline__ Granule LoadConstantGranule(const void* from) {
  const uint4 words = __ldg(static_cast<const uint4*>(from));
  return {{words.x, words.y, words.z, words.w}};
}

/// That, or a word of such memory.
template <typename Unit>
__device__ __forceinline__ Unit LoadConstant(const void* from) {
  if constexpr (std::is_same_v<Unit, Word>) {
    return {{__ldg(static_cast<const unsigned*>(from))}};
  } else {
    return LoadConstantGranule(from);
  }
}

/// That under a condition, else `granule` stays as it is. It keeps its place behind the reads of LoadGranuleIf:
/// otherwise the compiler would have it wait until they have been used.
__device__ __forceinline__ void LoadConstantIf(bool condition, const void* from, Granule& granule) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %5, 0;\n"
      "  @wanted ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n"
      "}\n"
      : "+r"(granule.words[0]), "+r"(granule.words[1]), "+r"(granule.words[2]), "+r"(granule.words[3])
      : "l"(from), "r"(static_cast<unsigned>(condition)));
}

__device__ __forceinline__ void LoadConstantIf(bool condition, const void* from, Word& word) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %2, 0;\n"
      "  @wanted ld.global.nc.u32 %0, [%1];\n"
      "}\n"
      : "+r"(word.words[0])
      : "l"(from), "r"(static_cast<unsigned>(condition)));
}

__device__ __forceinline__ void LoadConstantIf(bool condition, const void* from, Words<2>& words) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %3, 0;\n"
      "  @wanted ld.global.nc.v2.u32 {%0, %1}, [%2];\n"
      "}\n"
      : "+r"(words.words[0]), "+r"(words.words[1])
      : "l"(from), "r"(static_cast<unsigned>(condition)));
}

/// The same of the first half of a word's worth, or of a granule's.
__device__ __forceinline__ void LoadConstantHalfIf(bool condition, const void* from, Word& word) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %2, 0;\n"
      "  @wanted ld.global.nc.u16 %0, [%1];\n"
      "}\n"
      : "+r"(word.words[0])
      : "l"(from), "r"(static_cast<unsigned>(condition)));
}
__device__ __forceinline__ void LoadConstantHalfIf(bool condition, const void* from, Granule& granule) {
  Words<2> half{{granule.words[0], granule.words[1]}};
  LoadConstantIf(condition, from, half);
  granule.words[0] = half.words[0];
  granule.words[1] = half.words[1];
}

/// `granule` becomes `other` where `condition` holds, in registers: the compiler must not make memory of an array of
/// granules of which one is chosen.
__device__ __forceinline__ void ReplaceIf(bool condition, const Granule& other, Granule& granule) {
  asm("{\n"
      "  .reg .pred other;\n"
      "  setp.ne.u32 other, %8, 0;\n"
      "  selp.b32 %0, %4, %0, other;\n"
      "  selp.b32 %1, %5, %1, other;\n"
      "  selp.b32 %2, %6, %2, other;\n"
      "  selp.b32 %3, %7, %3, other;\n"
      "}\n"
      : "+r"(granule.words[0]), "+r"(granule.words[1]), "+r"(granule.words[2]), "+r"(granule.words[3])
      : "r"(other.words[0]), "r"(other.words[1]), "r"(other.words[2]), "r"(other.words[3]),
        "r"(static_cast<unsigned>(condition)));
}

/// The first `count` elements of a granule's worth, 0 < count < kElementsOfGranule<T>, and zeros: memory that nobody
/// writes, read in as few accesses as end with them.
template <typename T>
__device__ __forceinline__ Granule LoadConstantElements(const T* from, int count) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(from);
  const int end = count * static_cast<int>(sizeof(T));
  Granule granule{};
  if ((end & 8) != 0) {
    const uint2 two = __ldg(reinterpret_cast<const uint2*>(bytes));
    granule = {{two.x, two.y, 0, 0}};
  }
  if (sizeof(T) < 8 && (end & 4) != 0) {
    const unsigned word = __ldg(reinterpret_cast<const unsigned*>(bytes + (end & 8)));
    granule.words[0] = (end & 8) != 0 ? granule.words[0] : word;
    granule.words[2] = (end & 8) != 0 ? word : 0;
  }
  if (sizeof(T) < 4 && (end & 2) != 0) {
    const unsigned half = __ldg(reinterpret_cast<const unsigned short*>(bytes + (end & 12)));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      granule.words[i] = i == end / 4 ? half : granule.words[i];
    }
  }
  return granule;
}

/// It takes no room in the first-level cache from what is read again, weights.
__device__ __forceinline__ void StoreGranule(void* to, const Granule& granule) {
  asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(granule.words[0]),
               "r"(granule.words[1]), "r"(granule.words[2]), "r"(granule.words[3])
               : "memory");
}

__device__ __forceinline__ void StoreWord(void* to, unsigned word) {
  __builtin_assume(__isGlobal(to));
  *static_cast<unsigned*>(to) = word;
}

__device__ __forceinline__ void StoreHalfWord(void* to, unsigned half) {
  __builtin_assume(__isGlobal(to));
  *static_cast<unsigned short*>(to) = static_cast<unsigned short>(half);
}

/// The same under a condition, without a branch.
__device__ __forceinline__ void StoreWordIf(bool condition, void* to, unsigned word) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %2, 0;\n"
      "  @wanted st.global.u32 [%0], %1;\n"
      "}\n" ::"l"(to),
      "r"(word), "r"(static_cast<unsigned>(condition))
      : "memory");
}
__device__ __forceinline__ void StoreHalfWordIf(bool condition, void* to, unsigned half) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %2, 0;\n"
      "  @wanted st.global.u16 [%0], %1;\n"
      "}\n" ::"l"(to),
      "h"(static_cast<unsigned short>(half)), "r"(static_cast<unsigned>(condition))
      : "memory");
}

/// Makes the compiler forget how the words came about: it must neither keep widened copies of the elements, which take
/// twice the registers, nor carry 16-bit elements one by one through a branch, which would have to wait for every load.
__device__ __forceinline__ void Opaque(Granule& granule) {
  asm volatile("" : "+r"(granule.words[0]), "+r"(granule.words[1]), "+r"(granule.words[2]), "+r"(granule.words[3]));
}

__device__ __forceinline__ void Opaque(Word& word) { asm volatile("" : "+r"(word.words[0])); }

/// Zero, which no compiler knows: grids have no third dimension.
__device__ __forceinline__ unsigned UnknownZero() {
  unsigned zero;
  asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(zero));
  return zero;
}

/// `at`, which the compiler takes to follow from `word`: what is done there is done when that is known.
template <typename T>
__device__ __forceinline__ T* KnownAfter(const Word& word, T* at) {
  return at + (word.words[0] & UnknownZero());
}

/// `value` in every place.
template <typename Unit, typename T>
__device__ __forceinline__ Unit Filled(T value) {
  Unit unit;
  if constexpr (sizeof(T) == 2) {
    unsigned short bits;
    memcpy(&bits, &value, sizeof(bits));
#pragma unroll
    for (unsigned& word : unit.words) {
      word = bits * 0x10001U;
    }
  } else {
    T values[kElementsOf<T, Unit>];
#pragma unroll
    for (T& each : values) {
      each = value;
    }
    memcpy(&unit, values, sizeof(unit));
  }
  return unit;
}

/// The elements, exactly.
template <typename T, int kWords, typename Acc>
__device__ __forceinline__ void Unpack(const Words<kWords>& unit, Acc (&values)[kElementsOf<T, Words<kWords>>]) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      values[2 * i] = static_cast<Acc>(__uint_as_float(unit.words[i] << 16));
      values[2 * i + 1] = static_cast<Acc>(__uint_as_float(unit.words[i] & 0xFFFF0000U));
    }
  } else if constexpr (std::is_same_v<T, __half>) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      __half2 pair;
      memcpy(&pair, &unit.words[i], sizeof(pair));
      const float2 both = __half22float2(pair);
      values[2 * i] = static_cast<Acc>(both.x);
      values[2 * i + 1] = static_cast<Acc>(both.y);
    }
  } else {
    T elements[kElementsOf<T, Words<kWords>>];
    memcpy(elements, &unit, sizeof(unit));
#pragma unroll
    for (int i = 0; i < kElementsOf<T, Words<kWords>>; ++i) {
      values[i] = Widen<Acc>(elements[i]);
    }
  }
}

/// The same for elements that have been unpacked before a reduction; `zero`: UnknownZero(). ptxas would take the first
/// results again, and would hold all of them meanwhile, in twice the registers. With a term that might not be zero they
/// are others, at no cost: shifting and masking are instructions of three operands.
template <typename T, int kWords, typename Acc>
__device__ __forceinline__ void UnpackAgain(const Words<kWords>& unit, unsigned zero,
                                            Acc (&values)[kElementsOf<T, Words<kWords>>]) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      unsigned low = 0;
      unsigned high = 0;
      asm("mad.lo.u32 %0, %1, 65536, %2;" : "=r"(low) : "r"(unit.words[i]), "r"(zero));
      asm("lop3.b32 %0, %1, 0xFFFF0000, %2, 0xEA;" : "=r"(high) : "r"(unit.words[i]), "r"(zero));  // (a & b) | c
      values[2 * i] = static_cast<Acc>(__uint_as_float(low));
      values[2 * i + 1] = static_cast<Acc>(__uint_as_float(high));
    }
  } else {
    Unpack<T>(unit, values);
  }
}

/// Each value rounded once, to nearest even.
template <typename T, typename Acc, int kLength>
__device__ __forceinline__ auto Pack(const Acc (&values)[kLength]) {
  constexpr int kWords = kLength * static_cast<int>(sizeof(T)) / 4;
  Words<kWords> unit;
  if constexpr (std::is_same_v<Acc, float> && sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      if constexpr (std::is_same_v<T, __half>) {
        const __half2 pair = __floats2half2_rn(values[2 * i], values[2 * i + 1]);
        memcpy(&unit.words[i], &pair, sizeof(pair));
      } else {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
        memcpy(&unit.words[i], &pair, sizeof(pair));
      }
    }
  } else {
    T elements[kLength];
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      elements[i] = Narrow<T>(values[i]);
    }
    memcpy(&unit, elements, sizeof(unit));
  }
  return unit;
}

/// The first `count` elements of the unit's worth at `from`, the others `fill`. Reads nothing else.
template <typename Unit, typename T>
__device__ __forceinline__ Unit LoadElements(const T* from, int count, T fill) {
  T elements[kElementsOf<T, Unit>];
#pragma unroll
  for (int j = 0; j < kElementsOf<T, Unit>; ++j) {
    elements[j] = fill;
    if (j < count) {
      elements[j] = from[j];
    }
  }
  Unit unit;
  memcpy(&unit, elements, sizeof(unit));
  Opaque(unit);
  return unit;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_CUH_

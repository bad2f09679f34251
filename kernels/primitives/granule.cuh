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

/// The same of memory that nobody writes while the kernel runs: such reads need not keep their place among writes.
__device__ __forceinline__ Granule LoadConstantGranule(const void* from) {
  const uint4 words = __ldg(static_cast<const uint4*>(from));
  return {{words.x, words.y, words.z, words.w}};
}

/// That under a condition, else `granule` stays as it is. It keeps its place behind the reads of LoadGranuleIf:
/// otherwise the compiler would have it wait until they have been used.
__device__ __forceinline__ void LoadConstantGranuleIf(bool condition, const void* from, Granule& granule) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %5, 0;\n"
      "  @wanted ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n"
      "}\n"
      : "+r"(granule.words[0]), "+r"(granule.words[1]), "+r"(granule.words[2]), "+r"(granule.words[3])
      : "l"(from), "r"(static_cast<unsigned>(condition)));
}

/// The same of the first half of a granule's worth.
__device__ __forceinline__ void LoadConstantHalfIf(bool condition, const void* from, Granule& granule) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %3, 0;\n"
      "  @wanted ld.global.nc.v2.u32 {%0, %1}, [%2];\n"
      "}\n"
      : "+r"(granule.words[0]), "+r"(granule.words[1])
      : "l"(from), "r"(static_cast<unsigned>(condition)));
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

__device__ __forceinline__ void StoreGranule(void* to, const Granule& granule) {
  __builtin_assume(__isGlobal(to));
  *static_cast<Granule*>(to) = granule;
}

/// Makes the compiler forget how the words came about: it must neither keep widened copies of the elements, which take
/// twice the registers, nor carry 16-bit elements one by one through a branch, which would have to wait for every load.
__device__ __forceinline__ void Opaque(Granule& granule) {
  asm volatile("" : "+r"(granule.words[0]), "+r"(granule.words[1]), "+r"(granule.words[2]), "+r"(granule.words[3]));
}

/// Zero, which no compiler knows: grids have no third dimension.
__device__ __forceinline__ unsigned UnknownZero() {
  unsigned zero;
  asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(zero));
  return zero;
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

/// The same for elements that have been unpacked before a reduction; `zero`: UnknownZero(). ptxas would take the first
/// results again, and would hold all of them meanwhile, in twice the registers. With a term that might not be zero they
/// are others, at no cost: shifting and masking are instructions of three operands.
template <typename T, typename Acc>
__device__ __forceinline__ void UnpackAgain(const Granule& granule, unsigned zero,
                                            Acc (&values)[kElementsOfGranule<T>]) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      unsigned low = 0;
      unsigned high = 0;
      asm("mad.lo.u32 %0, %1, 65536, %2;" : "=r"(low) : "r"(granule.words[i]), "r"(zero));
      asm("lop3.b32 %0, %1, 0xFFFF0000, %2, 0xEA;" : "=r"(high) : "r"(granule.words[i]), "r"(zero));  // (a & b) | c
      values[2 * i] = static_cast<Acc>(__uint_as_float(low));
      values[2 * i + 1] = static_cast<Acc>(__uint_as_float(high));
    }
  } else {
    Unpack<T>(granule, values);
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

/// Elements [first, end) of the granule's worth at `from`, the others `fill`. Reads nothing else.
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

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_CUH_

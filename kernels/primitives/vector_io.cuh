// Memory of any floating-point type, read and written by threads in vectors of up to 16 bytes and computed with in f32
// or f64: widening is exact, narrowing rounds once, to nearest even. Nothing is flushed.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_VECTOR_IO_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_VECTOR_IO_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/core/dtype.h"

namespace kernelwire {

/// A type as a value, for dispatch from a run-time DataType.
template <typename T>
struct TypeTag {
  using Type = T;
};

/// Calls f(TypeTag<T>{}) with the device's type of `dtype`. Requires: one of FP16, BF16, FP32, FP64.
/// (The pragma: whether host or device code calls it is up to `f`.)
#pragma nv_exec_check_disable
template <typename F>
__host__ __device__ auto WithFloatType(DataType dtype, F&& f) {
  switch (dtype) {
    case DataType::kFp16:
      return f(TypeTag<__half>{});
    case DataType::kBf16:
      return f(TypeTag<__nv_bfloat16>{});
    case DataType::kFp32:
      return f(TypeTag<float>{});
    default:
      return f(TypeTag<double>{});
  }
}

/// f64 when any of the types is f64, else f32.
template <typename... T>
using AccumulatorOf = std::conditional_t<(std::is_same_v<T, double> || ...), double, float>;

template <typename Acc, typename T>
__device__ __forceinline__ Acc Widen(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return static_cast<Acc>(__half2float(value));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return static_cast<Acc>(__bfloat162float(value));
  } else {
    return static_cast<Acc>(value);
  }
}

template <typename T, typename Acc>
__device__ __forceinline__ T Narrow(Acc value) {
  if constexpr (std::is_same_v<T, __half>) {
    if constexpr (std::is_same_v<Acc, double>) {
      return __double2half(value);  // by way of f32 it would be rounded twice
    } else {
      return __float2half_rn(value);
    }
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    if constexpr (std::is_same_v<Acc, double>) {
      return __double2bfloat16(value);
    } else {
      return __float2bfloat16_rn(value);
    }
  } else {
    return static_cast<T>(value);
  }
}

/// kLength elements that move together. Requires: at most 16 bytes, a power of two of elements.
template <typename T, int kLength>
struct alignas(sizeof(T) * kLength) Vector {
  static_assert(sizeof(T) * kLength <= 16);
  T values[kLength];
};

/// The most elements of T that one instruction moves.
template <typename T>
inline constexpr int kWidestVector = 16 / static_cast<int>(sizeof(T));

/// Writes kLength elements, each rounded once. Requires: `to` aligned to the elements' bytes, or to 16 where they are
/// more.
template <int kLength, typename Acc, typename T>
__device__ __forceinline__ void StoreNarrowed(const Acc (&from)[kLength], T* to) {
  constexpr int kPiece = kLength < kWidestVector<T> ? kLength : kWidestVector<T>;
#pragma unroll
  for (int i = 0; i < kLength; i += kPiece) {
    Vector<T, kPiece> piece;
#pragma unroll
    for (int j = 0; j < kPiece; ++j) {
      piece.values[j] = Narrow<T>(from[i + j]);
    }
    *reinterpret_cast<Vector<T, kPiece>*>(to + i) = piece;
  }
}

/// A plain value as another block, or an earlier launch, wrote it: past the first-level cache, which need not know of
/// it. Requires: whole words, on a boundary of its size or of 16 bytes.
template <typename Value>
__device__ __forceinline__ Value ReadWritten(const Value* from) {
  constexpr std::size_t kBytes = sizeof(Value);
  static_assert(std::is_trivially_copyable_v<Value> && kBytes % 4 == 0);
  using Word = std::conditional_t<kBytes % 16 == 0, uint4, std::conditional_t<kBytes % 8 == 0, uint2, unsigned>>;
  constexpr int kWords = static_cast<int>(kBytes / sizeof(Word));
  Word words[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    words[i] = __ldcg(reinterpret_cast<const Word*>(from) + i);
  }
  Value value;
  memcpy(&value, words, kBytes);
  return value;
}

/// One element of a type known at run time only.
template <typename Acc>
__device__ __forceinline__ Acc LoadOne(DataType dtype, const void* data, std::int64_t index) {
  return WithFloatType(
      dtype, [&](auto tag) { return Widen<Acc>(static_cast<const typename decltype(tag)::Type*>(data)[index]); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_VECTOR_IO_CUH_

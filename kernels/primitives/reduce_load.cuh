// Reading the elements of a result: 16 bytes an instruction wherever they lie.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_CUH_

#include <cuda_fp8.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/primitives/reduce_params.h"
#include "kernels/primitives/segment_table.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// Limits that device code can name.
template <typename T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// An infinity as an element of a type that has them. That of E5M2 is written by bits, since its conversion saturates.
template <typename T>
__device__ __forceinline__ T InfiniteElement(bool negative) {
  if constexpr (std::is_same_v<T, __nv_fp8_e5m2>) {
    T infinity;
    infinity.__x = negative ? 0xFC : 0x7C;
    return infinity;
  } else {
    return Narrow<T>(negative ? -kInfinity<float> : kInfinity<float>);
  }
}
template <typename T>
inline constexpr T kSmallest = std::numeric_limits<T>::min();
template <typename T>
inline constexpr T kLargest = std::numeric_limits<T>::max();

/// Calls f(TypeTag<T>{}) with the device's type of `dtype`. Requires: a type that reductions take.
template <typename F>
auto WithReducibleType(DataType dtype, F&& f) {
  switch (dtype) {
    case DataType::kInt8:
      return f(TypeTag<std::int8_t>{});
    case DataType::kUint8:
      return f(TypeTag<std::uint8_t>{});
    case DataType::kInt32:
      return f(TypeTag<std::int32_t>{});
    case DataType::kInt64:
      return f(TypeTag<std::int64_t>{});
    case DataType::kFp8E4m3:
      return f(TypeTag<__nv_fp8_e4m3>{});
    case DataType::kFp8E5m2:
      return f(TypeTag<__nv_fp8_e5m2>{});
    default:
      return WithFloatType(dtype, f);
  }
}

/// The argument of every kernel of a reduction, besides the operator's own.
struct ReduceArguments {
  SegmentTable table;
  ReduceLayout layout;
  ReduceParts parts;
  std::int64_t results;         // of the whole launch
  std::int64_t vectors;         // rows: of a result
  std::int64_t vectors_of_run;  // rows
  DataType accumulator;
  DataType y_type;
  std::int64_t y_bytes;  // of one result
  bool checked;
  std::uint32_t* tickets;  // Launch::tickets: number r is that of result r of the launch
};

/// kLength elements as they lie in memory, in whole words: a register each. Elements come out one at a time, when they
/// are needed; narrow ones as an array of their own would take a register each from the start.
template <typename T, int kLength>
struct Packed {
  static constexpr int kBytes = static_cast<int>(sizeof(T)) * kLength;
  static constexpr int kWords = (kBytes + 3) / 4;
  unsigned words[kWords];

  /// Requires: `from` aligned to kBytes.
  static __device__ __forceinline__ Packed Load(const T* from) {
    using Unit = std::conditional_t<
        kBytes == 16, uint4,
        std::conditional_t<
            kBytes == 8, uint2,
            std::conditional_t<kBytes == 4, unsigned, std::conditional_t<kBytes == 2, std::uint16_t, std::uint8_t>>>>;
    static_assert(sizeof(Unit) == kBytes);
    const Unit unit = *reinterpret_cast<const Unit*>(from);
    Packed packed{};
    memcpy(packed.words, &unit, sizeof(unit));
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

/// kLength elements of each input, at the same places.
template <typename T, int kLength, int kInputs>
struct Operand {
  Packed<T, kLength> inputs[kInputs];
  unsigned present;  // bit j: element j is there, and not the reduction's fill

  static constexpr unsigned kAll = (1U << kLength) - 1U;

  /// One that changes nothing.
  static __device__ __forceinline__ Operand Filled(T fill) {
    Operand operand;
    operand.present = 0;
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      operand.inputs[i] = Packed<T, kLength>::Filled(fill);
    }
    return operand;
  }
};

/// A result of the launch: whose it is, and which of that request's.
struct ResultPlace {
  const void* inputs[2];
  void* y;
  void* workspace;
  std::int64_t piece;    // of the request
  std::int64_t result;   // of the piece
  std::int64_t index;    // of the request's results
  std::int64_t results;  // of the request

  static __device__ __forceinline__ ResultPlace Of(const ReduceArguments& arguments, std::int64_t number) {
    const std::int64_t of_piece = arguments.layout.results;
    const std::int64_t piece = of_piece == 1 ? number : number / of_piece;
    const std::int64_t result = number - piece * of_piece;
    return arguments.table.PickOf(piece, [&](const Segment& segment) {
      ResultPlace place;
      place.inputs[0] = segment.inputs[0];
      place.inputs[1] = segment.inputs[1];
      place.y = segment.outputs[0];
      place.workspace = segment.workspace;
      place.piece = piece - segment.first_row;
      place.result = result;
      place.index = place.piece * of_piece + result;
      place.results = segment.rows * of_piece;
      return place;
    });
  }
};

/// 16 bytes from any address: two aligned loads, of which the neighbour's first is this one's second and comes from the
/// cache, shifted into place. Requires: [from, from + 32) may be read once `from` is rounded down to 16 bytes.
__device__ __forceinline__ uint4 Load16Shifted(const void* from) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const auto* aligned = reinterpret_cast<const uint4*>(address & ~std::uintptr_t{15});
  const unsigned shift = static_cast<unsigned>(address & 15);
  const uint4 low = aligned[0];
  const uint4 high = aligned[1];
  const bool two = (shift & 8) != 0;
  const unsigned a0 = two ? low.z : low.x;
  const unsigned a1 = two ? low.w : low.y;
  const unsigned a2 = two ? high.x : low.z;
  const unsigned a3 = two ? high.y : low.w;
  const unsigned a4 = two ? high.z : high.x;
  const unsigned a5 = two ? high.w : high.y;
  const bool one = (shift & 4) != 0;
  const unsigned b0 = one ? a1 : a0;
  const unsigned b1 = one ? a2 : a1;
  const unsigned b2 = one ? a3 : a2;
  const unsigned b3 = one ? a4 : a3;
  const unsigned b4 = one ? a5 : a4;
  const unsigned bits = (shift & 3) * 8;
  return {__funnelshift_r(b0, b1, bits), __funnelshift_r(b1, b2, bits), __funnelshift_r(b2, b3, bits),
          __funnelshift_r(b3, b4, bits)};
}

/// The first `count` elements at `from`, one by one, and `fill` beyond. Called, not inlined: it is the way of the last
/// two vectors of a run, and would be copied for each of those that a thread has in flight.
template <typename T>
__device__ __noinline__ Packed<T, kWidestVector<T>> LoadTail(const T* from, std::int64_t count, T fill) {
  constexpr int kLength = kWidestVector<T>;
  Packed<T, kLength> packed{};
#pragma unroll
  for (int j = 0; j < kLength; ++j) {
    packed.Set(j, j < count ? from[j] : fill);
  }
  return packed;
}

/// The first `count` elements at `from`, up to a whole vector of 16 bytes; `fill` for those beyond. Reads no byte
/// outside of the 16-byte blocks of elements that are there, and none behind the last element.
template <typename T>
__device__ __forceinline__ Packed<T, kWidestVector<T>> LoadAnywhere(const T* from, std::int64_t count, T fill) {
  constexpr int kLength = kWidestVector<T>;
  if (count < 2 * kLength) {
    return LoadTail(from, count, fill);
  }
  const uint4 bytes = Load16Shifted(from);
  Packed<T, kLength> packed;
  memcpy(packed.words, &bytes, sizeof(bytes));
  return packed;
}

/// The rows of one result. `kPlain`: one run a result, whole vectors, aligned to them.
template <typename T, int kInputs, bool kPlain>
class ResultRows {
 public:
  static constexpr int kLength = kWidestVector<T>;
  static constexpr bool kWhole = kPlain;  // vectors are never cut short

  __device__ __forceinline__ ResultRows(const ReduceArguments& arguments, const ResultPlace& place) {
    const std::int64_t offset =
        place.piece * arguments.layout.piece + (kPlain ? 0 : arguments.layout.kept.Offset(place.result));
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      rows_[i] = static_cast<const T*>(place.inputs[i]) + offset;
    }
  }

  /// Vector `index` of the result. Requires: 0 <= index < arguments.vectors.
  __device__ __forceinline__ Operand<T, kLength, kInputs> Load(const ReduceArguments& arguments, std::int64_t index,
                                                               T fill) const {
    using Elements = Operand<T, kLength, kInputs>;
    Elements operand;
    operand.present = Elements::kAll;
    if constexpr (kPlain) {
#pragma unroll
      for (int i = 0; i < kInputs; ++i) {
        operand.inputs[i] = Packed<T, kLength>::Load(rows_[i] + index * kLength);
      }
    } else {
      const std::int64_t run = arguments.layout.reduced.axes == 0 ? 0 : index / arguments.vectors_of_run;
      const std::int64_t first = (index - run * arguments.vectors_of_run) * kLength;
      const std::int64_t offset = arguments.layout.reduced.Offset(run) + first;
      const std::int64_t count = arguments.layout.run - first;
      operand.present = count >= kLength ? Elements::kAll : (1U << count) - 1U;
#pragma unroll
      for (int i = 0; i < kInputs; ++i) {
        operand.inputs[i] = LoadAnywhere(rows_[i] + offset, count, fill);
      }
    }
    return operand;
  }

 private:
  const T* rows_[kInputs];
};

/// The elements, widened. FP8 goes by pairs, which one instruction converts where the device has it.
template <typename T, int kLength, typename Acc>
__device__ __forceinline__ void WidenPacked(const Packed<T, kLength>& packed, Acc (&to)[kLength]) {
  if constexpr (sizeof(T) == 1 && !std::is_integral_v<T> && kLength % 2 == 0) {
    constexpr __nv_fp8_interpretation_t kKind = std::is_same_v<T, __nv_fp8_e4m3> ? __NV_E4M3 : __NV_E5M2;
#pragma unroll
    for (int j = 0; j < kLength; j += 2) {
      const auto pair = static_cast<__nv_fp8x2_storage_t>(packed.words[j / 4] >> (8 * (j % 4)));
      const float2 wide = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(pair, kKind)));
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

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_CUH_

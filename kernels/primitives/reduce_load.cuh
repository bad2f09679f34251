// Reading the elements of a result wherever they lie, and what every kernel of a reduction is told.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_CUH_

#include <cuda_fp8.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/core/launch.h"
#include "kernels/device/early_reads.h"
#include "kernels/primitives/reduce_packed.cuh"
#include "kernels/primitives/reduce_params.h"
#include "kernels/primitives/reduce_steps.h"
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
  ReduceParts parts;
  std::int64_t results;  // of the whole launch
  std::int64_t vectors;  // rows: of a result
  DataType accumulator;
  DataType y_type;
  std::int64_t y_bytes;  // of one result
  bool checked;
  bool aligned;             // all runs are whole vectors of 16 bytes, and aligned to them
  RowShares shares;         // rows
  std::int64_t rows_ahead;  // ReduceTuning::rows_ahead
  uint4* arrivals;          // rows: kLaunchArrivals behind Launch::tickets
  EarlyReads early;
  ReduceLayout layout;
  // RowReads::kAny: over a result's vectors, which layout.reduced is about then (MapOfVectors), by as many as threads
  // share them; ColumnReads::kAny: over its rows, by as many as there are lanes.
  NestedSteps steps;
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

/// Calls f(operand) for each of a tile in turn, in a loop that stays one. Operands move up instead of being indexed:
/// one index that is not known puts the whole tile into local memory, and every other use of it with it.
template <typename T, int kLength, int kInputs, int kCount, typename F>
__device__ __forceinline__ void ForEachInTurn(const Operand<T, kLength, kInputs> (&tile)[kCount], const F& f) {
  Operand<T, kLength, kInputs> rest[kCount];
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    rest[u] = tile[u];
  }
#pragma unroll 1
  for (int left = kCount; left > 0; --left) {
    f(rest[0]);
#pragma unroll
    for (int u = 1; u < kCount; ++u) {
      rest[u - 1] = rest[u];
    }
  }
}

/// Which of a result's elements are in a tile: element j of operand u is number Of(u, j).
struct ElementNumbers {
  std::int64_t first;
  std::int64_t step;        // from operand to operand
  std::int64_t piece_step;  // from piece to piece of an operand; pieces are neighbours where it is a piece's length

  template <typename T>
  __device__ __forceinline__ std::int64_t Of(int u, int j) const {
    constexpr int kInPiece = static_cast<int>(BytesOfPiece(sizeof(T)) / sizeof(T));
    return first + u * step + j / kInPiece * piece_step + j % kInPiece;
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
    return OfPiece(arguments, piece, number - piece * of_piece);
  }

  /// Result `number` of a launch whose pieces have one each.
  static __device__ __forceinline__ ResultPlace OfOnly(const ReduceArguments& arguments, std::int64_t number) {
    return arguments.table.PickOf(number, [&](const Segment& segment) { return OfOnlyIn(segment, number); });
  }
  /// The same where it is known to be of `segment`.
  static __device__ __forceinline__ ResultPlace OfOnlyIn(const Segment& segment, std::int64_t number) {
    ResultPlace place;
    place.inputs[0] = segment.inputs[0];
    place.inputs[1] = segment.inputs[1];
    place.y = segment.outputs[0];
    place.workspace = segment.workspace;
    place.piece = number - segment.first_row;
    place.result = 0;
    place.index = place.piece;
    place.results = segment.rows;
    return place;
  }

  /// Result `result` of a piece of the launch.
  static __device__ __forceinline__ ResultPlace OfPiece(const ReduceArguments& arguments, std::int64_t piece,
                                                        std::int64_t result) {
    return arguments.table.PickOf(piece, [&](const Segment& segment) {
      ResultPlace place;
      place.inputs[0] = segment.inputs[0];
      place.inputs[1] = segment.inputs[1];
      place.y = segment.outputs[0];
      place.workspace = segment.workspace;
      place.piece = piece - segment.first_row;
      place.result = result;
      place.index = place.piece * arguments.layout.results + result;
      place.results = segment.rows * arguments.layout.results;
      return place;
    });
  }
};

/// The 16 bytes from byte `shift` on of two blocks of 16.
__device__ __forceinline__ uint4 ShiftBlocks(const uint4& low, const uint4& high, unsigned shift) {
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

/// Vectors of up to 16 bytes on their way from wherever they begin. Narrow elements come in the aligned blocks of 16
/// that a vector lies in, one or two: the second is the next thread's first, and comes from the cache. (By words, as
/// Packed::LoadUnaligned has them, rows of 8 and 16 bits take up to 1.7 times as long on an H100, though columns take
/// less.) Others come word by word.
template <typename T, int kCount>
class UnalignedVectors {
 public:
  static constexpr int kLength = kWidestVector<T>;

  /// Asks for the first `count` elements at `from`, kLength at most. Reads no block of 16 bytes that holds none of
  /// them: allocations have whole ones, whatever was asked for. (To go element by element where a tensor ends within
  /// one, as sanitizers would have it, takes registers, and a fifth to a half of the speed.)
  __device__ __forceinline__ void Ask(int u, const T* from, int count) {
    const int bytes = count * static_cast<int>(sizeof(T));
    if constexpr (sizeof(T) >= 4) {
      const auto* const words = reinterpret_cast<const unsigned*>(from);
      if (count > 0) {
        low_[u] = {__ldg(words), __ldg(words + min(1, bytes / 4 - 1)), __ldg(words + min(2, bytes / 4 - 1)),
                   __ldg(words + bytes / 4 - 1)};
      }
    } else {
      const auto address = reinterpret_cast<std::uintptr_t>(from);
      const auto shift = static_cast<unsigned>(address & 15);
      const auto* const low = reinterpret_cast<const uint4*>(address & ~std::uintptr_t{15});
      const uint4* const high = low + (static_cast<int>(shift) + bytes > 16 ? 1 : 0);
      shifts_ |= shift << (4 * u);
      if (count > 0) {
        low_[u] = __ldg(low);
        high_[u] = __ldg(high);
      }
    }
  }

  /// They, and whatever beyond.
  __device__ __forceinline__ Packed<T, kLength> Get(int u) const {
    uint4 bytes = low_[u];
    if constexpr (sizeof(T) < 4) {
      bytes = ShiftBlocks(low_[u], high_[u], shifts_ >> (4 * u) & 15);
    }
    Packed<T, kLength> packed;
    memcpy(packed.words, &bytes, sizeof(bytes));
    return packed;
  }

 private:
  static_assert(kCount <= 8);
  uint4 low_[kCount];
  uint4 high_[kCount];
  unsigned shifts_ = 0;  // 4 bits each
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LOAD_CUH_

// A weight or bias that has no element of the rows' type for each of a row, and is no rarity all the same: f32 beside
// 16-bit rows, one element for all, none.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_WIDE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_WIDE_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/core/dtype.h"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// Whether kernels have code of its own for such parameters, or leave it to row_again.cuh. Short rows in words have two
/// copies of what comes after the reduction already (kForkTogether), and would be slower by a seventh for a third one,
/// whatever their parameters are.
template <typename Held, typename Group>
inline constexpr bool kHasWide =
    Group::kLanes == 32 || Group::kLanes == 1 || std::is_same_v<typename Held::Unit, Granule>;

/// Such a parameter of one request; see DeviceParameter. Whatever it is, the instructions are the same: what has no row
/// reads none, and so nothing need be asked beside the vectors of a row that a thread holds.
///
/// `Held`: what a thread has of a row of x. `kVectorsAtOnce`: as many are asked for together.
template <typename Held, typename Acc, int kVectorsAtOnce>
class WideParameter {
 public:
  using T = typename Held::Element;
  static constexpr int kLength = Held::kLength;
  static constexpr int kAtOnce = kVectorsAtOnce;

  /// Whether a parameter is of these: a row of f32 begins on a 16-byte boundary.
  static __device__ __forceinline__ bool Suits(std::int64_t word, const void* data) {
    const RowParameter parameter = UnpackRowParameter(word);
    return parameter.kind != RowParameterKind::kRow ||
           (kHasRows && parameter.dtype == DataType::kFp32 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0);
  }

  /// Requires: Suits(word, data). Reads one element that stands for all.
  __device__ __forceinline__ WideParameter(std::int64_t word, const void* data, Acc absent)
      : data_(static_cast<const float*>(data)), one_(absent) {
    const RowParameter parameter = UnpackRowParameter(word);
    of_row_ = parameter.kind == RowParameterKind::kRow;
    if (parameter.kind == RowParameterKind::kOne) {
      one_ = LoadOne<Acc>(parameter.dtype, data, 0);
    }
  }

  /// Asks for vectors [first, first + kAtOnce) of a row of `count` elements.
  template <typename Group>
  __device__ __forceinline__ void Fetch(const Group& group, int first, int count) {
    if constexpr (kHasRows) {
      const float* const base = Held::Pinned(data_ + Held::IndexOf(group, 0));
      const int left = of_row_ ? count - Held::IndexOf(group, 0) : 0;
#pragma unroll
      for (int i = 0; i < kAtOnce && first + i < Held::kVectors; ++i) {
#pragma unroll
        for (int p = 0; p < kPieces; ++p) {
          const int at = (first + i) * Held::template kStep<Group> + p * kLengthOfPiece;
          LoadConstantIf(left >= at + kLengthOfPiece, base + at, pieces_[i][p]);
          if constexpr (kLengthOfPiece == 2) {  // rows of longer ones are whole numbers of them
            LoadFirstIf(left == at + 1, base + at, pieces_[i][p]);
          }
        }
      }
    }
  }

  /// The elements of vector `v`. Requires: Fetch, in steps of kAtOnce, has asked for it last.
  __device__ __forceinline__ void FetchedValues(int v, Acc (&values)[kLength]) const {
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      const unsigned bits = pieces_[v % kAtOnce][j / kLengthOfPiece].words[j % kLengthOfPiece];
      values[j] = of_row_ ? static_cast<Acc>(__uint_as_float(bits)) : one_;
    }
  }

 private:
  static constexpr bool kHasRows = !std::is_same_v<T, float>;  // those of f32 are no wider
  static constexpr int kLengthOfPiece = kLength < 4 ? kLength : 4;
  static constexpr int kPieces = kLength / kLengthOfPiece;
  using Piece = Words<kLengthOfPiece>;

  static __device__ __forceinline__ void LoadFirstIf(bool condition, const float* from, Words<2>& piece) {
    Word first{{piece.words[0]}};
    LoadConstantIf(condition, from, first);
    piece.words[0] = first.words[0];
  }

  const float* data_;
  bool of_row_;
  Acc one_;
  Piece pieces_[kAtOnce][kPieces] = {};
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_WIDE_CUH_

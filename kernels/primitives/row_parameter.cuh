// A weight or bias as kernels read it: one element for all, or one for each of a row, of any floating-point type.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// Elements [index, index + kLength) as far as the row of `count` reaches, one by one. Kept out of line: it serves
/// types other than x's and f32, and parameters that begin anywhere.
template <int kLength, typename Acc>
__device__ __noinline__ void LoadParameterElements(DataType dtype, const void* data, std::int64_t index,
                                                   std::int64_t count, Acc* values) {
  for (int j = 0; j < kLength; ++j) {
    values[j] = index + j < count ? LoadOne<Acc>(dtype, data, index + j) : Acc{0};
  }
}

/// A parameter's element in f64, one by one.
__device__ __forceinline__ double ParameterInF64(std::int64_t word, const void* data, std::int64_t index,
                                                 double absent) {
  const RowParameter parameter = UnpackRowParameter(word);
  return parameter.kind == RowParameterKind::kNone
             ? absent
             : LoadOne<double>(parameter.dtype, data, parameter.kind == RowParameterKind::kRow ? index : 0);
}

/// kLength elements of f32. Requires: `from` on a 16-byte boundary, or of 8 where they are two.
template <int kLength, typename Acc>
__device__ __forceinline__ void LoadConstantF32(const float* from, Acc (&values)[kLength]) {
  if constexpr (kLength % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kLength; i += 4) {
      Acc four[4];
      Unpack<float>(LoadConstantGranule(from + i), four);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        values[i + j] = four[j];
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      values[i] = static_cast<Acc>(__ldg(from + i));
    }
  }
}

/// A parameter of one request. Its memory must not be written by the launch: no output may lie where a parameter does.
/// T is the type of x: parameters of that type are read in vectors, and asked for before
/// the row's reduction (`Prefetch`), so that their way overlaps with the row's.
///
/// `kPlain`: whole vectors of x's type or of f32 on 16-byte boundaries, if it is not one element; see RowVectors.
template <typename T, int kVectors, typename Acc, bool kPlain>
class DeviceParameter {
 public:
  static constexpr int kLength = kElementsOfGranule<T>;

  /// `absent`: what a parameter that was left out counts as.
  __device__ __forceinline__ DeviceParameter(std::int64_t word, const void* data, Acc absent)
      : data_(data), one_(absent) {
    const RowParameter parameter = UnpackRowParameter(word);
    dtype_ = parameter.dtype;
    of_row_ = parameter.kind == RowParameterKind::kRow;
    if (parameter.kind == RowParameterKind::kOne) {
      one_ = LoadOne<Acc>(dtype_, data, 0);
    }
    const bool aligned = kPlain || reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
    same_type_ = of_row_ && aligned && dtype_ == kDataTypeOf<T>;
    in_f32_ = of_row_ && aligned && dtype_ == DataType::kFp32;
  }

  /// Vectors that are asked for together.
  static constexpr int kTogether = kVectors < 4 ? kVectors : 4;

  /// Asks for what `Values` will return for vectors [first, first + kTogether) of a row of `count` elements: all at
  /// once, where asking for each when it is needed would wait for each. A vector that reaches beyond the row is left to
  /// `Values`.
  template <typename Group>
  __device__ __forceinline__ void Prefetch(const Group& group, int first, int count) {
    if (same_type_) {
#pragma unroll
      for (int v = 0; v < kTogether; ++v) {
        const int index = RowVectors<T, kVectors, kPlain>::IndexOf(group, first + v);
        if (kPlain ? index < count : index + kLength <= count) {
          held_.vectors[v] = LoadConstantGranule(static_cast<const T*>(data_) + index);
        }
      }
    }
  }

  /// After the row's reduction; see RowVectors.
  __device__ __forceinline__ void StayPacked() { held_.StayPacked(); }

  /// The parameter's elements that belong to vector `v`, which begins at element `index` of the row. Requires:
  /// index < count, and for kPrefetched that `v` is among those that Prefetch asked for last.
  template <bool kPrefetched, typename Index>
  __device__ __forceinline__ void Values(int v, Index index, Index count, Acc (&values)[kLength]) const {
    if (!of_row_) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        values[j] = one_;
      }
    } else if (same_type_) {
      const bool is_held = kPrefetched && IsWhole(index, count);
      Unpack<T>(is_held ? held_.vectors[v % kTogether] : VectorAt(index, count), values);
    } else if (kPlain || in_f32_) {
      if (IsWhole(index, count)) {
        LoadConstantF32(static_cast<const float*>(data_) + index, values);
      } else {
#pragma unroll
        for (int j = 0; j < kLength; ++j) {
          values[j] = index + j < count ? static_cast<Acc>(static_cast<const float*>(data_)[index + j]) : Acc{0};
        }
      }
    } else {
      Acc elements[kLength];
      LoadParameterElements<kLength, Acc>(dtype_, data_, index, count, elements);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        values[j] = elements[j];
      }
    }
  }

 private:
  template <typename Index>
  static __device__ __forceinline__ bool IsWhole(Index index, Index count) {
    return kPlain || index + kLength <= count;
  }

  template <typename Index>
  __device__ __forceinline__ Granule VectorAt(Index index, Index count) const {
    const T* const from = static_cast<const T*>(data_) + index;
    return IsWhole(index, count) ? LoadConstantGranule(from)
                                 : LoadElements(from, 0, static_cast<int>(count - index), Narrow<T>(Acc{0}));
  }

  const void* data_;
  DataType dtype_;
  bool of_row_;
  bool same_type_;
  bool in_f32_;
  Acc one_;
  RowVectors<T, kTogether, kPlain> held_{};
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_CUH_

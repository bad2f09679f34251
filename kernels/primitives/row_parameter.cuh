// A weight or bias as kernels read it: one element for all, or one for each of a row, of any floating-point type.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// A parameter's element, one by one.
template <typename Acc>
__device__ __forceinline__ Acc ParameterAt(std::int64_t word, const void* data, std::int64_t index, Acc absent) {
  const RowParameter parameter = UnpackRowParameter(word);
  return parameter.kind == RowParameterKind::kNone
             ? absent
             : LoadOne<Acc>(parameter.dtype, data, parameter.kind == RowParameterKind::kRow ? index : 0);
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
/// T is the type of x: parameters of that type are read in vectors, and may be asked for before the row's reduction
/// (`Prefetch`), so that their way overlaps with the row's.
///
/// `Held`: what a thread has of a row of x, in whose places it has the parameter.
///
/// `kAccess`: of rows and parameters (row_access.h). Unless it knows them to be plain, `IsPlain` must be asked for
/// before `Values` is; unless rows are whole vectors, the last may reach beyond the row, and what lies there is not
/// read. The constructor and `Prefetch` read nothing that they would wait for, and have no branch, so that the row's
/// own reads and the parameter's are on their way together.
///
/// `kKnowsFirst`: of vectors that every row has nothing is asked even where the last may reach beyond it. Where there
/// are two parameters, registers would not do else; where there is one, small tensors were up to 8 % slower so.
template <typename Held, typename Acc, RowAccess kAccess, bool kKnowsFirst = false>
class DeviceParameter {
 public:
  using T = typename Held::Element;
  using Unit = typename Held::Unit;
  /// Whether rows are whole vectors.
  static constexpr bool kWhole = HasVectors(kAccess);
  /// Whether the parameter is known to be plain. Of the usual launch, those of odd rows in vectors are, too.
  static constexpr bool kPlain = kWhole || (kAccess == RowAccess::kOdd && std::is_same_v<Unit, Granule>);
  static constexpr int kLength = Held::kLength;

  /// `absent`: what a parameter that was left out counts as.
  __device__ __forceinline__ DeviceParameter(std::int64_t word, const void* data, Acc absent) : one_(absent) {
    FindAgain(word, data);
  }

  /// For what would not be kept in registers meanwhile; what has been asked for stays.
  __device__ __forceinline__ void FindAgain(std::int64_t word, const void* data) {
    data_ = data;
    const RowParameter parameter = UnpackRowParameter(word);
    dtype_ = parameter.dtype;
    of_row_ = parameter.kind == RowParameterKind::kRow;
    for_all_ = parameter.kind == RowParameterKind::kOne;
    same_type_ = of_row_ && IsPlain() && dtype_ == kDataTypeOf<T>;
  }

  /// Whether its elements can be read in vectors: it begins on a 16-byte boundary, and is of T or of f32.
  __device__ __forceinline__ bool IsPlain() const {
    return kPlain || !of_row_ ||
           (reinterpret_cast<std::uintptr_t>(data_) % 16 == 0 &&
            (dtype_ == kDataTypeOf<T> || dtype_ == DataType::kFp32));
  }

  __device__ __forceinline__ bool IsAbsent() const { return !of_row_ && !for_all_; }

  /// If it was left out, it is the plain row of T at `row` from here on.
  __device__ __forceinline__ void ReadFromIfAbsent(const void* row) {
    data_ = IsAbsent() ? row : data_;
    same_type_ = same_type_ || IsAbsent();
  }

  /// Vectors that are asked for together at most.
  static constexpr int kMostTogether = 64 / static_cast<int>(sizeof(Unit));
  static constexpr int kTogether = Held::kVectors <= kMostTogether ? Held::kVectors : kMostTogether;

  /// Whether it is a plain row of T, which `Prefetch`, `Fetch` and `Base` are for.
  __device__ __forceinline__ bool IsOfSameType() const { return same_type_; }

  /// Asks for the first kCount vectors of a row of `count` elements, before the row's reduction. Of another parameter
  /// than a plain row of T it asks for nothing. A granule that reaches beyond the row is left to `FetchRest`.
  template <int kCount = kTogether, typename Group>
  __device__ __forceinline__ void Prefetch(const Group& group, int count) {
    const T* const base = Base(group);
    const int left = LeftOf(group, count);
#pragma unroll
    for (int v = 0; v < kCount; ++v) {
      LoadConstantIf(same_type_ && (IsSure<Group>(v) || left >= v * kStep<Group>), base + v * kStep<Group>, held_[v]);
      if constexpr (kReadsHalves) {
        LoadConstantHalfIf(same_type_ && !IsSure<Group>(v) && HasHalf(left, v * kStep<Group>), base + v * kStep<Group>,
                           held_[v]);
      }
    }
  }

  /// Asks for vectors [first + kFrom, first + kCount): all at once, where asking for each when it is needed would wait
  /// for each. Otherwise as Prefetch. `kFull`: see Held::IsFull. Requires: IsOfSameType().
  template <int kCount, bool kFull = false, int kFrom = 0, typename Group>
  __device__ __forceinline__ void Fetch(const Group& group, int first, int count) {
    static_assert(kCount <= kTogether);
    const T* const base = Base(group);
    const int left = LeftOf(group, count);
#pragma unroll
    for (int i = kFrom; i < kCount; ++i) {
      const int v = first + i;
      if (v >= Held::kVectors) {
        break;
      }
      if (kFull || IsSure<Group>(v) || left >= v * kStep<Group>) {  // nothing but the read, so that it takes no branch
        held_[i] = LoadConstant<Unit>(base + v * kStep<Group>);
      }
      if constexpr (kReadsHalves && !kFull) {
        LoadConstantHalfIf(!IsSure<Group>(v) && HasHalf(left, v * kStep<Group>), base + v * kStep<Group>, held_[i]);
      }
    }
  }

  /// To be called after Prefetch, or Fetch of the same vectors: reads what the row of `count` elements has of a granule
  /// that reaches beyond it. Requires: IsOfSameType().
  template <int kCount, typename Group>
  __device__ __forceinline__ void FetchRest(const Group& group, int first, int count) {
    if constexpr (kBeginAnywhere<kAccess> && std::is_same_v<Unit, Granule>) {
      const int left = LeftOf(group, count) + kLength - first * kStep<Group>;
      const int rest = left & (kStep<Group> - 1);
      if (left > 0 && left < kCount * kStep<Group> && rest > 0 && rest < kLength) {
        const Granule last = LoadConstantElements(Base(group) + first * kStep<Group> + left - rest, rest);
#pragma unroll
        for (int v = 0; v < kCount; ++v) {
          if (first + v >= Held::template kFirstThatEnds<Group>) {
            ReplaceIf(left / kStep<Group> == v, last, held_[v]);
          }
        }
      }
    }
  }

  /// After the row's reduction; see RowVectors.
  __device__ __forceinline__ void StayPacked() {
#pragma unroll
    for (Unit& vector : held_) {
      Opaque(vector);
    }
  }

  /// The elements of vector `v`. Requires: IsOfSameType(), and Prefetch, or Fetch in steps of kCount, has asked for it
  /// last, and FetchRest.
  template <int kCount = kTogether>
  __device__ __forceinline__ void FetchedValues(int v, Acc (&values)[kLength]) const {
    Unpack<T>(held_[v % kCount], values);
  }

  /// Where this thread's vectors of a plain row of T begin; see RowVectors::Pinned.
  template <typename Group>
  __device__ __forceinline__ const T* Base(const Group& group) const {
    return Held::Pinned(static_cast<const T*>(data_) + Held::IndexOf(group, 0));
  }

  /// Reads the one element that stands for all, where it is such a parameter. To be called before `Values`, unless
  /// IsOfSameType().
  __device__ __forceinline__ void Settle() {
    if (for_all_) {
      one_ = LoadOne<Acc>(dtype_, data_, 0);
    }
  }

  /// The elements from `index` < count on, as many as a vector has. Requires: IsPlain(), Settle().
  template <typename Index>
  __device__ __forceinline__ void Values(Index index, Index count, Acc (&values)[kLength]) const {
    if (!of_row_) {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        values[j] = one_;
      }
    } else if (same_type_) {
      Unpack<T>(VectorAt(index, count), values);
    } else if (IsWhole(index, count)) {
      LoadConstantF32(static_cast<const float*>(data_) + index, values);
    } else {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        values[j] = index + j < count ? static_cast<Acc>(static_cast<const float*>(data_)[index + j]) : Acc{0};
      }
    }
  }

  /// Whether the row of `count` elements has all of the vector at `index`; of rows of whole ones it has all or none.
  template <typename Index>
  static __device__ __forceinline__ bool IsWhole(Index index, Index count) {
    return kWhole || index + kLength <= count;
  }

 private:
  template <typename Group>
  static constexpr int kStep = Held::template kStep<Group>;

  /// Half a vector may be all that a row has of it: of tiled rows it has halves only, of words halves are elements.
  static constexpr bool kReadsHalves =
      kAccess == RowAccess::kTiled || (std::is_same_v<Unit, Word> && Held::kLength == 2);

  /// Whether it is known that every row has all of vector `v`.
  template <typename Group>
  static __device__ __forceinline__ constexpr bool IsSure(int v) {
    constexpr int kFirst = Held::template kFirstThatEnds<Group>;
    return (kKnowsFirst || std::is_same_v<Unit, Word> || kFirst == Held::kVectors) && v < kFirst;
  }

  /// How many elements of a row of `count` lie beyond this thread's first vector: it has all of vector v where they
  /// reach v * kStep, and of rows of whole ones, too, where they reach into it.
  template <typename Group>
  static __device__ __forceinline__ int LeftOf(const Group& group, int count) {
    return count - Held::IndexOf(group, 0) - (kWhole ? 1 : kLength);
  }

  /// Whether the row has the first half of the vector at `at`, and no more.
  static __device__ __forceinline__ bool HasHalf(int left, int at) { return left < at && left + kLength / 2 >= at; }

  template <typename Index>
  __device__ __forceinline__ Unit VectorAt(Index index, Index count) const {
    const T* const from = static_cast<const T*>(data_) + index;
    return IsWhole(index, count) ? LoadConstant<Unit>(from)
                                 : LoadElements<Unit>(from, static_cast<int>(count - index), Narrow<T>(Acc{0}));
  }

  const void* data_;
  DataType dtype_;
  bool of_row_;
  bool for_all_;
  bool same_type_;
  Acc one_;
  Unit held_[kTogether] = {};
};

/// Elements [index, index + kLength) as far as the row of `count` reaches, one by one. Kept out of line: it serves
/// types other than x's and f32, and parameters that begin anywhere.
template <int kLength, typename Acc>
__device__ __noinline__ void LoadParameterElements(DataType dtype, const void* data, std::int64_t index,
                                                   std::int64_t count, Acc* values) {
  for (int j = 0; j < kLength; ++j) {
    values[j] = index + j < count ? LoadOne<Acc>(dtype, data, index + j) : Acc{0};
  }
}

/// A parameter for rows that are walked over; unless kPlain, of any type, and it begins anywhere.
template <typename T, typename Acc, bool kPlain>
class StreamedParameter {
 public:
  static constexpr int kLength = kElementsOfGranule<T>;

  __device__ __forceinline__ StreamedParameter(std::int64_t word, const void* data, Acc absent)
      : vectors_(word, data, absent), data_(data), dtype_(UnpackRowParameter(word).dtype) {
    vectors_.Settle();
  }

  /// See DeviceParameter.
  __device__ __forceinline__ void Values(std::int64_t index, std::int64_t count, Acc (&values)[kLength]) const {
    if (kPlain || vectors_.IsPlain()) {
      vectors_.Values(index, count, values);
      return;
    }
    Acc elements[kLength];
    LoadParameterElements<kLength, Acc>(dtype_, data_, index, count, elements);
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      values[j] = elements[j];
    }
  }

 private:
  DeviceParameter<RowVectors<T, 1, true>, Acc, kPlain ? RowAccess::kPlain : RowAccess::kShifted> vectors_;
  const void* data_;
  DataType dtype_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_CUH_

// Results of a held row whose elements are read again: for rows that want more than most, so that kernels need not have
// the registers for that beside the row. What is read was read a moment ago, so most of it comes from a cache.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_AGAIN_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_AGAIN_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/granule_shift.cuh"
#include "kernels/primitives/row_parameter.cuh"

namespace kernelwire {

/// A row of x as it lies in memory.
template <typename T>
struct RowAgain {
  const T* x;

  __device__ __forceinline__ T Element(int index) const { return x[index]; }
  /// Whether Vector may be asked for.
  __device__ __forceinline__ bool IsInVectors() const { return OddBytesOf(x) == 0; }
  /// The 16 bytes from element `index` on, a multiple of as many.
  __device__ __forceinline__ Granule Vector(int index) const { return LoadGranule(x + index); }
};

/// Calls f(index, values) with all that this thread holds of a row of `count` elements: a vector or an element of
/// `row`, widened, from `index` on, and writes at `y` what f makes of it. y may lie where the row does. Requires: all
/// lanes of the group have read the row.
template <typename Held, typename Acc, typename Group, typename Row, typename F>
__device__ __forceinline__ void ForEachAgain(const Group& group, const Row& row, typename Held::Element* y, int count,
                                             const F& f) {
  using T = typename Held::Element;
  constexpr bool kInVectors = std::is_same_v<typename Held::Unit, Granule> && std::is_same_v<Acc, AccumulatorOf<T>>;
  const bool in_vectors = kInVectors && row.IsInVectors() && OddBytesOf(y) == 0;
  constexpr int kAtOnce = kInVectors ? 2 : 4 / Held::kLength > 0 ? 4 / Held::kLength : 1;
#pragma unroll kAtOnce
  for (int v = 0; v < Held::kVectors; ++v) {
    const int index = Held::IndexOf(group, v);
    if constexpr (kInVectors) {
      if (in_vectors && index + Held::kLength <= count) {
        Acc values[Held::kLength];
        Unpack<T>(row.Vector(index), values);
        f(index, values);
        StoreGranule(y + index, Pack<T>(values));
        continue;
      }
    }
#pragma unroll 1
    for (int i = index; i < min(index + Held::kLength, count); ++i) {
      Acc values[1] = {Widen<Acc>(row.Element(i))};
      f(i, values);
      y[i] = Narrow<T>(values[0]);
    }
  }
}

/// A parameter of any type and kind for ForEachAgain, one vector or element at a time.
template <typename T, typename Acc>
class ParameterAgain {
 public:
  __device__ __forceinline__ ParameterAgain(std::int64_t word, const void* data, Acc absent)
      : vectors_(word, data, absent), word_(word), data_(data), absent_(absent) {}

  template <int kCount>
  __device__ __forceinline__ void Values(int index, int count, Acc (&values)[kCount]) const {
    if constexpr (kCount == kElementsOfGranule<T>) {
      vectors_.Values(index, count, values);
    } else {
      static_assert(kCount == 1);
      values[0] = ParameterAt<Acc>(word_, data_, index, absent_);
    }
  }

 private:
  StreamedParameter<T, Acc, false> vectors_;
  std::int64_t word_;
  const void* data_;
  Acc absent_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_AGAIN_CUH_

// The beginning of a row: its mean is near enough to that of the row to take deviations from (row_moments.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_BEGINNING_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_BEGINNING_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/rounded_product.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_reduce.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// Lanes whose first vectors, of kLength elements each, are the beginning of a row of T. Where 16 bits are left in the
/// end, little is enough; FP32 would lose a bit or two.
template <typename T, int kLength = kElementsOfGranule<T>>
inline constexpr int kLanesOfBeginning = (sizeof(T) == 2 ? 1 : 4) * kElementsOfGranule<T> / kLength;

/// This lane's share of the mean of the beginning of a row of `width` elements, which kLanes lanes have: those of its
/// vector that exist, and 0 for others: a tree of neighbours, as are the lanes. Each element is divided first, since a
/// sum could leave the type.
template <int kLanes, int kLength, typename Acc>
__device__ __forceinline__ Acc ShareOfBeginning(Acc (&values)[kLength], int width) {
  constexpr int kElements = kLanes * kLength;
  const Acc share = width >= kElements ? Acc{1} / kElements : Acc{1} / static_cast<Acc>(width);
#pragma unroll
  for (Acc& value : values) {
    value = RoundedProduct(value, share);
  }
#pragma unroll
  for (int step = 1; step < kLength; step *= 2) {
#pragma unroll
    for (int i = 0; i < kLength; i += 2 * step) {
      values[i] += values[i + step];
    }
  }
  return values[0];
}

/// The beginning of a row, for threads that have no lane beside them that holds it. Asked for with the row, so that it
/// is there when that is. `kPlain`: the row is aligned to 16 bytes, and longer than its beginning; a lane has a vector.
/// Otherwise a lane has an element. The mean is the same, to the bit.
template <typename T, bool kPlain>
struct RowBeginning {
  static constexpr int kLength = kElementsOfGranule<T>;
  Granule granule;
  T element;

  __device__ __forceinline__ void Load(const T* row, std::int64_t width) {
    if constexpr (kPlain) {
      granule = LoadConstantGranule(row + threadIdx.x % kLanesOfBeginning<T> * kLength);
    } else {
      const std::int64_t index =
          min(static_cast<std::int64_t>(threadIdx.x % (kLanesOfBeginning<T> * kLength)), width - 1);
      element = index < 0 ? T(0.0F) : row[index];
    }
  }
  /// The same of a row that is longer.
  __device__ __forceinline__ void LoadWithin(const T* row) {
    static_assert(!kPlain);
    element = row[threadIdx.x % (kLanesOfBeginning<T> * kLength)];
  }
  /// Called by whole warps.
  template <typename Acc>
  __device__ __forceinline__ Acc Mean() const {
    constexpr int kElements = kLanesOfBeginning<T> * kLength;
    const auto add = [](Acc a, Acc b) { return a + b; };
    if constexpr (kPlain) {
      Acc values[kLength];
      Unpack<T>(granule, values);
      return ReduceLanes<kLanesOfBeginning<T>>(ShareOfBeginning<kLanesOfBeginning<T>>(values, kElements), add,
                                               kWholeWarp);
    } else {
      return ReduceLanes<kElements>(RoundedProduct(Widen<Acc>(element), Acc{1} / kElements), add, kWholeWarp);
    }
  }
};

/// A mean to begin with of a held row of `width` elements: that of its beginning.
template <typename Acc, typename Held, int kLanes, typename Beginning>
__device__ __forceinline__ Acc FirstMean(const LaneGroup<kLanes>& group, const Held& held,
                                         const Beginning& /*beginning*/, int width) {
  using T = typename Held::Element;
  constexpr int kWanted = kLanesOfBeginning<T, Held::kLength>;
  constexpr int kSome = kWanted < kLanes ? kWanted : kLanes;
  Acc values[Held::kLength];
  Unpack<T>(held.vectors[0], values);
  const Acc share = ShareOfBeginning<kSome>(values, width);
  return group.FromFirst(group.template ReduceWarp<kSome>(share, [](Acc a, Acc b) { return a + b; }));
}

/// That of all of it, where a thread has it to itself.
template <typename Acc, typename Held, typename Beginning>
__device__ __forceinline__ Acc FirstMean(const LaneGroup<1>& /*group*/, const Held& held,
                                         const Beginning& /*beginning*/, int width) {
  const Acc share = Acc{1} / static_cast<Acc>(width);
  Acc mean = Acc{0};
  ForEachElement<Acc>(held, 0, [&](int, Acc value) { mean = fma(value, share, mean); });
  return mean;
}

template <typename Acc, typename Held, typename Beginning>
__device__ __forceinline__ Acc FirstMean(const BlockGroup& /*group*/, const Held& /*held*/, const Beginning& beginning,
                                         int /*width*/) {
  return beginning.template Mean<Acc>();
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_BEGINNING_CUH_

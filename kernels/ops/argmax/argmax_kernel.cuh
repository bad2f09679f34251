// What argmax and argmin do with an element on the device: the largest, as max finds it, and where it is. A tile is
// first asked for its largest only; where that is new, which soon is seldom, the tile is searched.
#ifndef KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/max/max_kernel.cuh"

namespace kernelwire {

/// The best so far. Of equals (all NaN are equal) the one with the lower index is the better.
template <typename Work>
struct Best {
  Work value;
  std::int64_t index;

  __device__ __forceinline__ bool SameValue(Work other) const {
    return value == other || (value != value && other != other);
  }
  __device__ __forceinline__ bool LosesTo(const Best& other) const {
    if (SameValue(other.value)) {
      return other.index < index;
    }
    return other.value > value || other.value != other.value;
  }
};

template <typename T>
struct Place {
  using Element = T;
  using Work = ComparedAs<T>;
  using Total = Best<Work>;
  static constexpr int kInputs = 1;
  static constexpr bool kColumns = true;
  static constexpr bool kVectors = Extremum<T>::kVectors;
  Turned<T> turned;

  __device__ __forceinline__ T Fill() const { return turned.Least(); }
  /// Loses even to an equal: every element has a lower index.
  static __device__ __forceinline__ Total Identity() { return {Turned<T>::Lowest(), kLargest<std::int64_t>}; }
  static __device__ __forceinline__ Total Combine(const Total& a, const Total& b) {
    const bool b_wins = a.LosesTo(b);
    return {b_wins ? b.value : a.value, b_wins ? b.index : a.index};
  }

  /// Elements come in the order of their indices, and what fills a tile up comes last and is never larger.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount], std::int64_t first,
                                          std::int64_t step, Total& total) const {
    Total found{LargestOfTile(turned, tile), first};
    if (!total.LosesTo(found)) {
      return;
    }
    bool searching = true;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      Work values[kLength];
      TurnPacked(turned, tile[u].inputs[0], values);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        if (searching && found.SameValue(values[j])) {
          found.index = first + u * step + j;
          searching = false;
        }
      }
    }
    total = found;
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place,
                                        const Total& total) const {
    StoreResult(arguments, place, static_cast<long long>(total.index));
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_KERNEL_CUH_

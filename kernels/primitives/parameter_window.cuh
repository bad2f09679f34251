// A weight or bias in the places of a row that is held as it lies (row_granules.cuh): the row's elements are behind
// their granules' boundaries by an offset, the parameter's by another, so its vectors lie across two granules each.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_PARAMETER_WINDOW_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_PARAMETER_WINDOW_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/granule_shift.cuh"

namespace kernelwire {

/// Up to kVectorsAtOnce vectors of a thread's part of a parameter, memory that nobody writes, which begins on a 16-byte
/// boundary. `Held`: RowGranules. A vector is put together from three pairs of words, which the first-level cache has
/// for neighbouring lanes too.
template <typename Held, int kVectorsAtOnce>
class ParameterWindow {
 public:
  using T = typename Held::Element;

  /// Asks for vectors [first, first + kCount), as far as there are any, of a parameter of `count` elements, for a row
  /// with `offset`. Slots that the row does not reach will be undefined.
  template <int kCount, typename Group>
  __device__ __forceinline__ void Fetch(const Group& group, const T* data, int offset, int count, int first) {
    static_assert(kCount <= kVectorsAtOnce);
    constexpr int kStep = Held::template kStep<Group>;
    const int odd = offset == 0 ? 0 : Held::kLength - offset;  // elements before a vector in the granule it begins in
    const int skipped = odd >= kPair ? kPair : 0;
    const int wrapped = group.lane() == 0 && offset != 0 ? kStep : 0;
    const int begin = Held::IndexOf(group, 0) - (offset == 0 ? 0 : Held::kLength) + skipped;
    const int begins[3] = {begin + wrapped, begin + kPair + (skipped == 0 ? wrapped : 0), begin + 2 * kPair};
    one_ = (odd - skipped) * static_cast<int>(sizeof(T)) >= 4;
    bits_ = static_cast<unsigned>(odd) * sizeof(T) % 4 * 8;
    const bool needs_third = odd != skipped;
    // The lanes' last pairs are in the granule behind their last vectors at most.
    const int end = Held::IndexOf(group, first + kCount) - group.lane() * Held::kLength + Held::kLength;
    if (end <= count) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
#pragma unroll
        for (int k = 0; k < 3; ++k) {
          if (first + i < Held::kVectors && (k < 2 || needs_third)) {
            pairs_[i][k] = PairAt(data + begins[k] + (first + i) * kStep);
          }
        }
      }
      return;
    }
    const uint2 rest = RestOf(data, count);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        const int at = begins[k] + (first + i) * kStep;
        pairs_[i][k] = rest;
        if (first + i < Held::kVectors && at + kPair <= count && (k < 2 || needs_third)) {
          pairs_[i][k] = PairAt(data + at);
        }
      }
    }
  }

  /// The i-th of the vectors that were asked for last.
  __device__ __forceinline__ Granule At(int i) const {
    return FromPairs<T>(pairs_[i][0], pairs_[i][1], pairs_[i][2], one_, bits_);
  }

 private:
  static constexpr int kPair = Held::kLength / 2;  // elements of a pair of words

  static __device__ __forceinline__ uint2 PairAt(const T* at) { return __ldg(reinterpret_cast<const uint2*>(at)); }

  /// What the parameter has of a pair that reaches beyond it.
  static __device__ __forceinline__ uint2 RestOf(const T* data, int count) {
    const int rest = count % kPair;
    const T* const from = data + (count - rest);
    uint2 pair{};
    if (rest * sizeof(T) >= 4) {
      pair.x = __ldg(reinterpret_cast<const unsigned*>(from));
    }
    if (sizeof(T) == 2 && rest % 2 != 0) {
      const unsigned half = __ldg(reinterpret_cast<const unsigned short*>(from + rest - 1));
      pair.x = rest == 1 ? half : pair.x;
      pair.y = rest == 1 ? 0 : half;
    }
    return pair;
  }

  uint2 pairs_[kVectorsAtOnce][3] = {};
  bool one_ = false;
  unsigned bits_ = 0;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_PARAMETER_WINDOW_CUH_

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
  static constexpr bool kVectors = true;
  static constexpr bool kAnyOrder = true;
  using ColumnSum = Total;
  Turned<T> turned;

  __device__ __forceinline__ T Fill() const { return turned.Least(); }
  /// Loses even to an equal: every element has a lower index.
  static __device__ __forceinline__ Total Identity() { return {Turned<T>::Lowest(), kLargest<std::int64_t>}; }
  static __device__ __forceinline__ Total Combine(const Total& a, const Total& b) {
    const bool b_wins = a.LosesTo(b);
    return {b_wins ? b.value : a.value, b_wins ? b.index : a.index};
  }

  using Reference = Work;
  using Share = std::int64_t;
  static __device__ __forceinline__ Reference ReferenceOf(const Total& total) { return total.value; }
  static __device__ __forceinline__ Reference Larger(Reference a, Reference b) { return LargerOrNan(a, b); }
  static __device__ __forceinline__ Share ShareOf(const Total& total, Reference largest) {
    return total.SameValue(largest) ? total.index : kLargest<std::int64_t>;
  }
  static __device__ __forceinline__ Share AddShares(Share a, Share b) { return min(a, b); }
  static __device__ __forceinline__ Total TotalOf(Share index, Reference largest) { return {largest, index}; }

  /// Elements come in the order of their indices, and what fills a tile up comes last and is never larger.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount], const ElementNumbers& numbers,
                                          Total& total) const {
    Total found{LargestOfTile(turned, tile), numbers.first};
    if (total.LosesTo(found)) {
      const int place = PlaceIn(tile, found.value);
      found.index = numbers.Of<T>(place / kLength, place % kLength);
      total = found;
    }
  }

  template <int kCount, int kLength>
  __device__ __forceinline__ void AddColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                             const ElementNumbers& numbers, Total (&totals)[kLength]) const {
    if constexpr (kHasPairs<T> && kLength % 2 == 0) {
      unsigned pairs[kLength / 2];
      LargestPairs(rows, FlipOfHalves(turned.smallest), pairs);
#pragma unroll
      for (int i = 0; i < kLength / 2; ++i) {
        AddPairOfColumns(rows, numbers, i, pairs[i], totals[2 * i], totals[2 * i + 1]);
      }
    } else {
      Work largest[kLength];
      LargestOfPlaces(turned, rows, largest);
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        if (totals[j].LosesTo({largest[j], numbers.first})) {
          totals[j] = {largest[j], numbers.Of<T>(PlaceIn(ColumnOf(rows, j).tile, largest[j]), 0)};
        }
      }
    }
  }

  __device__ __forceinline__ void Store(const ReduceArguments& arguments, const ResultPlace& place,
                                        const Total& total) const {
    StoreResult(arguments, place, static_cast<long long>(total.index));
  }

 private:
  /// Columns 2 * i and 2 * i + 1 of a tile of rows; `pair`: the largest of each.
  template <int kCount, int kLength>
  __device__ __forceinline__ void AddPairOfColumns(const Operand<T, kLength, 1> (&rows)[kCount],
                                                   const ElementNumbers& numbers, int i, unsigned pair, Total& low,
                                                   Total& high) const {
    Work largest[2];
    WidenHalves<T>(pair, largest);
    const bool low_loses = low.LosesTo({largest[0], numbers.first});
    const bool high_loses = high.LosesTo({largest[1], numbers.first});
    if (low_loses || high_loses) {
      const unsigned holders = HoldersOfPair(rows, FlipOfHalves(turned.smallest), i, pair);
      const Total new_low{largest[0], numbers.Of<T>(__ffs(static_cast<int>(holders & 0xFFFF)) - 1, 0)};
      const Total new_high{largest[1], numbers.Of<T>(__ffs(static_cast<int>(holders >> 16)) - 1, 0)};
      low = low_loses ? new_low : low;
      high = high_loses ? new_high : high;
    }
  }

  /// Where in the tile its largest is first, counted through its operands in turn.
  template <int kCount, int kLength>
  __device__ __forceinline__ int PlaceIn(const Operand<T, kLength, 1> (&tile)[kCount], Work largest) const {
    if constexpr (kHasPairs<T> && kLength % 2 == 0) {
      const unsigned flip = FlipOfHalves(turned.smallest);
      return FirstHalf(tile, flip, PairFilled<T>(largest, flip));
    } else {
      int place = 0;
#pragma unroll
      for (int u = kCount - 1; u >= 0; --u) {
        Work values[kLength];
        TurnPacked(turned, tile[u].inputs[0], values);
#pragma unroll
        for (int j = kLength - 1; j >= 0; --j) {
          // A NaN is in the tile only if the largest is one.
          place = values[j] == largest || values[j] != values[j] ? u * kLength + j : place;
        }
      }
      return place;
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_KERNEL_CUH_

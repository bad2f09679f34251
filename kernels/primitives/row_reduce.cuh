// Reductions over lanes of a warp. The result is the same, to the bit, in each of them.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_REDUCE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_REDUCE_CUH_

#include <cuda_runtime.h>

#include <cstring>
#include <type_traits>

namespace kernelwire {

/// Exchanges any plain value of whole 4-byte words with the lane whose number differs in the bits of `lane_mask`.
template <typename T>
__device__ __forceinline__ T ShuffleXor(unsigned members, const T& value, int lane_mask) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
  constexpr int kWords = static_cast<int>(sizeof(T) / 4);
  unsigned words[kWords];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    words[i] = __shfl_xor_sync(members, words[i], lane_mask);
  }
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
}

/// The mask of the aligned group of kLanes lanes that this thread belongs to.
template <int kLanes>
__device__ __forceinline__ unsigned MembersOfGroup() {
  static_assert(kLanes >= 1 && kLanes <= 32 && (kLanes & (kLanes - 1)) == 0);
  if constexpr (kLanes == 32) {
    return 0xFFFFFFFFU;
  } else {
    return ((1U << kLanes) - 1U) << (threadIdx.x % 32 / kLanes * kLanes);
  }
}

/// Combines the values of an aligned group of kLanes lanes, neighbours first: the order is that of a binary tree over
/// the lanes, which larger trees can be made of. `combine` must give the same bits for (a, b) and (b, a): then both
/// lanes of an exchange agree, and all lanes in the end. Requires: all of `members`, which the group is among, call it.
/// Where that is a mask that the compiler does not know, it first finds out which lanes have the same.
template <int kLanes, typename T, typename Combine>
__device__ __forceinline__ T ReduceLanes(T value, const Combine& combine, unsigned members) {
#pragma unroll
  for (int offset = 1; offset < kLanes; offset *= 2) {
    value = combine(value, ShuffleXor(members, value, offset));
  }
  return value;
}

/// The same where other groups of the warp may be elsewhere.
template <int kLanes, typename T, typename Combine>
__device__ __forceinline__ T ReduceLanes(T value, const Combine& combine) {
  return ReduceLanes<kLanes>(value, combine, MembersOfGroup<kLanes>());
}

/// The same of several values of each lane at a time: lanes divide them as they meet, those farthest apart first. In
/// the end lane i has what PartOfLane gives of all of them.
template <int kParts, typename T, typename Combine>
__device__ __forceinline__ T ReduceWarpInParts(T (&parts)[kParts], const Combine& combine) {
  static_assert((kParts & (kParts - 1)) == 0);
  const unsigned lane = threadIdx.x % 32;
  int count = kParts;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    if (count == 1) {
      parts[0] = combine(parts[0], ShuffleXor(0xFFFFFFFFU, parts[0], offset));
      continue;
    }
    count /= 2;
    const bool upper = (lane & static_cast<unsigned>(offset)) != 0;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const T kept = upper ? parts[i + count] : parts[i];
      const T given = upper ? parts[i] : parts[i + count];
      parts[i] = combine(kept, ShuffleXor(0xFFFFFFFFU, given, offset));
    }
  }
  return parts[0];
}

/// Of as many parts as neighbouring lanes divide a warp into, the one of this lane's.
template <int kParts, typename T>
__device__ __forceinline__ T PartOfLane(const T (&parts)[kParts]) {
  T part = parts[0];
#pragma unroll
  for (int i = 1; i < kParts; ++i) {
    part = static_cast<int>(threadIdx.x % 32) >= i * (32 / kParts) ? parts[i] : part;
  }
  return part;
}

/// The largest number of a warp. A NaN is lost, or the result.
__device__ __forceinline__ float LargestOfWarp(float value) {
#if __CUDA_ARCH__ >= 800
  const auto ordered = [](int bits) { return bits ^ (bits >> 31 & 0x7FFFFFFF); };  // as integers, there and back
  return __int_as_float(ordered(__reduce_max_sync(0xFFFFFFFFU, ordered(__float_as_int(value)))));
#else
  return ReduceLanes<32>(
      value, [](float a, float b) { return fmaxf(a, b); }, 0xFFFFFFFFU);
#endif
}
__device__ __forceinline__ double LargestOfWarp(double value) {
  return ReduceLanes<32>(
      value, [](double a, double b) { return fmax(a, b); }, 0xFFFFFFFFU);
}

/// Whether there is a quicker way to combine values that are alike: Combine::Quick, made of one of them. It says
/// whether it Takes another, and gives an equal result if it does.
template <typename Combine, typename = void>
inline constexpr bool kHasQuick = false;
template <typename Combine>
inline constexpr bool kHasQuick<Combine, std::void_t<typename Combine::Quick>> = true;

/// Calls reduce(combine, take) with Combine::Quick if there is one, and if that took all values that were passed to
/// take, of all lanes; else with `combine`. `first`: one of the values, the same in all lanes.
template <typename T, typename Combine, typename Reduce>
__device__ __forceinline__ T ReduceQuickly(const T& first, const Combine& combine, const Reduce& reduce) {
  if constexpr (kHasQuick<Combine>) {
    const typename Combine::Quick quick(first);
    bool alike = true;
    const T result = reduce(quick, [&](const T& value) {
      alike = alike && quick.Takes(value);
      return value;
    });
    if (__all_sync(0xFFFFFFFFU, static_cast<int>(alike)) != 0) {
      return result;
    }
  }
  return reduce(combine, [](const T& value) { return value; });
}

/// Combines value_of(0) ... value_of(count - 1), at most 32, as ReduceLanes would those of so many lanes, and no
/// others. Takes a step for each level of that tree, however many lanes there are; they hold the values several times
/// over. Requires: whole warps; `count` is the same in all lanes; value_of is the identity from `count` on.
template <typename ValueOf, typename Combine>
__device__ __forceinline__ auto ReducePlaces(unsigned count, const ValueOf& value_of, const Combine& combine) {
  auto value = value_of(threadIdx.x % (count > 1 ? 2U << (31 - __clz(static_cast<int>(count - 1))) : 1U));
#pragma unroll
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    if (offset >= count) {
      break;
    }
    value = combine(value, ShuffleXor(0xFFFFFFFFU, value, static_cast<int>(offset)));
  }
  return value;
}

/// That of the `count` values at `list`.
template <typename T, typename Combine>
__device__ __forceinline__ T ReduceList(const T* list, unsigned count, const T& identity, const Combine& combine) {
  return ReduceQuickly(list[0], combine, [&](const auto& chosen, const auto& take) {
    return ReducePlaces(
        count, [&](unsigned place) { return place < count ? take(list[place]) : identity; }, chosen);
  });
}

/// Where ReduceLongList expects a value: after each eight there is a gap, so that lanes read different banks.
__host__ __device__ __forceinline__ constexpr unsigned PlaceInList(unsigned index) { return index + index / 8; }

/// Combines the kCount values from `first` on, those of them that a list of `count` has, neighbours first.
template <unsigned kCount, typename T, typename Combine, typename Take>
__device__ __forceinline__ T CombineNeighbours(const T* first, int count, const T& identity, const Combine& combine,
                                               const Take& take) {
  if constexpr (kCount == 1) {
    return count > 0 ? take(*first) : identity;
  } else {
    constexpr unsigned kHalf = kCount / 2;
    const T left = CombineNeighbours<kHalf>(first, count, identity, combine, take);
    const int behind = count - static_cast<int>(kHalf);
    return combine(left, CombineNeighbours<kHalf>(first + kHalf, behind, identity, combine, take));
  }
}

/// ReduceList of at most 256 values, each at its PlaceInList: of more than 32, lanes combine four each before they
/// meet, of more than 128 eight.
template <typename T, typename Combine>
__device__ __forceinline__ T ReduceLongList(const T* list, unsigned count, const T& identity, const Combine& combine) {
  const unsigned shift = count <= 32 ? 0 : count <= 128 ? 2 : 3;
  return ReduceQuickly(list[0], combine, [&](const auto& chosen, const auto& take) {
    const auto value_of = [&](unsigned lane) {
      const T* const first = list + PlaceInList(lane << shift);
      const int left = static_cast<int>(count) - static_cast<int>(lane << shift);
      if (shift == 0) {
        return CombineNeighbours<1>(first, left, identity, chosen, take);
      }
      T value = CombineNeighbours<4>(first, left, identity, chosen, take);
      if (shift == 3) {
        value = chosen(value, CombineNeighbours<4>(first + 4, left - 4, identity, chosen, take));
      }
      return value;
    };
    return ReducePlaces(((count - 1) >> shift) + 1, value_of, chosen);
  });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_REDUCE_CUH_

// A short row between memory and the registers of one thread: in the widest unit that all such rows begin on and are
// whole numbers of.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_SHORT_ROW_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_SHORT_ROW_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/primitives/granule.cuh"

namespace kernelwire {

enum class RowLies : std::uint8_t {
  kInTile,    // in shared memory, where such rows follow each other from a granule on (tile_copy.cuh)
  kShared,    // there, anywhere
  kInMemory,  // in device memory, anywhere
};

/// Calls f with that unit, at most kBytes long.
template <RowLies kLies, int kBytes, typename T, typename F>
__device__ __forceinline__ void WithUnitOfRow(const T* row, int count, const F& f) {
  // Without these promises the compiler takes the slower path that finds out.
  if constexpr (kLies == RowLies::kInMemory) {
    __builtin_assume(__isGlobal(row));
  } else {
    __builtin_assume(__isShared(row));
  }
  const auto bytes = static_cast<unsigned>(count * static_cast<int>(sizeof(T)));
  const auto address = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row));
  const unsigned odd = kLies == RowLies::kInTile ? bytes : bytes | address;
  if constexpr (kBytes % 16 == 0) {
    if (odd % 16 == 0) {
      return f(Granule{});
    }
  }
  if constexpr (kBytes % 8 == 0) {
    if (sizeof(T) == 8 || odd % 8 == 0) {
      return f(Words<2>{});
    }
  }
  if constexpr (sizeof(T) <= 4 && kBytes % 4 == 0) {
    if (sizeof(T) == 4 || odd % 4 == 0) {
      return f(Word{});
    }
  }
  if constexpr (sizeof(T) <= 2) {
    if (sizeof(T) == 2 || odd % 2 == 0) {
      return f(static_cast<unsigned short>(0));
    }
  }
  if constexpr (sizeof(T) == 1) {
    f(static_cast<unsigned char>(0));
  }
}

/// Copies the `count` elements of `row` to where `held` has them, or, if `held` is constant, back. `kSure`: so many
/// there are at least.
template <RowLies kLies, int kSure, typename T, typename Held>
__device__ __forceinline__ void CopyShortRow(T* row, int count, Held& held) {
  WithUnitOfRow<kLies, static_cast<int>(sizeof(Held))>(row, count, [&](auto unit) {
    constexpr int kLength = static_cast<int>(sizeof(unit) / sizeof(T));
    constexpr int kUnits = static_cast<int>(sizeof(Held) / sizeof(unit));
    decltype(unit) units[kUnits];
    memcpy(units, &held, sizeof(units));
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      if ((i + 1) * kLength <= kSure || i * kLength < count) {
        if constexpr (std::is_const_v<Held>) {
          reinterpret_cast<decltype(unit)*>(row)[i] = units[i];
        } else {
          units[i] = reinterpret_cast<const decltype(unit)*>(row)[i];
        }
      }
    }
    if constexpr (!std::is_const_v<Held>) {
      memcpy(&held, units, sizeof(units));
    }
  });
}

/// Reads a row into `held`, which has room for it; what lies beyond stays as it is.
template <RowLies kLies, int kSure, typename T, typename Held>
__device__ __forceinline__ void ReadShortRow(const T* row, int count, Held& held) {
  CopyShortRow<kLies, kSure>(row, count, held);
}

/// The other way.
template <RowLies kLies, int kSure, typename T, typename Held>
__device__ __forceinline__ void WriteShortRow(const Held& held, T* row, int count) {
  CopyShortRow<kLies, kSure>(row, count, held);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_SHORT_ROW_CUH_

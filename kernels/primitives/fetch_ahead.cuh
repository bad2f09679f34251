// What a block asks the second-level cache for on behalf of blocks to come.
//
// A block that holds a row in registers has no room for the next one until it has written this one: while its threads
// agree on a sum, memory rests unless other blocks read meanwhile, and registers bound how many of those there are. The
// cache has room. So a block names what one that begins some time after it will read, and that one finds it there.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_FETCH_AHEAD_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_FETCH_AHEAD_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace kernelwire {

/// Asks for part `part` of `parts` equal ones of the `bytes` bytes at `data`, but for what does not fill 16 bytes at
/// either end. One thread calls it, whose block need not wait for anything. Requires: that memory is valid. Does
/// nothing on architectures that have no instruction for it (below compute capability 9.0).
__device__ __forceinline__ void FetchAhead(const void* data, std::int64_t bytes, unsigned part, unsigned parts) {
#if __CUDA_ARCH__ >= 900
  constexpr std::uintptr_t kGranule = 16;
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(data) + kGranule - 1) / kGranule;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(bytes)) / kGranule;
  const auto granules = static_cast<unsigned>(end - first);
  const unsigned of_part = parts == 1 ? granules : (granules + parts - 1) / parts;
  const unsigned begin = part * of_part;
  if (first < end && begin < granules) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"((first + begin) * kGranule),
                 "r"(min(of_part, granules - begin) * static_cast<unsigned>(kGranule))
                 : "memory");
  }
#else
  static_cast<void>(data), static_cast<void>(bytes), static_cast<void>(part), static_cast<void>(parts);
#endif
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_FETCH_AHEAD_CUH_

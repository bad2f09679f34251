// Loads and stores that tell the second-level cache how long to keep what they bring there.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_CACHE_PRIORITY_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_CACHE_PRIORITY_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/granule.cuh"

namespace kernelwire {

/// How long, beside what other accesses bring: what createpolicy.fractional makes of PTX's priorities, which ptxas
/// would compute anew in every thread.
enum class CachePriority : std::uint64_t {
  kUsual = 0x1000000000000000,
  kLong = 0x14F0000000000000,   // evict_last
  kShort = 0x12F0000000000000,  // evict_first
};

/// LoadGranuleIf with a priority.
///
/// Where kLong reads meet usual writes, results leave for memory soon, and in the order in which they came, rather than
/// when some read wants their line: an H200 copies 1 GiB up to 4 % faster so, and a launch that reads what the one
/// before wrote loses nothing. Where little is read at all, such reads take longer: 2 to 6 % of a launch that reads 512
/// KiB. kShort is for what nobody reads again. CUDA 13.0 miscompiles a cp.async that has a priority.
__device__ __forceinline__ void LoadGranuleIf(bool condition, const void* from, Granule& granule,
                                              CachePriority priority) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %5, 0;\n"
      "  @wanted ld.relaxed.gpu.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %6;\n"
      "}\n"
      : "+r"(granule.words[0]), "+r"(granule.words[1]), "+r"(granule.words[2]), "+r"(granule.words[3])
      : "l"(from), "r"(static_cast<unsigned>(condition)), "l"(static_cast<std::uint64_t>(priority)));
#else
  LoadGranuleIf(condition, from, granule);
#endif
}

/// StoreGranule with a priority.
__device__ __forceinline__ void StoreGranule(void* to, const Granule& granule, CachePriority priority) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100
  asm volatile("st.global.L1::no_allocate.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to),
               "r"(granule.words[0]), "r"(granule.words[1]), "r"(granule.words[2]), "r"(granule.words[3]),
               "l"(static_cast<std::uint64_t>(priority))
               : "memory");
#else
  StoreGranule(to, granule);
#endif
}

/// LoadWordIf with a priority.
__device__ __forceinline__ void LoadWordIf(bool condition, const void* from, Word& word, CachePriority priority) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %2, 0;\n"
      "  @wanted ld.global.L2::cache_hint.u32 %0, [%1], %3;\n"
      "}\n"
      : "+r"(word.words[0])
      : "l"(from), "r"(static_cast<unsigned>(condition)), "l"(static_cast<std::uint64_t>(priority)));
#else
  LoadWordIf(condition, from, word);
#endif
}

/// StoreWordIf with a priority.
__device__ __forceinline__ void StoreWordIf(bool condition, void* to, unsigned word, CachePriority priority) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %2, 0;\n"
      "  @wanted st.global.L2::cache_hint.u32 [%0], %1, %3;\n"
      "}\n" ::"l"(to),
      "r"(word), "r"(static_cast<unsigned>(condition)), "l"(static_cast<std::uint64_t>(priority))
      : "memory");
#else
  StoreWordIf(condition, to, word);
#endif
}

/// StoreWord with a priority.
__device__ __forceinline__ void StoreWord(void* to, unsigned word, CachePriority priority) {
  StoreWordIf(true, to, word, priority);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_CACHE_PRIORITY_CUH_

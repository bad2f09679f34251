// Barriers in shared memory that open when the bytes they expect have arrived (compute capability 9.0 and above; below,
// nothing here does anything). Addresses are those of a std::uint64_t in the shared memory of the block.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_MBARRIER_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_MBARRIER_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/cache_priority.cuh"

namespace kernelwire {

/// One thread does so, once, before any other use; others know of it after a barrier behind that.
__device__ __forceinline__ void BeginBarrier(SharedAddress barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
#else
  static_cast<void>(barrier);
#endif
}

/// One thread says how many bytes its next phase waits for.
__device__ __forceinline__ void ExpectBytes(SharedAddress barrier, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
#else
  static_cast<void>(barrier), static_cast<void>(bytes);
#endif
}

/// One thread says that its next phase waits for none: it is over, and what the thread has written before is visible to
/// who waits for it.
__device__ __forceinline__ void ExpectNothing(SharedAddress barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#else
  static_cast<void>(barrier);
#endif
}

/// Waits for the bytes of a phase; phases alternate between 0 and 1. What has arrived is visible to the caller.
__device__ __forceinline__ void AwaitBytes(SharedAddress barrier, unsigned phase) {
#if __CUDA_ARCH__ >= 900
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        "  .reg .pred arrived;\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 arrived, [%1], %2;\n"
        "  selp.u32 %0, 1, 0, arrived;\n"
        "}\n"
        : "=r"(done)
        : "r"(barrier), "r"(phase)
        : "memory");
  }
#else
  static_cast<void>(barrier), static_cast<void>(phase);
#endif
}

/// Sends a word to the place in the shared memory of block `block` of the cluster that is at `place` in this one's; it
/// counts as arrived at that block's `barrier`, which expects it.
__device__ __forceinline__ void SendTo(unsigned block, SharedAddress place, SharedAddress barrier, unsigned word) {
#if __CUDA_ARCH__ >= 900
  unsigned there = 0;
  unsigned barrier_there = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place), "r"(block));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier_there) : "r"(barrier), "r"(block));
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(there), "r"(word),
               "r"(barrier_there)
               : "memory");
#else
  static_cast<void>(block), static_cast<void>(place), static_cast<void>(barrier), static_cast<void>(word);
#endif
}

/// The byte of 32 at which what begins at `from` is to lie in shared memory: in the other half. Kernels that read and
/// write long rows reach 0.98 of a copy's bytes a second so on an H200, and 0.87 if they lie in the same half, perhaps
/// since such copies are made of larger pieces, and leave memory less time for what is written (measured, CUDA 13.0).
__device__ __forceinline__ unsigned ByteOfOtherHalf(const void* from) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 32) ^ 16U;
}

/// Begins to copy `bytes` bytes to shared memory; they count as arrived at `barrier`, which expects them. One thread
/// calls it, after which it need do nothing. Requires: whole granules of 16 bytes, from and to multiples of 16; see
/// ByteOfOtherHalf. `priority`: see CachePriority.
__device__ __forceinline__ void CopyInBulk(SharedAddress to, const void* from, unsigned bytes, SharedAddress barrier,
                                           CachePriority priority) {
#if __CUDA_ARCH__ >= 900
  // Other threads have read what lies there, in another way than this copy writes.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#if __CUDA_ARCH__ < 1100
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "l"(static_cast<std::uint64_t>(priority))
      : "memory");
#else
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
#endif
#else
  static_cast<void>(to), static_cast<void>(from), static_cast<void>(bytes), static_cast<void>(barrier);
#endif
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_MBARRIER_CUH_

// Barriers in shared memory that open when the bytes they expect have arrived (compute capability 9.0 and above; below,
// nothing here does anything). Addresses are those of a std::uint64_t in the shared memory of the block.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_MBARRIER_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_MBARRIER_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/async_copy.cuh"

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

/// Begins to copy `bytes` bytes to shared memory; they count as arrived at `barrier`, which expects them. One thread
/// calls it, after which it need do nothing. Requires: whole granules of 16 bytes, from and to multiples of 16.
__device__ __forceinline__ void CopyInBulk(SharedAddress to, const void* from, unsigned bytes, SharedAddress barrier) {
#if __CUDA_ARCH__ >= 900
  // Other threads have read what lies there, in another way than this copy writes.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
#else
  static_cast<void>(to), static_cast<void>(from), static_cast<void>(bytes), static_cast<void>(barrier);
#endif
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_MBARRIER_CUH_

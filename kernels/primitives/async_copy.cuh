// Copies from device memory to shared memory that no thread waits for until it asks to (compute capability 8.0 and
// above; below, they are done at once). What is on its way takes no registers.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ASYNC_COPY_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ASYNC_COPY_CUH_

#include <cuda_runtime.h>

namespace kernelwire {

/// A place in shared memory, as instructions name it.
using SharedAddress = unsigned;

__device__ __forceinline__ SharedAddress SharedAddressOf(void* place) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(place));
}

/// Copies 16 bytes. Requires: both places lie on multiples of 16. This thread sees the bytes after its next
/// AwaitCopies(), others after a barrier behind that.
__device__ __forceinline__ void CopyAsync(SharedAddress to, const unsigned char* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#else
  *static_cast<uint4*>(__cvta_shared_to_generic(to)) = *reinterpret_cast<const uint4*>(from);
#endif
}

/// Waits for all copies that this thread has begun.
__device__ __forceinline__ void AwaitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ASYNC_COPY_CUH_

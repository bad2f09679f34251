// Copies from device memory to shared memory that no thread waits for until it asks to (compute capability 8.0 and
// above; below, they are done at once). What is on its way takes no registers.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ASYNC_COPY_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ASYNC_COPY_CUH_

#include <cuda_runtime.h>

#include <cstring>

namespace kernelwire {

/// A place in shared memory, as instructions name it.
using SharedAddress = unsigned;

__device__ __forceinline__ SharedAddress SharedAddressOf(void* place) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(place));
}

/// Copies kBytes bytes. Requires: kBytes is 4 or 8, and both places lie on multiples of it. This thread sees the bytes
/// after its next AwaitCopies(), others after a barrier behind that.
template <int kBytes>
__device__ __forceinline__ void CopyAsync(SharedAddress to, const unsigned char* from) {
  static_assert(kBytes == 4 || kBytes == 8);
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes) : "memory");
#else
  unsigned words[kBytes / 4];
  memcpy(words, __builtin_assume_aligned(from, kBytes), kBytes);
  memcpy(__builtin_assume_aligned(__cvta_shared_to_generic(to), kBytes), words, kBytes);
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

#include "server/heap.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace kernelwire {

void SetUpHeap() {
#ifdef __GLIBC__
  // glibc's own first values. Naming them keeps it from raising them to the largest block that was ever freed.
  constexpr int kReturnedBytes = 128 * 1024;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kReturnedBytes);
  mallopt(M_TRIM_THRESHOLD, kReturnedBytes);
#endif
}

}  // namespace kernelwire

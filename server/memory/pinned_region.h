// Pinned host memory with a device counterpart. Present in builds with CUDA only.
#ifndef KERNELWIRE_SERVER_MEMORY_PINNED_REGION_H_
#define KERNELWIRE_SERVER_MEMORY_PINNED_REGION_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "server/memory/slab_pool.h"

namespace kernelwire {

/// `bytes` of pinned, mapped host memory and as many on `device`. Never replaced by pageable memory.
/// Errors: RESOURCE_EXHAUSTED that says which of the two could not be had, and names the flag.
absl::StatusOr<std::unique_ptr<StagingRegion>> MakePinnedRegion(int device, std::size_t bytes);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_MEMORY_PINNED_REGION_H_

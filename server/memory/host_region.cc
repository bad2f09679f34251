// Staging memory of the host device: where the wire's bytes are copied to is where they are computed on.
#include <sys/mman.h>

#include <cerrno>

#include "server/memory/slab_pool.h"

namespace kernelwire {
namespace {

class HostRegion final : public StagingRegion {
 public:
  HostRegion(void* memory, std::size_t bytes) {
    host_ = static_cast<std::byte*>(memory);
    device_ = host_;
    bytes_ = bytes;
  }
  ~HostRegion() override { munmap(host_, bytes_); }
  HostRegion(const HostRegion&) = delete;
  HostRegion& operator=(const HostRegion&) = delete;
};

/// Gives the mapping all its pages, large ones where the system has them: fewer faults now, fewer misses later.
/// False: there is not that much memory.
bool Populate(void* memory, std::size_t bytes) {
  static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));  // may be switched off
  const int populated = madvise(memory, bytes, MADV_POPULATE_WRITE);
  return populated == 0 || errno == EINVAL;  // before Linux 5.14: pages come with their first use instead
}

}  // namespace

std::unique_ptr<StagingRegion> MakeHostRegion(std::size_t bytes) {
  // A mapping rather than malloc: aligned to a page, and nobody else's pages.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  auto region = std::make_unique<HostRegion>(memory, bytes);
  if (!Populate(memory, bytes)) {
    return nullptr;
  }
  return region;
}

}  // namespace kernelwire

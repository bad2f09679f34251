// Staging memory of the host device: where the wire's bytes are copied to is where they are computed on.
#include <sys/mman.h>

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

}  // namespace

std::unique_ptr<StagingRegion> MakeHostRegion(std::size_t bytes) {
  // A mapping rather than malloc: aligned to a page, and without pages of its own until they are written.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  return std::make_unique<HostRegion>(memory, bytes);
}

}  // namespace kernelwire

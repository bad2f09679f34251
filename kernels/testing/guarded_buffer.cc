#include "kernels/testing/guarded_buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__  // what GCC says by itself
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (static_cast<void>(address), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (static_cast<void>(address), static_cast<void>(size))
#endif

namespace kernelwire::testing {
namespace {

constexpr std::align_val_t kAlignment{512};

/// An odd multiple of 256. Wide enough that a block of threads which runs one round too far stays within it.
constexpr std::size_t kGuardBytes = std::size_t{15} * 256;

std::size_t GuardBytes() {
  static const char* const wish = std::getenv("KERNELWIRE_TEST_GUARDS");
  return wish != nullptr && std::string_view(wish) == "off" ? 0 : kGuardBytes;
}

}  // namespace

bool SameBytes(const std::byte* a, const std::byte* b, std::size_t count) {
  return count == 0 || std::memcmp(a, b, count) == 0;
}

bool AllEqual(const std::byte* begin, std::size_t count, std::byte fill) {
  return count == 0 || (*begin == fill && SameBytes(begin, begin + 1, count - 1));  // each is what its neighbour is
}

GuardedBuffer::GuardedBuffer(std::size_t bytes, std::byte fill)
    : size_(bytes),
      front_(GuardBytes()),
      fill_(fill),
      allocation_(static_cast<std::byte*>(::operator new(allocation_size(), kAlignment))) {
  std::memset(allocation(), std::to_integer<int>(fill), allocation_size());
}

bool GuardedBuffer::GuardsIntact() const {
  return AllEqual(allocation(), front_, fill_) && AllEqual(data() + size_, front_, fill_);
}

void GuardedBuffer::CloseGuards() const {
  ASAN_POISON_MEMORY_REGION(allocation(), front_);
  ASAN_POISON_MEMORY_REGION(data() + size_, front_);
}

void GuardedBuffer::OpenGuards() const { ASAN_UNPOISON_MEMORY_REGION(allocation(), allocation_size()); }

void GuardedBuffer::Free::operator()(std::byte* allocation) const { ::operator delete(allocation, kAlignment); }

}  // namespace kernelwire::testing

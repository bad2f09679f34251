// Counts a process's heap allocations: LD_PRELOAD=kernelwire-count-allocations.so COUNT_ALLOCATIONS_FILE=out program
//
// On every SIGUSR1 a line "allocations A bytes B large L large_bytes M live V" is appended to that file: totals since
// the start, of calls of malloc, calloc, realloc, aligned_alloc and posix_memalign; large ones are of 64 KiB and more;
// live are the bytes not freed yet, by which memory that is held differs from memory that malloc keeps for reuse.
// operator new arrives at malloc. It counts and passes on; nothing here allocates once the first calls are through.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t kLarge = std::size_t{64} * 1024;

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> allocated_bytes{0};
std::atomic<std::uint64_t> large_allocations{0};
std::atomic<std::uint64_t> large_bytes{0};
std::atomic<std::int64_t> live_bytes{0};

void Count(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated_bytes.fetch_add(size, std::memory_order_relaxed);
  if (size >= kLarge) {
    large_allocations.fetch_add(1, std::memory_order_relaxed);
    large_bytes.fetch_add(size, std::memory_order_relaxed);
  }
}

void* Hold(void* memory) {
  live_bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}

void Release(void* memory) {
  live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
}

void Report(int) {
  const int error = errno;
  char line[200];
  const int length = std::snprintf(
      line, sizeof(line), "allocations %llu bytes %llu large %llu large_bytes %llu live %lld\n",
      static_cast<unsigned long long>(allocations.load()), static_cast<unsigned long long>(allocated_bytes.load()),
      static_cast<unsigned long long>(large_allocations.load()), static_cast<unsigned long long>(large_bytes.load()),
      static_cast<long long>(live_bytes.load()));
  const char* path = std::getenv("COUNT_ALLOCATIONS_FILE");
  const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file >= 0) {
    if (write(file, line, static_cast<std::size_t>(length)) != length) {
      std::abort();
    }
    close(file);
  }
  errno = error;
}

__attribute__((constructor)) void SetUp() {
  struct sigaction action {};
  action.sa_handler = Report;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace

// The C library's own names of the same functions, so that nothing has to be looked up, which would allocate.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);

void* malloc(std::size_t size) {
  Count(size);
  return Hold(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) {
  Count(count * size);
  return Hold(__libc_calloc(count, size));
}
void* realloc(void* old, std::size_t size) {
  Count(size);
  Release(old);
  return Hold(__libc_realloc(old, size));
}
void free(void* memory) {
  Release(memory);
  __libc_free(memory);
}
void* memalign(std::size_t alignment, std::size_t size) {
  Count(size);
  return Hold(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  *result = memalign(alignment, size);
  return *result == nullptr ? ENOMEM : 0;
}
}

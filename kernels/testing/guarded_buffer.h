// Host memory of exactly the size asked for, between two guard bands.
#ifndef KERNELWIRE_KERNELS_TESTING_GUARDED_BUFFER_H_
#define KERNELWIRE_KERNELS_TESTING_GUARDED_BUFFER_H_

#include <cstddef>
#include <memory>

namespace kernelwire::testing {

/// Whether `count` bytes are the same, or all equal `fill`. The tests look at every byte that an operator could have
/// touched, so these take many at a time.
bool SameBytes(const std::byte* a, const std::byte* b, std::size_t count);
bool AllEqual(const std::byte* begin, std::size_t count, std::byte fill);

/// One allocation: guard band, payload, guard band, all of it filled with one byte at first. The payload starts at a
/// multiple of 256 that is no multiple of 512: what the contract of Segment promises and no more. In a build with
/// AddressSanitizer the guard bands may be closed, so that reading them is an error too. Movable; not thread-safe.
class GuardedBuffer {
 public:
  /// The environment variable KERNELWIRE_TEST_GUARDS=off leaves the bands out, and the payload at a multiple of 512:
  /// for compute-sanitizer, which sees only what lies outside a whole allocation of the device.
  GuardedBuffer(std::size_t bytes, std::byte fill);

  std::byte* data() const { return allocation_.get() + front_; }
  std::size_t size() const { return size_; }

  /// The whole allocation, for a device to mirror: guards, payload, guards.
  std::byte* allocation() const { return allocation_.get(); }
  std::size_t allocation_size() const { return 2 * front_ + size_; }
  std::size_t payload_offset() const { return front_; }

  /// Whether both guard bands are as they were.
  bool GuardsIntact() const;

  /// With AddressSanitizer: whether touching a guard band ends the program. Open at first.
  void CloseGuards() const;
  void OpenGuards() const;

 private:
  struct Free {
    void operator()(std::byte* allocation) const;
  };
  std::size_t size_;
  std::size_t front_;
  std::byte fill_;
  std::unique_ptr<std::byte, Free> allocation_;
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_GUARDED_BUFFER_H_

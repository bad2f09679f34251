// What a kernel asks the second-level cache for before its turn has come.
#ifndef KERNELWIRE_KERNELS_DEVICE_EARLY_READS_H_
#define KERNELWIRE_KERNELS_DEVICE_EARLY_READS_H_

#include <algorithm>
#include <cstdint>

namespace kernelwire {

/// The beginnings of what a launch reads. A kernel whose arguments have this as `early` has them brought to the
/// second-level cache while the kernel before it in the stream still runs (AwaitEarlierWork), so that its first reads
/// need not wait for memory. That kernel may write there at the same time: its writes meet what was brought in that
/// cache, and are read afterwards. Empty: nothing is asked for.
struct EarlyReads {
  static constexpr int kMost = 3;  // tensors
  static constexpr std::int64_t kLineBytes = 128;
  /// In all. More would be in the way of the kernel that still runs: what is best is 2 to 4 MiB in tensors of 4 MiB and
  /// more (rms_norm, layer_norm, softmax, add_rms_norm on an H100).
  static constexpr std::int64_t kMostBytes = std::int64_t{4} << 20;

  const void* data[kMost];
  std::uint32_t lines[kMost];  // from there on
  int count;                   // of tensors

  /// Adds the first `most` bytes of a tensor, which has `bytes`, all valid on the device. More tensors than kMost are
  /// left out.
  void Add(const void* tensor, std::int64_t bytes, std::int64_t most) {
    if (tensor != nullptr && count < kMost) {
      data[count] = tensor;
      lines[count] = static_cast<std::uint32_t>((std::min(bytes, most) + kLineBytes - 1) / kLineBytes);
      ++count;
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_EARLY_READS_H_

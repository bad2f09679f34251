// Which threads work on rows of an axis that is not the last, on a GPU: a value that can be printed.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_SHARE_H_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_SHARE_H_

#include <cstdint>
#include <string>

namespace kernelwire {

/// Threads that share a row, a warp each: element e belongs to part e % parts. And elements that each holds, hardly
/// more than there are, since places that stay empty cost almost as much; 0: rows are read twice. Both follow from the
/// width alone, as the order of sums does.
struct InterleavedShare {
  static constexpr int kMostParts = 16;
  static constexpr int kStep = 8;  // of elements held
  static constexpr int kMostHeldAlone = 32;

  int parts;
  int held;

  static InterleavedShare Of(std::int64_t width) {
    if (width <= kMostHeldAlone) {
      return {1, static_cast<int>((width + kStep - 1) / kStep * kStep)};
    }
    return {kMostParts, width <= kStep * kMostParts ? kStep : 0};
  }

  std::string ToString() const {
    return (parts == 1 ? "a thread" : std::to_string(parts) + " threads") + std::string(" a row, ") +
           (held == 0 ? "read twice" : std::to_string(held) + " elements each");
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_SHARE_H_

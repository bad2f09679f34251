// Products of integers, exactly: for host code and for device code.
#ifndef KERNELWIRE_KERNELS_OPS_PROD_PROD_H_
#define KERNELWIRE_KERNELS_OPS_PROD_PROD_H_

#include <cstdint>

#include "kernels/primitives/reduce_result.h"

namespace kernelwire {

/// A product of 64-bit integers: its magnitude, and its sign beside it. Once a magnitude passes 2^63 it stays too
/// large, but for a factor of 0: so the outcome does not depend on the order of the factors.
struct ExactProduct {
  static constexpr std::uint64_t kTooLarge = ~std::uint64_t{0};
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 63;  // of -2^63

  std::uint64_t magnitude;
  std::uint64_t negative;  // 1, or 0

  KERNELWIRE_HOST_DEVICE static constexpr ExactProduct Of(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return {value < 0 ? ~bits + 1 : bits, value < 0 ? std::uint64_t{1} : 0};
  }

  KERNELWIRE_HOST_DEVICE ExactProduct Times(const ExactProduct& other) const {
    __extension__ typedef unsigned __int128 Wide;
    const Wide product = static_cast<Wide>(magnitude) * other.magnitude;  // too large times 0 is 0, times more is more
    return {product > kLargest ? kTooLarge : static_cast<std::uint64_t>(product), negative ^ other.negative};
  }

  /// The product, or a number that fits nowhere.
  KERNELWIRE_HOST_DEVICE WideInteger Value() const {
    const auto value = static_cast<WideInteger>(magnitude);
    return negative != 0 ? -value : value;
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_PROD_PROD_H_

#include "kernels/core/tensor.h"

namespace kernelwire {

std::optional<std::size_t> TensorDesc::ByteSize() const {
  const std::optional<std::int64_t> count = shape.ElementCount();
  // As in ElementCount, an extent of 0 does not excuse the others: the bytes of one row must be countable too.
  Shape without_zeros = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 0) {
      without_zeros[axis] = 1;
    }
  }
  const std::int64_t element_bytes = static_cast<std::int64_t>(SizeOf(dtype));
  const std::optional<std::int64_t> largest = without_zeros.ElementCount();
  if (!count.has_value() || !largest.has_value() || !CheckedMultiply(*largest, element_bytes).has_value()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(*count * element_bytes);
}

}  // namespace kernelwire

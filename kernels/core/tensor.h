// What a tensor is (type and extents), without and with the memory it lies in.
#ifndef KERNELWIRE_KERNELS_CORE_TENSOR_H_
#define KERNELWIRE_KERNELS_CORE_TENSOR_H_

#include <cstddef>
#include <optional>

#include "kernels/core/dtype.h"
#include "kernels/core/shape.h"

namespace kernelwire {

/// Element type and extents: what a request says of a tensor before anyone looks at its bytes. Row-major, dense.
struct TensorDesc {
  DataType dtype = DataType::kInvalid;
  Shape shape;

  /// The bytes of the tensor; nullopt when the product overflows or an extent is negative.
  std::optional<std::size_t> ByteSize() const;
};

/// A tensor in memory that somebody else owns.
struct TensorView {
  TensorDesc desc;
  const void* data = nullptr;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_TENSOR_H_

// Tensors of known answers, as the specs write them down. Host code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_KNOWN_ANSWER_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_KNOWN_ANSWER_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/core/operator.h"

namespace kernelwire {

/// Requires: `values` of the type that `dtype` says, as many as the shape has elements.
template <typename T>
KnownAnswer::Tensor KnownTensor(DataType dtype, const Shape& shape, const std::vector<T>& values) {
  KnownAnswer::Tensor tensor;
  tensor.desc = TensorDesc{dtype, shape};
  tensor.bytes.resize(values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

inline KnownAnswer::Tensor Fp32Tensor(const Shape& shape, const std::vector<float>& values) {
  return KnownTensor(DataType::kFp32, shape, values);
}
inline KnownAnswer::Tensor Int32Tensor(const Shape& shape, const std::vector<std::int32_t>& values) {
  return KnownTensor(DataType::kInt32, shape, values);
}
inline KnownAnswer::Tensor Int64Tensor(const Shape& shape, const std::vector<std::int64_t>& values) {
  return KnownTensor(DataType::kInt64, shape, values);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_KNOWN_ANSWER_H_

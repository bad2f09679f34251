// Tensors as a caller has them in memory: views to send, and results to read.
//
// Layout, always: row-major (the last dimension varies fastest), little-endian, no strides, no padding. Shape {} is one
// element; a shape with a 0 has none.
#ifndef KERNELWIRE_CLIENT_TENSOR_H_
#define KERNELWIRE_CLIENT_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernelwire::client {

/// Element types of the wire. FP16, BF16 and the FP8 types have no C++ type: bring their bits.
enum class DataType : std::uint8_t {
  kBool,  // one byte, 0 or 1
  kInt8,
  kUint8,
  kInt32,
  kInt64,
  kFp16,  // IEEE 754 binary16
  kBf16,  // the upper half of a binary32
  kFp32,
  kFp64,
  kFp8E4m3,
  kFp8E5m2,
};

/// Bytes of one element.
std::size_t SizeOf(DataType type);
/// The wire's name: "FP32", "BF16", "FP8_E4M3" ...
const char* NameOf(DataType type);
/// The type of a wire name; nullopt for a name that kernelwire does not use.
std::optional<DataType> DataTypeFromName(std::string_view name);
/// "[8, 1024]"; "[]" for a scalar.
std::string ShapeText(const std::vector<std::int64_t>& shape);
/// Elements of a shape; nullopt when a dimension is negative or the product does not fit 63 bits.
std::optional<std::int64_t> ElementCount(const std::vector<std::int64_t>& shape);

/// The wire type of a C++ element type: DataTypeOf<float>::value is kFp32.
template <typename T>
struct DataTypeOf;
template <>
struct DataTypeOf<bool> : std::integral_constant<DataType, DataType::kBool> {};
template <>
struct DataTypeOf<std::int8_t> : std::integral_constant<DataType, DataType::kInt8> {};
template <>
struct DataTypeOf<std::uint8_t> : std::integral_constant<DataType, DataType::kUint8> {};
template <>
struct DataTypeOf<std::int32_t> : std::integral_constant<DataType, DataType::kInt32> {};
template <>
struct DataTypeOf<std::int64_t> : std::integral_constant<DataType, DataType::kInt64> {};
template <>
struct DataTypeOf<float> : std::integral_constant<DataType, DataType::kFp32> {};
template <>
struct DataTypeOf<double> : std::integral_constant<DataType, DataType::kFp64> {};

/// Memory of the caller's that is to be sent. Nothing is copied when the view is made.
struct TensorView {
  DataType dtype = DataType::kFp32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
  std::size_t byte_size = 0;  // must be what shape and dtype say; checked before anything is sent
  /// Optional: keeps `data` alive. With it an EncodedRequest refers to the bytes instead of copying them; they must not
  /// change until the owner is released.
  std::shared_ptr<const void> owner;
};

/// A view of `values`, which must outlive its use.
template <typename T>
TensorView View(const std::vector<T>& values, std::vector<std::int64_t> shape) {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no bytes: use std::vector<std::uint8_t> and kBool");
  return {DataTypeOf<T>::value, std::move(shape), values.data(), values.size() * sizeof(T), nullptr};
}

/// One output of a reply. It shares the reply's memory, so it may outlive the reply. Not thread-safe (`data` may
/// gather); copies are independent and cheap.
class OutputTensor {
 public:
  /// A stretch of the payload where the network put it.
  struct Chunk {
    const std::uint8_t* data;
    std::size_t size;
  };

  OutputTensor() = default;
  /// `memory` keeps the chunks alive. Requires: the chunks hold exactly the bytes that dtype and shape say.
  OutputTensor(std::string name, DataType dtype, std::vector<std::int64_t> shape, std::vector<Chunk> chunks,
               std::shared_ptr<const void> memory);

  const std::string& name() const { return name_; }
  DataType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::size_t byte_size() const { return byte_size_; }

  /// The bytes in one piece, valid as long as this object: where they arrived if they arrived in one piece, otherwise
  /// gathered once. Never null, also for an empty tensor. Aligned for no type: use ToVector for typed access.
  const std::uint8_t* data();

  /// Copies the bytes, once, straight from where they arrived. Requires: room for byte_size() bytes.
  void CopyTo(void* destination) const;

  /// The elements as T. Requires: T is the C++ type of dtype().
  template <typename T>
  std::vector<T> ToVector() const {
    std::vector<T> values(byte_size_ / sizeof(T));
    CopyTo(values.data());
    return values;
  }

 private:
  std::string name_;
  DataType dtype_ = DataType::kFp32;
  std::vector<std::int64_t> shape_;
  std::size_t byte_size_ = 0;
  std::vector<Chunk> chunks_;
  std::shared_ptr<const void> memory_;
};

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_TENSOR_H_

// Element types of tensors: their sizes and their names on the wire.
//
// Light on purpose: this header is also read by device code.
#ifndef KERNELWIRE_KERNELS_CORE_DTYPE_H_
#define KERNELWIRE_KERNELS_CORE_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kernelwire {

enum class DataType : std::uint8_t {
  kInvalid = 0,
  kBool,
  kInt8,
  kUint8,
  kInt32,
  kInt64,
  kFp16,
  kBf16,
  kFp32,
  kFp64,
  kFp8E4m3,  // S.1111.111 is NaN, no infinities
  kFp8E5m2,  // IEEE-like, with infinities
};

/// Bytes of one element; 0 for kInvalid.
constexpr std::size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kBool:
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kFp8E4m3:
    case DataType::kFp8E5m2:
      return 1;
    case DataType::kFp16:
    case DataType::kBf16:
      return 2;
    case DataType::kInt32:
    case DataType::kFp32:
      return 4;
    case DataType::kInt64:
    case DataType::kFp64:
      return 8;
    case DataType::kInvalid:
      break;
  }
  return 0;
}

constexpr bool IsFloat(DataType type) {
  return type == DataType::kFp16 || type == DataType::kBf16 || type == DataType::kFp32 || type == DataType::kFp64 ||
         type == DataType::kFp8E4m3 || type == DataType::kFp8E5m2;
}

/// The protocol's name, "FP32" for one; the FP8 types have the names "FP8_E4M3" and "FP8_E5M2".
const char* NameOf(DataType type);

/// The type of a wire name; nullopt when the name is unknown or names a type that kernelwire does not have.
std::optional<DataType> DataTypeFromName(std::string_view name);

/// A set of element types, for a spec to say which it takes.
class DataTypeSet {
 public:
  constexpr DataTypeSet() = default;
  template <typename... Types>
  constexpr explicit DataTypeSet(Types... types) : bits_((0u | ... | Bit(types))) {}
  constexpr bool Contains(DataType type) const { return (bits_ & Bit(type)) != 0; }
  /// "FP16, BF16, FP32", in the enumeration's order.
  std::string ToString() const;

 private:
  static constexpr std::uint32_t Bit(DataType type) { return 1u << static_cast<unsigned>(type); }
  std::uint32_t bits_ = 0;
};

inline constexpr DataTypeSet kFloats16And32{DataType::kFp16, DataType::kBf16, DataType::kFp32};
inline constexpr DataTypeSet kFloats{DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_DTYPE_H_

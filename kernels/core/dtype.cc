#include "kernels/core/dtype.h"

#include <array>

namespace kernelwire {
namespace {

struct NamedType {
  DataType type;
  const char* name;
};

constexpr std::array<NamedType, 11> kNames{{
    {DataType::kBool, "BOOL"},
    {DataType::kInt8, "INT8"},
    {DataType::kUint8, "UINT8"},
    {DataType::kInt32, "INT32"},
    {DataType::kInt64, "INT64"},
    {DataType::kFp16, "FP16"},
    {DataType::kBf16, "BF16"},
    {DataType::kFp32, "FP32"},
    {DataType::kFp64, "FP64"},
    {DataType::kFp8E4m3, "FP8_E4M3"},
    {DataType::kFp8E5m2, "FP8_E5M2"},
}};

}  // namespace

const char* NameOf(DataType type) {
  for (const NamedType& named : kNames) {
    if (named.type == type) {
      return named.name;
    }
  }
  return "INVALID";
}

std::optional<DataType> DataTypeFromName(std::string_view name) {
  for (const NamedType& named : kNames) {
    if (named.name == name) {
      return named.type;
    }
  }
  return std::nullopt;
}

std::string DataTypeSet::ToString() const {
  std::string text;
  for (const NamedType& named : kNames) {
    if (Contains(named.type)) {
      text += text.empty() ? "" : ", ";
      text += named.name;
    }
  }
  return text;
}

}  // namespace kernelwire

#include "client/cli/tensor_text.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "client/cli/narrow_float.h"

namespace kernelwire::cli {
namespace {

using client::DataType;

template <typename T>
T Load(const std::uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

std::string FloatText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

}  // namespace

std::string ElementText(DataType dtype, const std::uint8_t* bytes) {
  switch (dtype) {
    case DataType::kBool:
      return *bytes != 0 ? "true" : "false";
    case DataType::kInt8:
      return std::to_string(Load<std::int8_t>(bytes));
    case DataType::kUint8:
      return std::to_string(*bytes);
    case DataType::kInt32:
      return std::to_string(Load<std::int32_t>(bytes));
    case DataType::kInt64:
      return std::to_string(Load<std::int64_t>(bytes));
    case DataType::kFp16:
      return FloatText(static_cast<double>(FloatFromFp16(Load<std::uint16_t>(bytes))));
    case DataType::kBf16:
      return FloatText(static_cast<double>(FloatFromBf16(Load<std::uint16_t>(bytes))));
    case DataType::kFp32:
      return FloatText(static_cast<double>(Load<float>(bytes)));
    case DataType::kFp64:
      return FloatText(Load<double>(bytes));
    case DataType::kFp8E4m3:
    case DataType::kFp8E5m2:
      break;
  }
  return "?";
}

std::string PreviewText(DataType dtype, const std::uint8_t* bytes, std::size_t byte_size, std::size_t most) {
  const std::size_t count = byte_size / client::SizeOf(dtype);
  std::string text;
  for (std::size_t i = 0; i < std::min(count, most); ++i) {
    text += (i == 0 ? "" : ", ") + ElementText(dtype, bytes + i * client::SizeOf(dtype));
  }
  if (count > most) {
    text += ", ... (" + std::to_string(count - most) + " more)";
  }
  return text;
}

}  // namespace kernelwire::cli

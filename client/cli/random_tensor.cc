#include "client/cli/random_tensor.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "client/cli/narrow_float.h"
#include "client/cli/number_text.h"

namespace kernelwire::cli {
namespace {

using client::DataType;
using client::Status;
using client::StatusCode;

// In [0, 1). The library's distributions differ from one implementation to the next.
double Uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 40) * 0x1p-24; }

template <typename T>
void Store(T value, std::uint8_t* to) {
  std::memcpy(to, &value, sizeof(value));
}

void StoreNumber(double value, DataType dtype, std::uint8_t* to) {
  switch (dtype) {
    case DataType::kFp16:
      return Store(Fp16FromFloat(static_cast<float>(value)), to);
    case DataType::kBf16:
      return Store(Bf16FromFloat(static_cast<float>(value)), to);
    case DataType::kFp32:
      return Store(static_cast<float>(value), to);
    case DataType::kFp64:
      return Store(value, to);
    case DataType::kInt32:
      return Store(static_cast<std::int32_t>(value), to);
    case DataType::kInt64:
      return Store(static_cast<std::int64_t>(value), to);
    case DataType::kBool:
      return Store(static_cast<std::uint8_t>(value >= 40), to);
    default:  // the types of one byte; small codes of FP8 are small numbers
      return Store(static_cast<std::uint8_t>(value), to);
  }
}

bool IsFloat(DataType dtype) {
  return dtype == DataType::kFp16 || dtype == DataType::kBf16 || dtype == DataType::kFp32 || dtype == DataType::kFp64;
}

}  // namespace

client::Result<std::vector<std::int64_t>> ParseShapeText(const std::string& text) {
  std::vector<std::int64_t> shape;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto extent = ParseNumber<std::int64_t>(std::string_view(text).substr(begin, end - begin));
    if (!extent.has_value() || *extent < 0 || end + 1 == text.size()) {
      return Status(StatusCode::kInvalidArgument, "expected sizes such as 8,1024, got '" + text + "'");
    }
    shape.push_back(*extent);
    begin = end + 1;
  }
  if (!client::ElementCount(shape).has_value()) {
    return Status(StatusCode::kInvalidArgument, "expected fewer elements than 2^63, got " + client::ShapeText(shape));
  }
  return shape;
}

Status CheckInputBytes(DataType dtype, const std::vector<std::int64_t>& shape) {
  const std::optional<std::int64_t> count = client::ElementCount(shape);
  const auto size = static_cast<std::int64_t>(client::SizeOf(dtype));
  if (count.has_value() && *count <= kMostInputBytes / size) {  // divided: the product could wrap
    return Status();
  }
  return Status(StatusCode::kInvalidArgument, "expected an input of at most " + std::to_string(kMostInputBytes) +
                                                  " bytes, which is what a message holds, got " +
                                                  client::ShapeText(shape) + " of " + client::NameOf(dtype));
}

Status CheckInputBytes(const std::vector<InputPlan>& plans) {
  std::int64_t total = 0;
  for (const InputPlan& plan : plans) {
    total += *client::ElementCount(plan.shape) * static_cast<std::int64_t>(client::SizeOf(plan.dtype));
  }
  if (total <= kMostInputBytes) {
    return Status();
  }
  return Status(StatusCode::kInvalidArgument, "expected inputs of at most " + std::to_string(kMostInputBytes) +
                                                  " bytes in all, which is what a message holds, got " +
                                                  std::to_string(total));
}

client::Result<InputPlan> ParseInputPlan(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':', equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos) {
    return Status(StatusCode::kInvalidArgument, "expected NAME=TYPE:SHAPE such as x=FP32:8,1024, got '" + text + "'");
  }
  const std::string type = text.substr(equals + 1, colon - equals - 1);
  const auto dtype = client::DataTypeFromName(type);
  if (!dtype.has_value()) {
    return Status(StatusCode::kInvalidArgument, "expected a type such as FP32 or BF16, got '" + type + "'");
  }
  const auto shape = ParseShapeText(text.substr(colon + 1));
  if (!shape.ok()) {
    return shape.status();
  }
  if (Status status = CheckInputBytes(*dtype, *shape); !status.ok()) {
    return status;
  }
  return InputPlan{text.substr(0, equals), *dtype, *shape};
}

Array RandomTensor(const InputPlan& plan, std::mt19937_64& random) {
  const auto count = static_cast<std::size_t>(*client::ElementCount(plan.shape));
  const std::size_t size = client::SizeOf(plan.dtype);
  Array array{plan.dtype, plan.shape, std::vector<std::uint8_t>(count * size)};
  double corner[2] = {0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    double value = IsFloat(plan.dtype) ? Uniform(random) * 8 - 4 : Uniform(random) * 80;
    if (plan.name == "scores") {
      value = Uniform(random);
    } else if (plan.name == "boxes") {
      const bool near = i % 4 < 2;  // x1 and y1 come first
      value = near ? Uniform(random) * 888 : corner[i % 2] + 8 + Uniform(random) * 128;
      corner[i % 2] = value;
    }
    StoreNumber(value, plan.dtype, &array.bytes[i * size]);
  }
  return array;
}

}  // namespace kernelwire::cli

#include "client/cli/npy.h"

#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "client/cli/file.h"
#include "client/cli/narrow_float.h"
#include "client/cli/number_text.h"

namespace kernelwire::cli {
namespace {

using client::DataType;
using client::Result;
using client::Status;
using client::StatusCode;

constexpr std::string_view kMagic = "\x93NUMPY";

constexpr std::array<std::pair<std::string_view, DataType>, 8> kTypes = {{{"<f2", DataType::kFp16},
                                                                          {"<f4", DataType::kFp32},
                                                                          {"<f8", DataType::kFp64},
                                                                          {"|i1", DataType::kInt8},
                                                                          {"|u1", DataType::kUint8},
                                                                          {"<i4", DataType::kInt32},
                                                                          {"<i8", DataType::kInt64},
                                                                          {"|b1", DataType::kBool}}};

Status Malformed(const std::string& reason) { return Status(StatusCode::kInvalidArgument, reason); }

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

// The value of `key` in the header, a Python dictionary: up to the comma that ends it, or the tuple or the quoted text.
std::optional<std::string_view> ValueOf(std::string_view header, const std::string& key) {
  const std::size_t found = header.find("'" + key + "'");
  if (found == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = Trim(header.substr(found + key.size() + 2));
  if (rest.empty() || rest.front() != ':') {
    return std::nullopt;
  }
  const std::string_view value = Trim(rest.substr(1));
  if (value.empty()) {
    return std::nullopt;
  }
  const std::size_t bracket = std::string_view("'([").find(value.front());
  const bool bare = bracket == std::string_view::npos;  // True and False end where the entry does
  const std::size_t end = bare ? value.find_first_of(",}") : value.find("')]"[bracket], 1);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  return bare ? Trim(value.substr(0, end)) : value.substr(0, end + 1);
}

// "(3, 4)", "(3,)" and "()".
std::optional<std::vector<std::int64_t>> ParseShape(std::string_view tuple) {
  if (tuple.size() < 2 || tuple.front() != '(' || tuple.back() != ')') {
    return std::nullopt;
  }
  std::vector<std::int64_t> shape;
  std::string_view rest = Trim(tuple.substr(1, tuple.size() - 2));
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::optional<std::int64_t> extent = ParseNumber<std::int64_t>(Trim(rest.substr(0, comma)));
    if (!extent.has_value() || *extent < 0) {
      return std::nullopt;
    }
    shape.push_back(*extent);
    rest = comma == std::string_view::npos ? "" : Trim(rest.substr(comma + 1));
  }
  return shape;
}

// Type, order and shape; the bytes are left empty.
Result<Array> ParseHeader(std::string_view header) {
  const auto descr = ValueOf(header, "descr");
  const auto order = ValueOf(header, "fortran_order");
  const auto tuple = ValueOf(header, "shape");
  if (!descr.has_value() || !order.has_value() || !tuple.has_value()) {
    return Malformed("header: expected 'descr', 'fortran_order' and 'shape', got " + std::string(Trim(header)));
  }
  if (*order != "False") {
    return Malformed("header: expected C order, got fortran_order " + std::string(*order) +
                     "; save numpy.ascontiguousarray(a)");
  }
  Array array;
  bool known = false;
  for (const auto& [name, dtype] : kTypes) {
    if (*descr == "'" + std::string(name) + "'") {
      array.dtype = dtype;
      known = true;
    }
  }
  if (!known) {
    return Malformed("header: expected a type of <f2 <f4 <f8 |i1 |u1 <i4 <i8 |b1, got " + std::string(*descr));
  }
  const auto shape = ParseShape(*tuple);
  if (!shape.has_value()) {
    return Malformed("header: expected a shape such as (3, 4), got " + std::string(*tuple));
  }
  array.shape = *shape;
  return array;
}

std::string_view DescrOf(DataType dtype) {
  for (const auto& [name, known] : kTypes) {
    if (known == dtype) {
      return name;
    }
  }
  return dtype == DataType::kBf16 ? "<f4" : "|u1";
}

std::string Header(const Array& array) {
  std::string header = "{'descr': '" + std::string(DescrOf(array.dtype)) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : array.shape) {
    header += std::to_string(extent) + ",";  // Python takes "(3,4,)" as well as "(3, 4)"
  }
  header += "), }";
  constexpr std::size_t kPrefix = 10;  // magic, version, length
  const std::size_t padding = 63 - (kPrefix + header.size()) % 64;
  return header + std::string(padding, ' ') + '\n';  // the elements begin at a multiple of 64
}

}  // namespace

Result<Array> ParseNpy(const std::string& content) {
  const std::string_view whole = content;
  if (whole.size() < 10 || whole.substr(0, kMagic.size()) != kMagic) {
    return Malformed("expected a .npy file, got something without its first bytes");
  }
  const auto byte = [whole](std::size_t index) { return static_cast<std::uint8_t>(whole[index]); };
  const int version = byte(6);
  if (version < 1 || version > 3) {
    return Malformed("expected format version 1, 2 or 3, got " + std::to_string(version));
  }
  const std::size_t begin = version == 1 ? 10 : 12;
  if (whole.size() < begin) {
    return Malformed("header: the file ends within it");
  }
  std::size_t length = byte(8) + (std::size_t{byte(9)} << 8);
  if (version > 1) {
    length += (std::size_t{byte(10)} << 16) + (std::size_t{byte(11)} << 24);
  }
  if (whole.size() - begin < length) {
    return Malformed("header: the file ends within it");
  }
  Result<Array> array = ParseHeader(whole.substr(begin, length));
  if (!array.ok()) {
    return array;
  }
  const std::string_view elements = whole.substr(begin + length);
  const std::optional<std::int64_t> count = client::ElementCount(array->shape);
  const std::size_t element = client::SizeOf(array->dtype);
  if (!count.has_value() || elements.size() % element != 0 ||
      elements.size() / element != static_cast<std::size_t>(*count)) {
    return Malformed("shape " + client::ShapeText(array->shape) + " of " + client::NameOf(array->dtype) +
                     " does not fit the " + std::to_string(elements.size()) + " bytes that follow the header");
  }
  array->bytes.assign(elements.begin(), elements.end());
  return array;
}

std::string FormatNpy(const Array& array) {
  const std::string header = Header(array);
  std::string content(kMagic);
  content += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  content += header;
  if (array.dtype != DataType::kBf16) {
    return content.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  }
  for (std::size_t i = 0; i + 1 < array.bytes.size(); i += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, &array.bytes[i], sizeof(bits));
    const float value = FloatFromBf16(bits);
    content.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return content;
}

Result<Array> ReadNpy(const std::string& path) {
  const Result<std::string> content = ReadFile(path);
  if (!content.ok()) {
    return content.status();
  }
  Result<Array> array = ParseNpy(*content);
  return array.ok() ? std::move(array) : Malformed(path + ": " + array.status().message());
}

Result<Array> ReadNpyAs(const std::string& path_and_type) {
  const std::size_t colon = path_and_type.rfind(':');
  const auto dtype =
      colon == std::string::npos ? std::nullopt : client::DataTypeFromName(path_and_type.substr(colon + 1));
  if (!dtype.has_value()) {
    return ReadNpy(path_and_type);
  }
  Result<Array> array = ReadNpy(path_and_type.substr(0, colon));
  return array.ok() ? ConvertTo(*dtype, *std::move(array)) : array;
}

Status WriteNpy(const std::string& path, const Array& array) { return WriteFile(path, FormatNpy(array)); }

Result<Array> ConvertTo(DataType dtype, Array array) {
  if (dtype == array.dtype) {
    return array;
  }
  if (array.dtype != DataType::kFp32 || (dtype != DataType::kFp16 && dtype != DataType::kBf16)) {
    return Malformed(std::string("expected FP32 to convert to FP16 or BF16, got ") + client::NameOf(array.dtype) +
                     " to " + client::NameOf(dtype));
  }
  for (std::size_t i = 0; i < array.bytes.size() / 4; ++i) {
    float value = 0;
    std::memcpy(&value, &array.bytes[4 * i], sizeof(value));
    const std::uint16_t bits = dtype == DataType::kFp16 ? Fp16FromFloat(value) : Bf16FromFloat(value);
    std::memcpy(&array.bytes[2 * i], &bits, sizeof(bits));  // never ahead of what is still to be read
  }
  array.bytes.resize(array.bytes.size() / 2);
  array.dtype = dtype;
  return array;
}

}  // namespace kernelwire::cli

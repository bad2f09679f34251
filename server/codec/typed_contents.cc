#include "server/codec/typed_contents.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"

namespace kernelwire {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed-width values are copied as they stand on the wire");

/// One of the lists of InferTensorContents (open_inference.proto): its field number is its index here.
struct List {
  const char* name;
  WireType element;  // how one element is written
};
constexpr List kLists[] = {{"", WireType::kGroup},
                           {"bool_contents", WireType::kVarint},
                           {"int_contents", WireType::kVarint},
                           {"int64_contents", WireType::kVarint},
                           {"uint_contents", WireType::kVarint},
                           {"uint64_contents", WireType::kVarint},
                           {"fp32_contents", WireType::kFixed32},
                           {"fp64_contents", WireType::kFixed64},
                           {"bytes_contents", WireType::kLength}};
constexpr std::uint32_t kLastList = 8;

/// The list that holds elements of a type; 0 when there is none.
constexpr std::uint32_t ListOf(DataType dtype) {
  switch (dtype) {
    case DataType::kBool:
      return 1;
    case DataType::kInt8:
    case DataType::kInt32:
      return 2;
    case DataType::kInt64:
      return 3;
    case DataType::kUint8:
    case DataType::kFp8E4m3:  // by their codes, as UINT8
    case DataType::kFp8E5m2:
      return 4;
    case DataType::kFp32:
      return 6;
    case DataType::kFp64:
      return 7;
    case DataType::kFp16:
    case DataType::kBf16:
    case DataType::kInvalid:
      break;
  }
  return 0;
}

constexpr std::size_t FixedBytes(WireType type) { return type == WireType::kFixed64 ? 8 : 4; }

/// The value of the protocol's list as the type it has there, the way the generated parser narrows it.
template <typename Wide>
Wide FromVarint(std::uint64_t value) {
  if constexpr (std::is_same_v<Wide, bool>) {
    return value != 0;
  } else {
    return static_cast<Wide>(value);
  }
}

}  // namespace

/// Neighbouring values of one list: a packed field, or a field of one value.
struct TypedContents::Run {
  std::uint32_t list = 0;
  SliceReader values;
};

TypedContents::TypedContents(const std::vector<grpc::Slice>& slices, const ByteRange& contents,
                             const std::string& input_name, DataType dtype)
    : slices_(slices), contents_(contents), input_name_(input_name), dtype_(dtype) {}

absl::Status TypedContents::Malformed() const {
  return absl::InvalidArgumentError(
      absl::StrCat("input '", input_name_, "': expected contents that are an InferTensorContents, got other bytes"));
}

/// Calls `visit(Run&)` for every run that holds a value, in order, until one fails.
template <typename Visitor>
absl::Status TypedContents::ForEachRun(Visitor visit) const {
  SliceReader reader(slices_, contents_);
  while (reader.remaining() > 0) {
    std::uint32_t list = 0;
    WireType type{};
    if (!reader.ReadTag(&list, &type)) {
      return Malformed();
    }
    const bool known = list <= kLastList;
    if (!known || (type != WireType::kLength && type != kLists[list].element)) {
      if (known || !reader.SkipValue(type)) {
        return Malformed();
      }
      continue;
    }
    // One value has no length in front of it. To find its own, skip it with a copy of the reader.
    std::size_t length = 0;
    if (type == WireType::kLength) {
      if (!reader.ReadLength(&length)) {
        return Malformed();
      }
    } else {
      SliceReader after = reader;
      if (!after.SkipValue(type)) {
        return Malformed();
      }
      length = reader.remaining() - after.remaining();
    }
    ByteRange range;
    reader.TakeRange(length, &range);
    if (length > 0 || kLists[list].element == WireType::kLength) {  // an empty bytes value is a value
      Run run{list, SliceReader(slices_, range)};
      KERNELWIRE_RETURN_IF_ERROR(visit(run));
    }
  }
  return absl::OkStatus();
}

absl::Status TypedContents::CountRun(const Run& run, std::int64_t* count) const {
  const List& expected = kLists[ListOf(dtype_)];
  if (run.list != ListOf(dtype_)) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input_name_, "': expected the elements of ",
                                                   NameOf(dtype_), " in contents.", expected.name, ", got ",
                                                   kLists[run.list].name));
  }
  SliceReader values = run.values;
  if (expected.element != WireType::kVarint) {
    const std::size_t element = FixedBytes(expected.element);
    *count += static_cast<std::int64_t>(values.remaining() / element);
    return values.remaining() % element == 0 ? absl::OkStatus() : Malformed();
  }
  while (values.remaining() > 0) {
    std::uint64_t ignored = 0;
    if (!values.ReadVarint(&ignored)) {
      return Malformed();
    }
    ++*count;
  }
  return absl::OkStatus();
}

absl::Status TypedContents::Check(std::int64_t count) const {
  if (ListOf(dtype_) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input_name_, "': expected ", NameOf(dtype_),
                                                   " in raw_input_contents, got contents, which have no list for it"));
  }
  std::int64_t got = 0;
  KERNELWIRE_RETURN_IF_ERROR(ForEachRun([&](const Run& run) { return CountRun(run, &got); }));
  if (got != count) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input_name_, "': expected ", count,
                                                   " values in contents.", kLists[ListOf(dtype_)].name,
                                                   " for its shape, got ", got));
  }
  return absl::OkStatus();
}

/// Values that are written as varints, of type `Wide` in the list, narrowed to the tensor's `Element`.
template <typename Element, typename Wide>
absl::Status TypedContents::CopyNumbers(Element* to) const {
  std::int64_t index = 0;
  return ForEachRun([&](Run& run) -> absl::Status {
    std::uint64_t varint = 0;
    while (run.values.remaining() > 0 && run.values.ReadVarint(&varint)) {
      const Wide value = FromVarint<Wide>(varint);
      const auto element = static_cast<Element>(value);
      if (static_cast<Wide>(element) != value) {
        return absl::InvalidArgumentError(absl::StrCat("input '", input_name_, "': expected values of ", NameOf(dtype_),
                                                       ", within [", +std::numeric_limits<Element>::min(), ", ",
                                                       +std::numeric_limits<Element>::max(), "], got ", value,
                                                       " at index ", index));
      }
      to[index++] = element;
    }
    return absl::OkStatus();
  });
}

/// Values that the wire holds as the tensor does.
absl::Status TypedContents::CopyFixed(void* destination) const {
  auto* to = static_cast<std::byte*>(destination);
  return ForEachRun([&](Run& run) {
    const std::size_t bytes = run.values.remaining();
    run.values.ReadBytes(to, bytes);
    to += bytes;
    return absl::OkStatus();
  });
}

absl::Status TypedContents::CopyTo(void* destination) const {
  switch (dtype_) {
    case DataType::kBool:
      return CopyNumbers<std::uint8_t, bool>(static_cast<std::uint8_t*>(destination));
    case DataType::kInt8:
      return CopyNumbers<std::int8_t, std::int32_t>(static_cast<std::int8_t*>(destination));
    case DataType::kInt32:
      return CopyNumbers<std::int32_t, std::int32_t>(static_cast<std::int32_t*>(destination));
    case DataType::kInt64:
      return CopyNumbers<std::int64_t, std::int64_t>(static_cast<std::int64_t*>(destination));
    case DataType::kUint8:
    case DataType::kFp8E4m3:
    case DataType::kFp8E5m2:
      return CopyNumbers<std::uint8_t, std::uint32_t>(static_cast<std::uint8_t*>(destination));
    case DataType::kFp32:
    case DataType::kFp64:
      return CopyFixed(destination);
    case DataType::kFp16:
    case DataType::kBf16:
    case DataType::kInvalid:
      break;
  }
  return Malformed();
}

}  // namespace kernelwire

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

/// The value of the protocol's list as the type it has there, the way the generated parser narrows it.
template <typename Wide>
Wide FromVarint(std::uint64_t value) {
  if constexpr (std::is_same_v<Wide, bool>) {
    return value != 0;
  } else {
    return static_cast<Wide>(value);
  }
}

constexpr std::uint8_t TagOf(std::uint32_t list) {
  return static_cast<std::uint8_t>((list << 3) | static_cast<std::uint32_t>(kLists[list].element));
}

}  // namespace

/// Neighbouring values of the tensor's list, ahead of a reader. A message may be nothing but fields of one value, so
/// they are read on the spot: what is done for each of them is done tens of millions of times.
struct TypedContents::Run {
  SliceReader* reader;
  bool packed;        // one field; else fields of one value each, of which the first one's tag has been read
  std::size_t bytes;  // of the packed field
  std::uint8_t tag;   // of a field of one value

  /// Hands `take` the values one by one. False when the bytes are others or `take` says false.
  template <typename Take>
  bool ReadVarints(Take take) const {
    std::uint64_t value = 0;
    if (!packed) {
      do {
        if (!reader->ReadVarint(&value) || !take(value)) {
          return false;
        }
      } while (reader->SkipByte(tag));
      return true;
    }
    const std::size_t end = reader->remaining() - bytes;
    while (reader->remaining() > end) {
      if (!reader->ReadVarint(&value) || !take(value)) {
        return false;
      }
    }
    return reader->remaining() == end;  // not so when the last value goes on beyond the field
  }

  /// Lets `take` read or skip values of `element` bytes, as many bytes of them as it is told.
  template <typename Take>
  bool ReadFixed(std::size_t element, Take take) const {
    if (packed) {
      return bytes % element == 0 && take(bytes);
    }
    do {
      if (!take(element)) {
        return false;
      }
    } while (reader->SkipByte(tag));
    return true;
  }
};

TypedContents::TypedContents(const std::vector<grpc::Slice>& slices, const ByteRange& contents,
                             const std::string& input_name, DataType dtype)
    : slices_(slices), contents_(contents), input_name_(input_name), dtype_(dtype) {}

absl::Status TypedContents::Malformed() const {
  return absl::InvalidArgumentError(
      absl::StrCat("input '", input_name_, "': expected contents that are an InferTensorContents, got other bytes"));
}

/// Calls `visit(const Run&)` for all runs of the tensor's list, in order, until one returns false: it found no values.
template <typename Visitor>
absl::Status TypedContents::ForEachRun(Visitor visit) const {
  const std::uint32_t own = ListOf(dtype_);
  SliceReader reader(slices_, contents_);
  while (reader.remaining() > 0) {
    std::uint32_t list = 0;
    WireType type{};
    if (!reader.ReadTag(&list, &type)) {
      return Malformed();
    }
    if (list != own) {
      KERNELWIRE_RETURN_IF_ERROR(SkipOther(list, type, &reader));
      continue;
    }
    Run run{&reader, type == WireType::kLength, 0, TagOf(own)};
    if (run.packed ? !reader.ReadLength(&run.bytes) : type != kLists[own].element) {
      return Malformed();
    }
    if (!visit(run)) {
      return Malformed();
    }
  }
  return absl::OkStatus();
}

/// A field that is not of the tensor's list may be one that nobody knows, or a list without a value.
absl::Status TypedContents::SkipOther(std::uint32_t list, WireType type, SliceReader* reader) const {
  const bool known = list <= kLastList;
  if (known && type != WireType::kLength && type != kLists[list].element) {
    return Malformed();
  }
  std::size_t length = 0;
  const bool packed = known && type != kLists[list].element;
  if (packed ? !reader->ReadLength(&length) || !reader->Skip(length) : !reader->SkipValue(type)) {
    return Malformed();
  }
  if (known && (!packed || length > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input_name_, "': expected the elements of ",
                                                   NameOf(dtype_), " in contents.", kLists[ListOf(dtype_)].name,
                                                   ", got ", kLists[list].name));
  }
  return absl::OkStatus();
}

absl::Status TypedContents::Count(std::int64_t* count) const {
  if (kLists[ListOf(dtype_)].element == WireType::kVarint) {
    return ForEachRun([&](const Run& run) {
      return run.ReadVarints([&](std::uint64_t) {
        ++*count;
        return true;
      });
    });
  }
  const std::size_t element = SizeOf(dtype_);
  return ForEachRun([&](const Run& run) {
    return run.ReadFixed(element, [&](std::size_t bytes) {
      *count += static_cast<std::int64_t>(bytes / element);
      return run.reader->Skip(bytes);
    });
  });
}

absl::Status TypedContents::Check(std::int64_t count) const {
  if (ListOf(dtype_) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input_name_, "': expected ", NameOf(dtype_),
                                                   " in raw_input_contents, got contents, which have no list for it"));
  }
  std::int64_t got = 0;
  KERNELWIRE_RETURN_IF_ERROR(Count(&got));
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
  std::optional<Wide> misfit;
  absl::Status read = ForEachRun([&](const Run& run) {
    return run.ReadVarints([&](std::uint64_t varint) {
      const Wide value = FromVarint<Wide>(varint);
      const auto element = static_cast<Element>(value);
      if (static_cast<Wide>(element) != value) {
        misfit = value;
        return false;
      }
      to[index++] = element;
      return true;
    });
  });
  if (!misfit.has_value()) {
    return read;
  }
  return absl::InvalidArgumentError(absl::StrCat("input '", input_name_, "': expected values of ", NameOf(dtype_),
                                                 ", within [", +std::numeric_limits<Element>::min(), ", ",
                                                 +std::numeric_limits<Element>::max(), "], got ", *misfit, " at index ",
                                                 index));
}

/// Values that the wire holds as the tensor does.
absl::Status TypedContents::CopyFixed(void* destination) const {
  auto* to = static_cast<std::byte*>(destination);
  return ForEachRun([&](const Run& run) {
    return run.ReadFixed(SizeOf(dtype_), [&](std::size_t bytes) {
      const bool read = run.reader->ReadBytes(to, bytes);
      to += bytes;
      return read;
    });
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

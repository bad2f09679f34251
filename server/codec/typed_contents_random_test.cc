// Random contents, packed and unpacked fields in any mixture, cut at random, are read as the generated parser reads
// them.
#include <algorithm>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "open_inference.pb.h"
#include "server/codec/testing/message_bytes.h"
#include "server/codec/typed_contents.h"

namespace kernelwire {
namespace {

using Contents = inference::InferTensorContents;

constexpr DataType kTypesWithLists[] = {DataType::kBool,    DataType::kInt8,  DataType::kInt32,
                                        DataType::kInt64,   DataType::kUint8, DataType::kFp8E4m3,
                                        DataType::kFp8E5m2, DataType::kFp32,  DataType::kFp64};

void AppendVarint(std::uint64_t value, std::string* bytes) {
  for (; value >= 0x80u; value >>= 7) {
    bytes->push_back(static_cast<char>(value | 0x80u));
  }
  bytes->push_back(static_cast<char>(value));
}

/// The bytes of a message, field by field.
class RandomContents {
 public:
  RandomContents(std::uint64_t seed, DataType dtype) : random_(seed), narrow_(Below(4) != 0) {
    const std::uint32_t own = ListOf(dtype);
    for (std::size_t fields = Below(8); fields > 0; --fields) {
      AddFields(Below(40) == 0 ? 1 + static_cast<std::uint32_t>(Below(7)) : own);
    }
  }

  std::size_t Below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }
  std::string& bytes() { return bytes_; }
  std::vector<grpc::Slice> Slices() {
    std::vector<std::size_t> cuts(Below(12));
    for (std::size_t& cut : cuts) {
      cut = Below(bytes_.size() + 1);
    }
    std::sort(cuts.begin(), cuts.end());
    return kernelwire::testing::CutAt(bytes_, cuts);
  }

 private:
  static std::uint32_t ListOf(DataType dtype) {
    switch (dtype) {
      case DataType::kBool:
        return Contents::kBoolContentsFieldNumber;
      case DataType::kInt8:
      case DataType::kInt32:
        return Contents::kIntContentsFieldNumber;
      case DataType::kInt64:
        return Contents::kInt64ContentsFieldNumber;
      case DataType::kFp32:
        return Contents::kFp32ContentsFieldNumber;
      case DataType::kFp64:
        return Contents::kFp64ContentsFieldNumber;
      default:
        return Contents::kUintContentsFieldNumber;
    }
  }

  static std::uint64_t ElementType(std::uint32_t list) {
    return list == Contents::kFp32ContentsFieldNumber ? 5 : list == Contents::kFp64ContentsFieldNumber ? 1 : 0;
  }

  /// Some fields of one value, or a packed one, or one that says nothing.
  void AddFields(std::uint32_t list) {
    std::string values;
    switch (Below(5)) {
      case 0:
      case 1:
        for (std::size_t i = Below(20); i > 0; --i) {
          AddTag(list, ElementType(list));
          AddValue(list, &bytes_);
        }
        return;
      case 2:
      case 3:
        for (std::size_t i = Below(6); i > 0; --i) {
          AddValue(list, &values);
        }
        AddTag(list, 2);
        return AddLength(values);
      default:
        AddTag(Below(2) == 0 ? 4 : 100, 2);  // an empty list, or a field that nobody knows
        return AddLength("");
    }
  }

  void AddTag(std::uint32_t list, std::uint64_t type) { AddPadded((std::uint64_t{list} << 3) | type, 5, &bytes_); }

  void AddLength(const std::string& payload) {
    AppendVarint(payload.size(), &bytes_);
    bytes_ += payload;
  }

  void AddValue(std::uint32_t list, std::string* to) {
    if (ElementType(list) == 0) {
      return AddPadded(Number(), 10, to);
    }
    for (int bytes = ElementType(list) == 5 ? 4 : 8; bytes > 0; --bytes) {
      to->push_back(static_cast<char>(Below(256)));
    }
  }

  std::uint64_t Number() {
    const std::uint64_t number = narrow_ ? Below(128) : random_() >> Below(64);
    return Below(narrow_ ? 8 : 2) == 0 ? ~number : number;
  }

  /// Now and then with more bytes than it needs, up to `most`, and beyond when that is refused.
  void AddPadded(std::uint64_t value, std::size_t most, std::string* to) {
    std::string varint;
    AppendVarint(value, &varint);
    if (Below(30) == 0) {
      const std::size_t length = std::max(varint.size(), 1 + Below(most + (Below(20) == 0 ? 1 : 0)));
      while (varint.size() < length) {
        varint.back() = static_cast<char>(varint.back() | '\x80');
        varint.push_back('\0');
      }
    }
    *to += varint;
  }

  std::mt19937_64 random_;
  const bool narrow_;  // numbers that most types hold
  std::string bytes_;
};

/// What the generated parser has of the list, as the tensor's bytes; nothing when a value does not fit.
template <typename Element, typename List>
std::optional<std::string> Elements(const List& list) {
  std::string bytes;
  for (const typename List::value_type value : list) {
    const auto element = static_cast<Element>(value);
    if constexpr (std::is_integral_v<Element>) {
      if (static_cast<typename List::value_type>(element) != value) {
        return std::nullopt;
      }
    }
    bytes.append(reinterpret_cast<const char*>(&element), sizeof(element));
  }
  return bytes;
}

struct Expected {
  int count = 0;
  std::optional<std::string> elements;
};

Expected ExpectedOf(const Contents& contents, DataType dtype) {
  switch (dtype) {
    case DataType::kBool:
      return {contents.bool_contents_size(), Elements<std::uint8_t>(contents.bool_contents())};
    case DataType::kInt8:
      return {contents.int_contents_size(), Elements<std::int8_t>(contents.int_contents())};
    case DataType::kInt32:
      return {contents.int_contents_size(), Elements<std::int32_t>(contents.int_contents())};
    case DataType::kInt64:
      return {contents.int64_contents_size(), Elements<std::int64_t>(contents.int64_contents())};
    case DataType::kFp32:
      return {contents.fp32_contents_size(), Elements<float>(contents.fp32_contents())};
    case DataType::kFp64:
      return {contents.fp64_contents_size(), Elements<double>(contents.fp64_contents())};
    default:
      return {contents.uint_contents_size(), Elements<std::uint8_t>(contents.uint_contents())};
  }
}

int CountOfAll(const Contents& contents) {
  return contents.bool_contents_size() + contents.int_contents_size() + contents.int64_contents_size() +
         contents.uint_contents_size() + contents.uint64_contents_size() + contents.fp32_contents_size() +
         contents.fp64_contents_size() + contents.bytes_contents_size();
}

struct Tally {
  int read = 0;
  int misfits = 0;
  int refused = 0;
};

/// `exact`: what the parser takes is taken. Else fields may have been made unknown to it, which are refused here.
void Compare(RandomContents* contents, DataType dtype, bool exact, Tally* tally) {
  Contents reference;
  const bool parsed = reference.ParseFromString(contents->bytes());
  const Expected expected = ExpectedOf(reference, dtype);
  const std::vector<grpc::Slice> slices = contents->Slices();
  const std::string name = "x";
  const TypedContents typed(slices, ByteRange{0, 0, contents->bytes().size()}, name, dtype);
  const absl::Status checked = typed.Check(expected.count);
  EXPECT_FALSE(typed.Check(expected.count + 1).ok());
  if (!checked.ok()) {
    ++tally->refused;
    EXPECT_FALSE(exact && parsed && CountOfAll(reference) == expected.count) << checked;
    return;
  }
  ASSERT_TRUE(parsed);
  ASSERT_EQ(CountOfAll(reference), expected.count);
  std::vector<char> elements(static_cast<std::size_t>(expected.count) * SizeOf(dtype));
  const absl::Status copied = typed.CopyTo(elements.data());
  ASSERT_EQ(copied.ok(), expected.elements.has_value()) << copied;
  ++(copied.ok() ? tally->read : tally->misfits);
  if (copied.ok()) {
    ASSERT_EQ(std::string(elements.begin(), elements.end()), *expected.elements);
  }
}

TEST(TypedContentsRandomTest, MixturesAreReadAsTheGeneratedParserReadsThem) {
  constexpr std::uint64_t kFirstSeed = 31000;
  constexpr std::uint64_t kMessages = 20000;
  std::cout << "seeds " << kFirstSeed << " to " << kFirstSeed + kMessages - 1 << "\n";
  Tally tally;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kMessages && !::testing::Test::HasFailure(); ++seed) {
    const DataType dtype = kTypesWithLists[seed % std::size(kTypesWithLists)];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + NameOf(dtype));
    RandomContents contents(seed, dtype);
    Compare(&contents, dtype, /*exact=*/true, &tally);
    std::string& bytes = contents.bytes();
    if (!bytes.empty()) {
      bytes.resize(contents.Below(bytes.size()));
      Compare(&contents, dtype, /*exact=*/true, &tally);
    }
    if (!bytes.empty()) {
      bytes[contents.Below(bytes.size())] = static_cast<char>(contents.Below(256));
      Compare(&contents, dtype, /*exact=*/false, &tally);
    }
  }
  EXPECT_GT(tally.read, static_cast<int>(kMessages / 2));
  EXPECT_GT(tally.misfits, static_cast<int>(kMessages / 50));
  EXPECT_GT(tally.refused, static_cast<int>(kMessages / 10));
}

}  // namespace
}  // namespace kernelwire

#include "server/codec/slice_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/codec/testing/message_bytes.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::CutAt;
using ::kernelwire::testing::FromHex;

/// The same bytes with one cut at every place, in slices of one byte, and with empty slices between.
std::vector<std::vector<grpc::Slice>> EveryCut(const std::string& bytes) {
  std::vector<std::vector<grpc::Slice>> all;
  std::vector<std::size_t> every;
  std::vector<std::size_t> every_twice = {0};
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    all.push_back(CutAt(bytes, {cut}));
    every.push_back(cut);
    every_twice.insert(every_twice.end(), {cut, cut});
  }
  all.push_back(CutAt(bytes, every));
  all.push_back(CutAt(bytes, every_twice));
  return all;
}

TEST(SliceReaderTest, VarintsOfEveryLengthStraddleSlices) {
  const std::vector<std::pair<std::string, std::uint64_t>> known = {
      {"00", 0},
      {"7f", 127},
      {"80 01", 128},
      {"ac 02", 300},
      {"ff ff ff ff 0f", 0xffffffffu},
      {"80 80 80 80 80 00", 0},  // longer than it need be
      {"ff ff ff ff ff ff ff ff ff 01", ~std::uint64_t{0}},
      {"ff ff ff ff ff ff ff ff ff 7f", ~std::uint64_t{0}},  // what is beyond 64 bits is dropped
  };
  for (const auto& [hex, expected] : known) {
    for (const auto& slices : EveryCut(FromHex(hex))) {
      SliceReader reader(slices);
      std::uint64_t value = 1234;
      ASSERT_TRUE(reader.ReadVarint(&value)) << hex;
      EXPECT_EQ(value, expected) << hex;
      EXPECT_EQ(reader.remaining(), 0u);
      EXPECT_FALSE(reader.ReadVarint(&value));
    }
  }
}

TEST(SliceReaderTest, VarintsThatDoNotEndAreRefused) {
  for (const char* const hex : {"", "80", "ff ff ff", "80 80 80 80 80 80 80 80 80 80 00"}) {
    for (const auto& slices : EveryCut(FromHex(hex))) {
      SliceReader reader(slices);
      std::uint64_t value = 0;
      EXPECT_FALSE(reader.ReadVarint(&value)) << hex;
    }
  }
}

TEST(SliceReaderTest, TagsAreFieldAndType) {
  const std::vector<grpc::Slice> slices = CutAt(FromHex("3a f8 ff ff ff 0f 0d"), {2});
  SliceReader reader(slices);
  std::uint32_t field = 0;
  WireType type{};
  ASSERT_TRUE(reader.ReadTag(&field, &type));
  EXPECT_EQ(field, 7u);
  EXPECT_EQ(type, WireType::kLength);
  ASSERT_TRUE(reader.ReadTag(&field, &type));
  EXPECT_EQ(field, 0x1fffffffu);
  EXPECT_EQ(type, WireType::kVarint);
  ASSERT_TRUE(reader.ReadTag(&field, &type));
  EXPECT_EQ(field, 1u);
  EXPECT_EQ(type, WireType::kFixed32);
  EXPECT_FALSE(reader.ReadTag(&field, &type));
}

TEST(SliceReaderTest, FieldZeroAndOverlongTagsAreRefused) {
  for (const char* const hex : {"00", "02", "80 80 80 80 80 01", "ff ff ff ff 1f"}) {
    const std::vector<grpc::Slice> slices = CutAt(FromHex(hex), {});
    SliceReader reader(slices);
    std::uint32_t field = 0;
    WireType type{};
    EXPECT_FALSE(reader.ReadTag(&field, &type)) << hex;
  }
}

TEST(SliceReaderTest, ALengthMustFitWhatRemains) {
  const auto read = [](const char* hex) {
    const std::vector<grpc::Slice> slices = CutAt(FromHex(hex), {});
    SliceReader reader(slices);
    std::size_t length = 99;
    return reader.ReadLength(&length) ? static_cast<int>(length) : -1;
  };
  EXPECT_EQ(read("00"), 0);
  EXPECT_EQ(read("02 aa bb"), 2);
  EXPECT_EQ(read("02 aa bb cc"), 2);
  EXPECT_EQ(read("02 aa"), -1);
  EXPECT_EQ(read("ff ff ff ff 0f"), -1);
  EXPECT_EQ(read("ff ff ff ff ff ff ff ff ff 01"), -1);
}

TEST(SliceReaderTest, ValuesOfEveryTypeAreSkipped) {
  const std::vector<std::pair<WireType, const char*>> values = {{WireType::kVarint, "ff ff 03"},
                                                                {WireType::kFixed64, "01 02 03 04 05 06 07 08"},
                                                                {WireType::kLength, "03 aa bb cc"},
                                                                {WireType::kFixed32, "01 02 03 04"}};
  for (const auto& [type, hex] : values) {
    const std::string bytes = FromHex(hex);
    for (const auto& slices : EveryCut(bytes)) {
      SliceReader reader(slices);
      EXPECT_TRUE(reader.SkipValue(type)) << hex;
      EXPECT_EQ(reader.remaining(), 0u) << hex;
    }
    for (const auto& slices : EveryCut(bytes.substr(0, bytes.size() - 1))) {
      SliceReader reader(slices);
      EXPECT_FALSE(reader.SkipValue(type)) << hex;
    }
  }
  const std::vector<grpc::Slice> slices = CutAt(FromHex("00 00 00 00 00 00 00 00"), {});
  for (const int type : {3, 4, 6, 7}) {
    SliceReader reader(slices);
    EXPECT_FALSE(reader.SkipValue(static_cast<WireType>(type))) << type;
  }
}

TEST(SliceReaderTest, RangesAreFoundAgain) {
  const std::string bytes = "0123456789";
  for (const auto& slices : EveryCut(bytes)) {
    for (std::size_t begin = 0; begin <= bytes.size(); ++begin) {
      for (std::size_t length = 0; begin + length <= bytes.size(); ++length) {
        SliceReader reader(slices);
        ASSERT_TRUE(reader.Skip(begin));
        ByteRange range;
        ASSERT_TRUE(reader.TakeRange(length, &range));
        EXPECT_EQ(reader.remaining(), bytes.size() - begin - length);
        SliceReader again(slices, range);
        EXPECT_EQ(again.remaining(), length);
        std::string copy(length, '?');
        ASSERT_TRUE(again.ReadBytes(copy.data(), length));
        EXPECT_EQ(copy, bytes.substr(begin, length));
        EXPECT_EQ(again.remaining(), 0u);
        EXPECT_FALSE(again.Skip(1));
        EXPECT_FALSE(again.ReadBytes(copy.data(), 1));
      }
    }
  }
}

TEST(SliceReaderTest, NoSlicesAreAnEmptyMessage) {
  const std::vector<grpc::Slice> none;
  SliceReader reader(none);
  std::uint64_t value = 0;
  ByteRange range;
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_FALSE(reader.ReadVarint(&value));
  EXPECT_TRUE(reader.TakeRange(0, &range));
  EXPECT_FALSE(reader.TakeRange(1, &range));
}

}  // namespace
}  // namespace kernelwire

#include "server/codec/typed_contents.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "open_inference.pb.h"
#include "server/codec/testing/message_bytes.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::CutAt;
using ::kernelwire::testing::FromHex;
using ::testing::HasSubstr;
using Contents = inference::InferTensorContents;

/// Checks and copies `bytes` as `count` elements, out of slices of `slice_bytes`.
template <typename Element>
absl::StatusOr<std::vector<Element>> Convert(const std::string& bytes, DataType dtype, std::int64_t count,
                                             std::size_t slice_bytes) {
  std::vector<std::size_t> cuts;
  for (std::size_t cut = slice_bytes; cut < bytes.size(); cut += slice_bytes) {
    cuts.push_back(cut);
  }
  const std::vector<grpc::Slice> slices = CutAt(bytes, cuts);
  const std::string name = "x";
  const TypedContents typed(slices, ByteRange{0, 0, bytes.size()}, name, dtype);
  absl::Status status = typed.Check(count);
  std::vector<Element> elements(static_cast<std::size_t>(count));
  if (status.ok()) {
    status = typed.CopyTo(elements.data());
  }
  return status.ok() ? absl::StatusOr<std::vector<Element>>(elements) : status;
}

template <typename Element>
void ExpectElements(const std::string& bytes, DataType dtype, const std::vector<Element>& expected) {
  for (const std::size_t slice_bytes : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    const auto elements = Convert<Element>(bytes, dtype, static_cast<std::int64_t>(expected.size()), slice_bytes);
    ASSERT_TRUE(elements.ok()) << NameOf(dtype) << ": " << elements.status();
    EXPECT_EQ(*elements, expected) << NameOf(dtype);
  }
}

void ExpectRefused(const std::string& bytes, DataType dtype, std::int64_t count, const std::string& text) {
  for (const std::size_t slice_bytes : {std::size_t{1}, std::size_t{1000}}) {
    const absl::Status status = Convert<double>(bytes, dtype, count, slice_bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_THAT(std::string(status.message()), HasSubstr("input 'x': "));
  }
}

TEST(TypedContentsTest, EveryTypeHasItsList) {
  Contents bools, ints, longs, bytes, floats, doubles;
  for (const bool value : {true, false, true}) {
    bools.add_bool_contents(value);
  }
  for (const int value : {-128, 0, 127}) {
    ints.add_int_contents(value);
  }
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{1} << 40}) {
    longs.add_int64_contents(value);
  }
  for (const unsigned value : {0u, 128u, 255u}) {
    bytes.add_uint_contents(value);
  }
  for (const float value : {0.5f, -std::numeric_limits<float>::infinity(), 1e-45f}) {
    floats.add_fp32_contents(value);
    doubles.add_fp64_contents(static_cast<double>(value));
  }
  ExpectElements<std::uint8_t>(bools.SerializeAsString(), DataType::kBool, {1, 0, 1});
  ExpectElements<std::int8_t>(ints.SerializeAsString(), DataType::kInt8, {-128, 0, 127});
  ExpectElements<std::int32_t>(ints.SerializeAsString(), DataType::kInt32, {-128, 0, 127});
  ExpectElements<std::int64_t>(longs.SerializeAsString(), DataType::kInt64,
                               {std::numeric_limits<std::int64_t>::min(), -1, std::int64_t{1} << 40});
  for (const DataType dtype : {DataType::kUint8, DataType::kFp8E4m3, DataType::kFp8E5m2}) {
    ExpectElements<std::uint8_t>(bytes.SerializeAsString(), dtype, {0, 128, 255});
  }
  ExpectElements<float>(floats.SerializeAsString(), DataType::kFp32,
                        {0.5f, -std::numeric_limits<float>::infinity(), 1e-45f});
  ExpectElements<double>(doubles.SerializeAsString(), DataType::kFp64,
                         {0.5, -std::numeric_limits<double>::infinity(), static_cast<double>(1e-45f)});
}

TEST(TypedContentsTest, ValuesMayComeInPieces) {
  // int_contents: packed [1, 300], then 7 by itself, an empty packed field, a field nobody knows, packed [-1].
  ExpectElements<std::int32_t>(FromHex("12 03 01 ac 02 10 07 12 00 48 05 12 0a ff ff ff ff ff ff ff ff ff 01"),
                               DataType::kInt32, {1, 300, 7, -1});
  ExpectElements<float>(FromHex("35 00 00 80 3f 32 04 00 00 00 40"), DataType::kFp32, {1.0f, 2.0f});
  ExpectElements<double>(FromHex("39 00 00 00 00 00 00 f0 3f"), DataType::kFp64, {1.0});
  ExpectElements<std::uint8_t>(FromHex("0a 03 00 05 01"), DataType::kBool, {0, 1, 1});
  ExpectElements<std::int32_t>("", DataType::kInt32, {});
  ExpectElements<float>(FromHex("12 00 32 00"), DataType::kFp32, {});  // an empty list of another type says nothing
  // An int32 that was written with more bits keeps the low ones, as the generated parser has it.
  ExpectElements<std::int32_t>(FromHex("12 06 85 80 80 80 80 01"), DataType::kInt32, {5});
}

TEST(TypedContentsTest, NarrowTypesRefuseWhatTheyCannotHold) {
  ExpectRefused(FromHex("12 03 01 80 01"), DataType::kInt8, 2,
                "expected values of INT8, within [-128, 127], got 128 at index 1");
  ExpectRefused(FromHex("12 0a ff fe ff ff ff ff ff ff ff 01"), DataType::kInt8, 1, "got -129 at index 0");
  ExpectRefused(FromHex("10 01 10 80 01 10 02"), DataType::kInt8, 3, "got 128 at index 1");
  ExpectRefused(FromHex("22 02 80 02"), DataType::kUint8, 1, "within [0, 255], got 256 at index 0");
  ExpectRefused(FromHex("22 05 ff ff ff ff 0f"), DataType::kFp8E4m3, 1, "got 4294967295 at index 0");
}

TEST(TypedContentsTest, TheCountIsThatOfTheShape) {
  ExpectRefused(FromHex("32 08 00 00 80 3f 00 00 80 3f"), DataType::kFp32, 3,
                "expected 3 values in contents.fp32_contents for its shape, got 2");
  ExpectRefused(FromHex("12 02 01 02"), DataType::kInt32, 1, "expected 1 values in contents.int_contents");
  ExpectRefused("", DataType::kFp64, 1, "got 0");
}

TEST(TypedContentsTest, OtherListsAreRefused) {
  ExpectRefused(FromHex("12 02 01 02"), DataType::kFp32, 2,
                "expected the elements of FP32 in contents.fp32_contents, got int_contents");
  ExpectRefused(FromHex("12 01 01 1a 01 01"), DataType::kInt32, 2, "in contents.int_contents, got int64_contents");
  ExpectRefused(FromHex("42 00"), DataType::kUint8, 1, "in contents.uint_contents, got bytes_contents");
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16}) {
    ExpectRefused("", dtype, 0, "in raw_input_contents, got contents, which have no list for it");
  }
}

TEST(TypedContentsTest, BytesThatAreNoContentsAreRefused) {
  const std::string text = "expected contents that are an InferTensorContents";
  ExpectRefused(FromHex("12"), DataType::kInt32, 1, text);
  ExpectRefused(FromHex("12 05 01"), DataType::kInt32, 1, text);
  ExpectRefused(FromHex("12 01 80"), DataType::kInt32, 1, text);
  ExpectRefused(FromHex("10 80"), DataType::kInt32, 1, text);
  ExpectRefused(FromHex("12 0b ff ff ff ff ff ff ff ff ff ff 01"), DataType::kInt32, 1, text);
  ExpectRefused(FromHex("12 0a ff ff ff ff ff ff ff ff ff ff"), DataType::kInt32, 1, text);
  ExpectRefused(FromHex("12 01 80 10 01"), DataType::kInt32, 1, text);  // the value goes on beyond its field
  ExpectRefused(FromHex("10 01 10"), DataType::kInt32, 2, text);
  ExpectRefused(FromHex("32 03 00 00 00"), DataType::kFp32, 1, text);
  ExpectRefused(FromHex("35 00 00 00"), DataType::kFp32, 1, text);
  ExpectRefused(FromHex("30 01"), DataType::kFp32, 1, text);  // fp32_contents as a varint
  ExpectRefused(FromHex("00 01"), DataType::kFp32, 1, text);
  ExpectRefused(FromHex("13 14"), DataType::kInt32, 1, text);  // a group
  ExpectRefused(FromHex("4b 4c"), DataType::kInt32, 1, text);  // an unknown one
}

}  // namespace
}  // namespace kernelwire

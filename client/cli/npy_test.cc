#include "client/cli/npy.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using client::DataType;
using client::StatusCode;
using testing::HasSubstr;

template <typename T>
Array ArrayOf(DataType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  Array array{dtype, std::move(shape), std::vector<std::uint8_t>(values.size() * sizeof(T))};
  if (!values.empty()) {
    std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  }
  return array;
}

// A file with this header, as NumPy lays it out.
std::string FileWith(const std::string& header, const std::string& elements, char version = 1) {
  std::string file = "\x93NUMPY";
  file += {version, '\0', static_cast<char>(header.size()), '\0'};
  if (version > 1) {
    file += std::string(2, '\0');
  }
  return file + header + elements;
}

std::string NpyErrorOf(const std::string& content) {
  const auto array = ParseNpy(content);
  EXPECT_TRUE(array.ok() || array.status().code() == StatusCode::kInvalidArgument);
  return array.status().message();
}

TEST(Npy, EveryTypeAndShapeComesBack) {
  const std::vector<std::pair<DataType, std::size_t>> types = {
      {DataType::kFp16, 2},  {DataType::kFp32, 4},  {DataType::kFp64, 8},  {DataType::kInt8, 1},
      {DataType::kUint8, 1}, {DataType::kInt32, 4}, {DataType::kInt64, 8}, {DataType::kBool, 1}};
  const std::vector<std::vector<std::int64_t>> shapes = {{}, {0}, {1}, {5}, {2, 3}, {3, 0, 2}, {1, 2, 3, 4, 5, 6}};
  for (const auto& [dtype, size] : types) {
    for (const auto& shape : shapes) {
      Array array{dtype, shape, {}};
      array.bytes.resize(static_cast<std::size_t>(*client::ElementCount(shape)) * size);
      for (std::size_t i = 0; i < array.bytes.size(); ++i) {
        array.bytes[i] = static_cast<std::uint8_t>(i * 7);
      }
      const std::string file = FormatNpy(array);
      EXPECT_EQ((file.size() - array.bytes.size()) % 64, 0u);
      const auto read = ParseNpy(file);
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      EXPECT_EQ(read->dtype, dtype);
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->bytes, array.bytes);
    }
  }
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const std::string elements(24, '\0');
  for (const char version : {'\1', '\2', '\3'}) {
    const auto array =
        ParseNpy(FileWith("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n", elements, version));
    ASSERT_TRUE(array.ok()) << array.status().ToString();
    EXPECT_EQ(array->shape, (std::vector<std::int64_t>{2, 3}));
  }
  const auto reordered = ParseNpy(FileWith("{'shape':(6,),'fortran_order':False,'descr':'<i4'}\n", elements));
  EXPECT_TRUE(reordered.ok()) << "a comma must not be needed after the last entry: " << reordered.status().ToString();
}

TEST(Npy, SaysWhatIsWrong) {
  const std::string four(4, '\0');
  EXPECT_THAT(NpyErrorOf(""), HasSubstr("expected a .npy file"));
  EXPECT_THAT(NpyErrorOf("PK\3\4 an archive of arrays"), HasSubstr("expected a .npy file"));
  EXPECT_THAT(NpyErrorOf(FileWith("{}", "", 4)), HasSubstr("expected format version 1, 2 or 3, got 4"));
  EXPECT_THAT(NpyErrorOf(FileWith("{}", "")), HasSubstr("expected 'descr', 'fortran_order' and 'shape', got {}"));
  EXPECT_THAT(NpyErrorOf(FileWith("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", four)),
              HasSubstr("expected C order, got fortran_order True"));
  EXPECT_THAT(NpyErrorOf(FileWith("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", four)),
              HasSubstr("got '>f4'"));
  EXPECT_THAT(NpyErrorOf(FileWith("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", four)),
              HasSubstr("got [('a', '<f4')]"));
  EXPECT_THAT(NpyErrorOf(FileWith("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", four)),
              HasSubstr("got (-1,)"));
  EXPECT_THAT(NpyErrorOf(FileWith("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", four)),
              HasSubstr("shape [2] of FP32 does not fit the 4 bytes"));
  EXPECT_THAT(
      NpyErrorOf(FileWith("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }", four)),
      HasSubstr("does not fit"));
}

TEST(Npy, SurvivesDamage) {
  const std::string whole = FormatNpy(ArrayOf<float>(DataType::kFp32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(NpyErrorOf(whole.substr(0, length)), "") << length;
  }
  constexpr unsigned kSeed = 7;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::mt19937 random(kSeed);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = whole;
    for (int flips = 0; flips < 3; ++flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    NpyErrorOf(damaged);  // any outcome will do; no crash, no bad read
  }
}

TEST(Npy, FilesCarryTheirNamesInErrors) {
  const std::string path = testing::TempDir() + "kernelwire_npy_test.npy";
  ASSERT_TRUE(WriteNpy(path, ArrayOf<std::int32_t>(DataType::kInt32, {1}, {7})).ok());
  EXPECT_EQ(ReadNpy(path)->bytes.size(), 4u);
  EXPECT_EQ(ReadNpy("/no/such/file.npy").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(ReadNpy("/no/such/file.npy").status().message(), HasSubstr("/no/such/file.npy"));
}

TEST(ConvertTo, NarrowsAndBack) {
  const Array wide = ArrayOf<float>(DataType::kFp32, {3}, {1.0f, -2.5f, 3.0e38f});
  const auto brain = ConvertTo(DataType::kBf16, wide);
  ASSERT_TRUE(brain.ok());
  EXPECT_EQ(brain->bytes.size(), 6u);
  const auto read = ParseNpy(FormatNpy(*brain));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->dtype, DataType::kFp32);
  float middle = 0;
  std::memcpy(&middle, &read->bytes[4], 4);
  EXPECT_EQ(middle, -2.5f);
  EXPECT_EQ(ConvertTo(DataType::kFp16, wide)->dtype, DataType::kFp16);
  EXPECT_EQ(ConvertTo(DataType::kFp64, wide).status().message(),
            "expected FP32 to convert to FP16 or BF16, got FP32 to FP64");
}

}  // namespace
}  // namespace kernelwire::cli

#include "client/cli/bench_input.h"

#include <cstdio>
#include <string>
#include <vector>

#include "client/cli/command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using client::DataType;
using testing::ElementsAre;
using testing::HasSubstr;

// Inputs that --input gives in full need no server.
client::Result<std::vector<NamedArray>> InputsOf(std::vector<std::string> words) {
  words.insert(words.begin(), "operator");
  std::vector<Option> options = BenchInputOptions();
  options.push_back({"method", OptionKind::kText, "METHOD", ""});
  const auto arguments = Arguments::Parse(options, words);
  EXPECT_TRUE(arguments.ok()) << arguments.status().ToString();
  return BenchInputs(client::Client::Connect("127.0.0.1:1"), *arguments);
}

// A file of a test's own, gone afterwards.
class ArrayFile {
 public:
  explicit ArrayFile(const Array& array)
      : path_(testing::TempDir() + "kernelwire_bench_input_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".npy") {
    EXPECT_TRUE(WriteNpy(path_, array).ok()) << path_;
  }
  ~ArrayFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(BenchInputs, ComeFromFiles) {
  const Array halves{DataType::kFp16, {2, 3}, std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  const ArrayFile file(halves);
  const auto inputs = InputsOf({"--input", "predictions=" + file.path(), "--input=counts=INT32:2"});
  ASSERT_TRUE(inputs.ok()) << inputs.status().ToString();
  ASSERT_EQ(inputs->size(), 2u);
  EXPECT_EQ((*inputs)[0].name, "predictions");
  EXPECT_EQ((*inputs)[0].array.dtype, DataType::kFp16);
  EXPECT_THAT((*inputs)[0].array.shape, ElementsAre(2, 3));
  EXPECT_EQ((*inputs)[0].array.bytes, halves.bytes);
  EXPECT_EQ((*inputs)[1].name, "counts");
  EXPECT_EQ((*inputs)[1].array.bytes.size(), 8u);
}

TEST(BenchInputs, AreConvertedWhereATypeIsNamed) {
  const ArrayFile file({DataType::kFp32, {1}, {0, 0, 0x80, 0x3f}});
  const auto inputs = InputsOf({"--input=x=" + file.path() + ":FP16"});
  ASSERT_TRUE(inputs.ok()) << inputs.status().ToString();
  EXPECT_EQ(inputs->front().array.dtype, DataType::kFp16);
  EXPECT_THAT(inputs->front().array.bytes, ElementsAre(0, 0x3c));
}

TEST(BenchInputs, AreTheSameForTheSameSeed) {
  const std::vector<std::string> words = {"--input=x=FP32:100", "--seed=3"};
  EXPECT_EQ(InputsOf(words)->front().array.bytes, InputsOf(words)->front().array.bytes);
  EXPECT_NE(InputsOf(words)->front().array.bytes, InputsOf({"--input=x=FP32:100"})->front().array.bytes);
}

TEST(BenchInputs, SayWhatIsWrong) {
  EXPECT_THAT(InputsOf({"--input=x=nowhere.npy"}).status().message(), HasSubstr("--input x: nowhere.npy"));
  EXPECT_THAT(InputsOf({"--input=x=FP32"}).status().message(), HasSubstr("--input: expected NAME=TYPE:SHAPE"));
}

}  // namespace
}  // namespace kernelwire::cli

// What `kernelwire bench` says to a command line that makes no sense, before it looks for a server.
#include <string>
#include <vector>

#include "client/cli/command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The exit code of `kernelwire bench softmax OPTIONS`, where nobody listens; `*said` is what it printed.
int Bench(std::vector<std::string> options, std::string* said) {
  options.insert(options.begin(), {"softmax", "--address=127.0.0.1:1", "--timeout=10ms"});
  const Command command = BenchCommand();
  std::vector<Option> known = command.options;
  for (const Option& option : CommonOptions()) {
    known.push_back(option);
  }
  const auto arguments = Arguments::Parse(known, options);
  EXPECT_TRUE(arguments.ok()) << arguments.status().ToString();
  testing::internal::CaptureStderr();
  const int code = command.run(*arguments);
  *said = testing::internal::GetCapturedStderr();
  return code;
}

TEST(BenchCommand, InputsThatNoMessageHoldsAreWrongUsage) {
  std::string said;
  EXPECT_EQ(Bench({"--input=x=FP32:4611686018427387904"}, &said), kExitUsage);
  EXPECT_THAT(said, AllOf(HasSubstr("--input: "), HasSubstr("at most 2147483647 bytes"),
                          HasSubstr("got [4611686018427387904] of FP32")));
  EXPECT_EQ(Bench({"--shape=4611686018427387904"}, &said), kExitUsage);
  EXPECT_THAT(said, AllOf(HasSubstr("--shape: "), HasSubstr("got [4611686018427387904] of FP32")));
  EXPECT_EQ(Bench({"--input=a=UINT8:2000000000", "--input=b=FP64:200000000"}, &said), kExitUsage);
  EXPECT_THAT(said, HasSubstr("--input: expected inputs of at most 2147483647 bytes in all, which is what a message "
                              "holds, got 3600000000"));
  EXPECT_EQ(Bench({"--input=x=FP32"}, &said), kExitUsage);
  EXPECT_EQ(Bench({"--dtype=F32"}, &said), kExitUsage);
  EXPECT_THAT(said, HasSubstr("--dtype: expected a type"));
}

TEST(BenchCommand, CountsThatNoMachineHasAreWrongUsage) {
  std::string said;
  EXPECT_EQ(Bench({"--outstanding=10000000000000000"}, &said), kExitUsage);
  EXPECT_THAT(said, HasSubstr("--outstanding: expected a whole number from 1 to 1000000, got 10000000000000000"));
  EXPECT_EQ(Bench({"--threads=1025", "--outstanding=2000"}, &said), kExitUsage);
  EXPECT_THAT(said, HasSubstr("--threads: expected a whole number from 1 to 1024, got 1025"));
  EXPECT_EQ(Bench({"--connections=4294967297"}, &said), kExitUsage);
  EXPECT_THAT(said, HasSubstr("--connections: expected a whole number from 1 to 65535, got 4294967297"));
  EXPECT_EQ(Bench({"--threads=2", "--outstanding=1"}, &said), kExitUsage);
}

TEST(BenchCommand, RatesThatNoClockHoldsAreWrongUsage) {
  std::string said;
  for (const char* rate : {"0", "-1", "1e-11", "0.0009"}) {
    EXPECT_EQ(Bench({"--input=x=FP32:8", "--rate=" + std::string(rate)}, &said), kExitUsage) << rate;
    EXPECT_THAT(said, HasSubstr("--rate: expected at least one call in 1000 s, got " + std::string(rate)));
  }
  EXPECT_EQ(Bench({"--input=x=FP32:8", "--rate=0.001"}, &said), kExitFailed);
}

TEST(BenchCommand, AttributesWithoutAValueAreWrongUsage) {
  std::string said;
  EXPECT_EQ(Bench({"--input=x=FP32:8", "--attribute=axis"}, &said), kExitUsage);
}

TEST(BenchCommand, AServerThatIsNotThereIsAFailure) {
  std::string said;
  EXPECT_EQ(Bench({"--input=x=FP32:8", "--outstanding=1000000", "--threads=1024"}, &said), kExitFailed);
  EXPECT_EQ(Bench({"--input=x=nowhere.npy"}, &said), kExitFailed);
  EXPECT_THAT(said, HasSubstr("nowhere.npy"));
}

}  // namespace
}  // namespace kernelwire::cli

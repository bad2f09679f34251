#include "server/options.h"

#include <chrono>
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ProblemOf(const std::function<void(Options*)>& change) {
  Options options;
  change(&options);
  return std::string(CheckOptions(options).message());
}

TEST(CheckOptions, AcceptsTheDefaults) {
  const absl::Status status = CheckOptions(Options());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(CheckOptions, NamesTheFlagWhatWasExpectedAndWhatCame) {
  EXPECT_EQ(ProblemOf([](Options* options) { options->lanes = -3; }),
            "--lanes: expected a whole number from 0 to 256, got -3");
  EXPECT_EQ(ProblemOf([](Options* options) { options->rpc.max_message_bytes = 0; }),
            "--max_message_bytes: expected a size from 1KiB to 2147483647, got 0");
  EXPECT_EQ(ProblemOf([](Options* options) { options->rpc.addresses = {"localhost"}; }),
            "--address: expected host:port, unix:/path or unix-abstract:name, got \"localhost\"");
  EXPECT_EQ(ProblemOf([](Options* options) { options->drain_delay = -absl::Seconds(1); }),
            "--drain_delay: expected a duration from 0 to 24h, got -1s");
}

TEST(CheckOptions, ReportsAllProblemsAtOnce) {
  const std::string problems = ProblemOf([](Options* options) {
    options->lanes = 1000;
    options->rpc.addresses = {};
    options->rpc.completion_queues = 0;
    options->metrics_address = "x";
  });
  EXPECT_THAT(problems, HasSubstr("--lanes: "));
  EXPECT_THAT(problems, HasSubstr("--address: "));
  EXPECT_THAT(problems, HasSubstr("--completion_queues: "));
  EXPECT_THAT(problems, HasSubstr("--metrics_address: "));
}

TEST(CheckOptions, AsksThatTheLargestRequestAndItsResultFit) {
  EXPECT_EQ(ProblemOf([](Options* options) { options->staging_bytes = std::size_t{128} << 20; }),
            "--staging_bytes: expected at least 256MiB, so that a request of --max_message_bytes=64MiB and a result of "
            "its size fit into one slab, got 128MiB");
  EXPECT_EQ(ProblemOf([](Options* options) { options->staging_bytes = std::size_t{256} << 20; }), "");
  EXPECT_THAT(ProblemOf([](Options* options) { options->scheduler.max_outstanding_bytes = 1 << 20; }),
              StartsWith("--max_outstanding_bytes: expected at least 128MiB"));
}

TEST(CheckOptions, TakesAddressesOfEveryKind) {
  for (const char* address : {"0.0.0.0:8001", "[::]:0", "localhost:65535", "unix:/tmp/a", "unix-abstract:a"}) {
    EXPECT_EQ(ProblemOf([address](Options* options) { options->rpc.addresses = {address}; }), "") << address;
  }
  for (const char* address : {"", ":1", "a:", "a:b", "a:65536", "a:-1", "unix:", "unix-abstract:"}) {
    EXPECT_NE(ProblemOf([address](Options* options) { options->rpc.addresses = {address}; }), "") << address;
  }
}

TEST(CheckOptions, RefusesWhatTheQueuesCannotHonour) {
  EXPECT_EQ(ProblemOf([](Options* options) { options->rpc.read_timeout = std::chrono::milliseconds(7); }),
            "--read_timeout: expected a duration from 8ms to 1h, got 7ms");
  EXPECT_EQ(ProblemOf([](Options* options) { options->rpc.read_timeout = std::chrono::milliseconds(8); }), "");
  EXPECT_EQ(ProblemOf([](Options* options) {
              options->rpc.completion_queues = 4;
              options->rpc.max_reading_calls = 3;
            }),
            "--max_reading_calls: expected at least --completion_queues=4, one for each, got 3");
}

TEST(CheckOptions, TakesGpusOnlyWhereGpusMayBeUsed) {
  EXPECT_THAT(ProblemOf([](Options* options) {
                options->device = DeviceChoice::kHost;
                options->gpus = {0, 1};
              }),
              HasSubstr("--devices: expected none with --device=host, got 0,1"));
}

}  // namespace
}  // namespace kernelwire

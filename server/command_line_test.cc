#include "server/command_line.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/registry.h"
#include "server/option_flags.h"

namespace kernelwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Flags are the process's: every test leaves them as they were.
class CommandLineTest : public ::testing::Test {
 protected:
  static Options Parsed(const std::vector<std::string>& arguments) {
    const auto command_line = ParseCommandLine(arguments);
    EXPECT_TRUE(command_line.ok()) << command_line.status();
    return command_line.ok() ? command_line->options : Options();
  }
  static std::vector<std::string> Problems(const std::vector<std::string>& arguments) {
    const auto command_line = ParseCommandLine(arguments);
    EXPECT_FALSE(command_line.ok());
    return absl::StrSplit(command_line.status().message(), '\n');
  }

 private:
  absl::FlagSaver saver_;
};

TEST_F(CommandLineTest, HasTheDefaultsOfOptions) {
  const Options parsed = Parsed({});
  const Options standard;
  EXPECT_EQ(parsed.rpc.addresses, standard.rpc.addresses);
  EXPECT_EQ(parsed.metrics_address, standard.metrics_address);
  EXPECT_EQ(parsed.device, standard.device);
  EXPECT_EQ(parsed.staging_bytes, standard.staging_bytes);
  EXPECT_EQ(parsed.scheduler.max_reply_bytes, standard.scheduler.max_reply_bytes);
  EXPECT_EQ(parsed.scheduler.max_outstanding_bytes, standard.scheduler.max_outstanding_bytes);
  EXPECT_EQ(parsed.rpc.read_timeout, standard.rpc.read_timeout);
  EXPECT_EQ(parsed.drain_delay, standard.drain_delay);
  EXPECT_EQ(parsed.log_level, standard.log_level);
}

TEST_F(CommandLineTest, SetsWhatIsGiven) {
  const Options options =
      Parsed({"--address=127.0.0.1:0, unix:/tmp/x", "--device", "host", "-lanes=3", "--noreflection",
              "--max_message_bytes=32MiB", "--staging_bytes", "128MiB", "--max_queue_delay=softmax=200us",
              "--drain_delay=0s", "--self_test=false", "--log_level=debug", "--log_format=json", "--metrics_address="});
  EXPECT_THAT(options.rpc.addresses, ElementsAre("127.0.0.1:0", "unix:/tmp/x"));
  EXPECT_EQ(options.device, DeviceChoice::kHost);
  EXPECT_EQ(options.lanes, 3);
  EXPECT_FALSE(options.rpc.reflection);
  EXPECT_EQ(options.rpc.max_message_bytes, std::size_t{32} << 20);
  EXPECT_EQ(options.staging_bytes, std::size_t{128} << 20);
  EXPECT_EQ(options.drain_delay, absl::ZeroDuration());
  EXPECT_FALSE(options.self_test);
  EXPECT_EQ(options.log_level, spdlog::level::debug);
  EXPECT_EQ(options.log_format, LogFormat::kJson);
  EXPECT_EQ(options.metrics_address, "");
  ASSERT_EQ(options.scheduler.max_queue_delay.size(), AllOperators().size());
  for (std::size_t i = 0; i < AllOperators().size(); ++i) {
    EXPECT_EQ(options.scheduler.max_queue_delay[i], AllOperators()[i].spec.name == "softmax" ? 200'000 : 0);
  }
}

TEST_F(CommandLineTest, ReportsEveryProblemOfEveryFlag) {
  const std::vector<std::string> problems =
      Problems({"--lane=1", "--lanes=many", "stray", "--drain_delay=5", "--staging_bytes=1MB", "--reflection=maybe",
                "--device=tpu", "--max_queue_delay=sofmax=1ms", "--completion_queues=0", "--address"});
  EXPECT_THAT(problems,
              ElementsAre("--lane: unknown flag; --help lists them",         //
                          "--lanes: expected a whole number, got \"many\"",  //
                          "expected flags only, got \"stray\"",              //
                          "--drain_delay: expected a duration such as 200us, 5s or 1m, got \"5\"",
                          "--staging_bytes: expected a size such as 1048576, 64MiB or 1GiB, got \"1MB\"",
                          "--reflection: expected true or false, got \"maybe\"",  //
                          "--address: expected a text, got nothing",              //
                          HasSubstr("--max_queue_delay: expected a model of the server (rms_norm, "),
                          "--device: expected auto, cuda or host, got \"tpu\"",  //
                          "--completion_queues: expected a whole number from 1 to 64, got 0"));
}

TEST_F(CommandLineTest, RefusesPartsOfAMillisecond) {
  EXPECT_THAT(Problems({"--max_connection_idle=500us", "--max_connection_age=1.5ms", "--max_connection_age_grace=-1us",
                        "--read_timeout=10.001ms"}),
              ElementsAre("--read_timeout: expected whole milliseconds, got 10.001ms",
                          "--max_connection_idle: expected whole milliseconds, got 500us",
                          "--max_connection_age: expected whole milliseconds, got 1.5ms",
                          "--max_connection_age_grace: expected whole milliseconds, got -1us"));
  EXPECT_EQ(Parsed({"--max_connection_idle=0", "--max_connection_age=1ms", "--max_connection_age_grace=0",
                    "--read_timeout=15ms"})
                .rpc.max_connection_idle.count(),
            0);
}

TEST_F(CommandLineTest, KnowsItsModes) {
  EXPECT_EQ(ParseCommandLine({"--help"})->mode, CommandLine::Mode::kHelp);
  EXPECT_EQ(ParseCommandLine({"--version"})->mode, CommandLine::Mode::kVersion);
  const auto probe = ParseCommandLine({"--address=0.0.0.0:9000,unix:/tmp/x", "--probe"});
  EXPECT_EQ(probe->mode, CommandLine::Mode::kProbe);
  EXPECT_EQ(probe->probe_address, "localhost:9000");
  EXPECT_EQ(ParseCommandLine({"--probe=unix:/tmp/x"})->probe_address, "unix:/tmp/x");
}

TEST_F(CommandLineTest, RefusesToProbeWhatIsNoAddress) {
  for (const std::string address : {"0.0.0.0", "[::]", "localhost", ":1", "localhost:", "localhost:65536", "unix:"}) {
    EXPECT_THAT(Problems({"--probe=" + address}),
                ElementsAre("--probe: expected host:port, unix:/path or unix-abstract:name, got \"" + address + "\""));
  }
}

TEST_F(CommandLineTest, HelpNamesEveryFlagOnce) {
  std::set<std::string> listed;
  for (const FlagSection& section : FlagSections()) {
    for (const char* flag : section.flags) {
      EXPECT_TRUE(listed.insert(flag).second) << flag;
      EXPECT_THAT(HelpText(), HasSubstr(std::string("  --") + flag + "  ("));
    }
  }
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (absl::EndsWith(flag->Filename(), "server/option_flags.cc")) {
      EXPECT_EQ(listed.count(std::string(name)), 1u) << name;
    }
  }
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(HelpText(), '\n'))) {
    EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST_F(CommandLineTest, VersionNamesTheBuild) {
  EXPECT_THAT(VersionText(), HasSubstr("kernelwire-server 0."));
  EXPECT_THAT(VersionText(), HasSubstr("CUDA: "));
}

}  // namespace
}  // namespace kernelwire

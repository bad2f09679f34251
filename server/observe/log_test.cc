#include "server/observe/log.h"

#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/spdlog.h"

namespace kernelwire {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { SetUpLog(spdlog::level::info, LogFormat::kPlain); }

  static RequestRecord Record() {
    RequestRecord record;
    record.code = absl::StatusCode::kNotFound;
    record.duration = 1'234'567;
    record.stages[static_cast<std::size_t>(Stage::kDecode)] = 9'000;
    return record;
  }
};

TEST_F(LogTest, WritesPlainLines) {
  SetUpLog(spdlog::level::info, LogFormat::kPlain);
  CaptureStderr();
  spdlog::info("ready on {}", "port");
  spdlog::debug("not shown");
  EXPECT_THAT(GetCapturedStderr(), MatchesRegex("....-..-..T..:..:..\\....Z info  ready on port\n"));
}

TEST_F(LogTest, WritesJsonLines) {
  SetUpLog(spdlog::level::info, LogFormat::kJson);
  CaptureStderr();
  spdlog::warn("a \"quoted\"\nline");
  EXPECT_THAT(GetCapturedStderr(),
              AllOf(MatchesRegex("\\{\"time\":\"....-..-..T..:..:..\\....Z\",\"level\":\"warning\",.*\\}\n"),
                    HasSubstr("\"message\":\"a \\\"quoted\\\"\\u000aline\"")));
}

TEST_F(LogTest, WritesLinesWithFields) {
  SetUpLog(spdlog::level::info, LogFormat::kPlain);
  CaptureStderr();
  LogWithFields(spdlog::level::info, "ready", {{"address", "[::1]:8001"}, {"device", "host"}});
  LogWithFields(spdlog::level::debug, "not shown", {});
  EXPECT_THAT(GetCapturedStderr(), EndsWith(" info  ready address=\"[::1]:8001\" device=\"host\"\n"));
  SetUpLog(spdlog::level::info, LogFormat::kJson);
  CaptureStderr();
  LogWithFields(spdlog::level::info, "ready", {{"address", "[::1]:8001"}});
  EXPECT_THAT(GetCapturedStderr(), EndsWith("\"level\":\"info\",\"message\":\"ready\",\"address\":\"[::1]:8001\"}\n"));
}

TEST_F(LogTest, WritesNoRequestLineAtInfo) {
  SetUpLog(spdlog::level::info, LogFormat::kPlain);
  CaptureStderr();
  EXPECT_FALSE(LogsRequests());
  LogRequest("7", "softmax", Record());
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST_F(LogTest, WritesARequestLineAtDebug) {
  SetUpLog(spdlog::level::debug, LogFormat::kPlain);
  CaptureStderr();
  EXPECT_TRUE(LogsRequests());
  LogRequest("7\n8", "softmax", Record());
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("request id=\"7\\u000a8\" operator=\"softmax\" code=\"NOT_FOUND\" "
                                             "duration_micros=1234 decode_micros=9\n"));
}

TEST_F(LogTest, WritesARequestLineAsJson) {
  SetUpLog(spdlog::level::debug, LogFormat::kJson);
  CaptureStderr();
  LogRequest("{}", "softmax", Record(), "no such model");
  EXPECT_THAT(GetCapturedStderr(),
              HasSubstr(",\"message\":\"request\",\"id\":\"{}\",\"operator\":\"softmax\",\"code\":\"NOT_FOUND\","
                        "\"duration_micros\":1234,\"decode_micros\":9,\"error\":\"no such model\"}\n"));
}

TEST_F(LogTest, CutsWhatComesFromOutside) {
  SetUpLog(spdlog::level::debug, LogFormat::kPlain);
  CaptureStderr();
  LogRequest(std::string(100'000, 'x'), "softmax", Record());
  EXPECT_LT(GetCapturedStderr().size(), 600u);
}

TEST(LogLevelByName, KnowsItsLevels) {
  EXPECT_EQ(*LogLevelByName("error"), spdlog::level::err);
  EXPECT_EQ(*LogLevelByName("trace"), spdlog::level::trace);
  EXPECT_THAT(std::string(LogLevelByName("loud").status().message()), HasSubstr("got \"loud\""));
}

TEST(QuoteJson, KeepsUtf8AndReplacesOtherBytes) {
  EXPECT_EQ(QuoteJson("gr\xC3\xBC\xC3\x9F"), "\"gr\xC3\xBC\xC3\x9F\"");
  EXPECT_EQ(QuoteJson("\xE2\x82\xAC \xF0\x9F\x98\x80"), "\"\xE2\x82\xAC \xF0\x9F\x98\x80\"");
  EXPECT_EQ(QuoteJson("a\xFFz"), "\"a?z\"");
  EXPECT_EQ(QuoteJson("\xC3"), "\"?\"");              // cut in the middle
  EXPECT_EQ(QuoteJson("\xC0\xAF"), "\"?\?\"");        // overlong
  EXPECT_EQ(QuoteJson("\xED\xA0\x80"), "\"?\?\?\"");  // a surrogate
  EXPECT_EQ(QuoteJson(std::string_view("\0\t", 2)), "\"\\u0000\\u0009\"");
}

}  // namespace
}  // namespace kernelwire

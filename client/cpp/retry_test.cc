// The rule of kernelwire/retry.h, with time and chance given.
#include "kernelwire/retry.h"

#include "gtest/gtest.h"

namespace kernelwire::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kPlenty = std::chrono::hours(1);
constexpr double kNoJitter = 0.5;  // the middle of the range

Status Unavailable(Status::RetryAfter hint = std::nullopt) { return Status(StatusCode::kUnavailable, "gone", hint); }
Status Exhausted(Status::RetryAfter hint) { return Status(StatusCode::kResourceExhausted, "full", hint); }

TEST(NextAttemptDelay, DoublesUpToTheLongestWait) {
  RetryPolicy policy;
  policy.max_attempts = 100;
  EXPECT_EQ(NextAttemptDelay(policy, Unavailable(), 1, kPlenty, kNoJitter), milliseconds(50));
  EXPECT_EQ(NextAttemptDelay(policy, Unavailable(), 2, kPlenty, kNoJitter), milliseconds(100));
  EXPECT_EQ(NextAttemptDelay(policy, Unavailable(), 3, kPlenty, kNoJitter), milliseconds(200));
  EXPECT_EQ(NextAttemptDelay(policy, Unavailable(), 99, kPlenty, kNoJitter), milliseconds(1000));
}

TEST(NextAttemptDelay, SpreadsByTheJitter) {
  EXPECT_EQ(NextAttemptDelay({}, Unavailable(), 1, kPlenty, 0), milliseconds(40));
  EXPECT_LT(*NextAttemptDelay({}, Unavailable(), 1, kPlenty, 0.999), milliseconds(60));
  EXPECT_GT(*NextAttemptDelay({}, Unavailable(), 1, kPlenty, 0.999), milliseconds(59));
}

TEST(NextAttemptDelay, GivesUpAfterTheLastAttempt) {
  EXPECT_TRUE(NextAttemptDelay({}, Unavailable(), 4, kPlenty, kNoJitter).has_value());
  EXPECT_FALSE(NextAttemptDelay({}, Unavailable(), 5, kPlenty, kNoJitter).has_value());
  RetryPolicy once;
  once.max_attempts = 1;
  EXPECT_FALSE(NextAttemptDelay(once, Unavailable(), 1, kPlenty, kNoJitter).has_value());
}

TEST(NextAttemptDelay, KeepsTheServersTimeExactly) {
  EXPECT_EQ(NextAttemptDelay({}, Exhausted(milliseconds(7)), 3, kPlenty, 0.9), milliseconds(7));
  EXPECT_EQ(NextAttemptDelay({}, Exhausted(milliseconds(0)), 1, kPlenty, 0.9), milliseconds(0));
  EXPECT_EQ(NextAttemptDelay({}, Unavailable(milliseconds(12)), 1, kPlenty, 0.9), milliseconds(12));
}

TEST(NextAttemptDelay, ANegativeTimeForbidsRepeating) {
  EXPECT_FALSE(NextAttemptDelay({}, Exhausted(milliseconds(-1)), 1, kPlenty, kNoJitter).has_value());
  EXPECT_FALSE(NextAttemptDelay({}, Unavailable(milliseconds(-1)), 1, kPlenty, kNoJitter).has_value());
}

TEST(NextAttemptDelay, ExhaustedWithoutATimeIsASizeLimit) {
  EXPECT_FALSE(NextAttemptDelay({}, Exhausted(std::nullopt), 1, kPlenty, kNoJitter).has_value());
}

TEST(NextAttemptDelay, NeverPastTheDeadline) {
  EXPECT_FALSE(NextAttemptDelay({}, Unavailable(), 1, milliseconds(50), kNoJitter).has_value());
  EXPECT_TRUE(NextAttemptDelay({}, Unavailable(), 1, milliseconds(51), kNoJitter).has_value());
  EXPECT_FALSE(NextAttemptDelay({}, Unavailable(), 1, nanoseconds(-1), kNoJitter).has_value());
  EXPECT_FALSE(NextAttemptDelay({}, Exhausted(milliseconds(10)), 1, milliseconds(10), kNoJitter).has_value());
}

TEST(NextAttemptDelay, AHintTooLargeForNanosecondsDoesNotOverflow) {
  EXPECT_FALSE(NextAttemptDelay({}, Exhausted(milliseconds(milliseconds::max())), 1, kPlenty, kNoJitter).has_value());
}

TEST(NextAttemptDelay, OtherFailuresAreNotRepeated) {
  for (const StatusCode code :
       {StatusCode::kCancelled, StatusCode::kUnknown, StatusCode::kInvalidArgument, StatusCode::kDeadlineExceeded,
        StatusCode::kNotFound, StatusCode::kAborted, StatusCode::kInternal, StatusCode::kOutOfRange}) {
    EXPECT_FALSE(NextAttemptDelay({}, Status(code, "no"), 1, kPlenty, kNoJitter).has_value()) << NameOf(code);
    EXPECT_FALSE(NextAttemptDelay({}, Status(code, "no", milliseconds(5)), 1, kPlenty, kNoJitter).has_value())
        << NameOf(code);
  }
}

}  // namespace
}  // namespace kernelwire::client

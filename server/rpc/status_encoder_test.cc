#include "server/rpc/status_encoder.h"

#include <string>

#include "grpcpp/server_context.h"
#include "gtest/gtest.h"
#include "rpc_status.pb.h"
#include "server/batch/retry_hint.h"
#include "server/codec/infer_reply.h"

namespace kernelwire {
namespace {

TEST(CutTextTest, LeavesWhatFits) {
  EXPECT_EQ(CutText("", 3), "");
  EXPECT_EQ(CutText("abcd", 4), "abcd");
}

TEST(CutTextTest, CutsBetweenCharacters) {
  EXPECT_EQ(CutText("abcdef", 5), "ab...");
  EXPECT_EQ(CutText("a\xE2\x82\xAC\xE2\x82\xAC", 6), "a...");  // the euro sign would be cut after two bytes
  EXPECT_EQ(CutText("a\xE2\x82\xAC\xE2\x82\xAC", 7), "a\xE2\x82\xAC\xE2\x82\xAC");
  EXPECT_EQ(CutText(std::string(10, '\x80'), 5), "...");  // no characters at all
}

TEST(EncodeStatusTest, KeepsEveryCode) {
  for (int code = 0; code <= 16; ++code) {
    grpc::ServerContext context;
    const grpc::Status status = EncodeStatus(absl::Status(static_cast<absl::StatusCode>(code), "why"), &context);
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(status.error_details(), "");
  }
}

TEST(EncodeStatusTest, CutsTheMessage) {
  grpc::ServerContext context;
  const grpc::Status status = EncodeStatus(absl::NotFoundError(std::string(5000, 'x')), &context);
  EXPECT_EQ(status.error_message().size(), kMaxErrorMessageBytes);
}

TEST(EncodeStatusTest, RetryHintBecomesDetails) {
  grpc::ServerContext context;
  const grpc::Status status = EncodeStatus(WithRetryHint(absl::ResourceExhaustedError("full"), 1250), &context);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 8);
  EXPECT_EQ(details.message(), "full");
  google::rpc::RetryInfo retry;
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&retry));
  EXPECT_EQ(details.details(0).type_url(), "type.googleapis.com/google.rpc.RetryInfo");
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 250'000'000);
}

}  // namespace
}  // namespace kernelwire

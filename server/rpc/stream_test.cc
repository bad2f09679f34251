// ModelStreamInfer over the wire.
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rpc/testing/raw_call.h"
#include "server/rpc/testing/rpc_fixture.h"
#include "server/rpc/testing/twice_operator.h"

namespace kernelwire::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StreamTest : public RpcFixture {
 protected:
  static inference::ModelStreamInferResponse Reply(RawCall* call) {
    inference::ModelStreamInferResponse reply;
    const std::optional<std::string> bytes = call->Read();
    EXPECT_TRUE(bytes.has_value());
    EXPECT_TRUE(reply.ParseFromString(bytes.value_or("none")));
    return reply;
  }
};

TEST_F(StreamTest, AnswersEachRequestAndEndsWell) {
  Start();
  RawCall call(channel(), kModelStreamInfer);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(call.Write(TwiceRequest({static_cast<float>(i)}, std::to_string(i))));
    const inference::ModelStreamInferResponse reply = Reply(&call);
    EXPECT_EQ(reply.error_message(), "");
    EXPECT_EQ(reply.infer_response().id(), std::to_string(i));
    EXPECT_THAT(ValuesOf(reply.infer_response()), ElementsAre(static_cast<float>(2 * i)));
  }
  ASSERT_TRUE(call.WritesDone());
  EXPECT_FALSE(call.Read().has_value());
  EXPECT_TRUE(call.Finish().ok());
  EXPECT_EQ(Statistics().success().count(), 5u);
  ExpectNothingLeft();
  EXPECT_EQ(CountedErrors("CANCELLED"), 0);
}

TEST_F(StreamTest, ErrorsAreRepliesAndTheStreamGoesOn) {
  Start();
  RawCall call(channel(), kModelStreamInfer);
  inference::ModelInferRequest bad = TwiceRequest({1}, "bad one");
  bad.mutable_inputs(0)->set_datatype("INT8");
  ASSERT_TRUE(call.Write(bad));
  inference::ModelStreamInferResponse reply = Reply(&call);
  EXPECT_THAT(reply.error_message(), HasSubstr("input 'x'"));
  EXPECT_EQ(reply.infer_response().id(), "bad one");

  ASSERT_TRUE(call.Write(std::string("\x0A\xFF\xFF", 3)));
  reply = Reply(&call);
  EXPECT_NE(reply.error_message(), "");

  device->FailWith(absl::UnavailableError("the device is lost"));
  ASSERT_TRUE(call.Write(TwiceRequest({1}, "unlucky")));
  reply = Reply(&call);
  EXPECT_EQ(reply.error_message(), "the device is lost");
  EXPECT_EQ(reply.infer_response().id(), "unlucky");

  device->FailWith(absl::OkStatus());
  ASSERT_TRUE(call.Write(TwiceRequest({3}, "good")));
  reply = Reply(&call);
  EXPECT_EQ(reply.error_message(), "");
  EXPECT_THAT(ValuesOf(reply.infer_response()), ElementsAre(6));
  ASSERT_TRUE(call.WritesDone());
  EXPECT_TRUE(call.Finish().ok());
  ExpectNothingLeft();
}

TEST_F(StreamTest, RequestsRunSideBySideUpToTheCap) {
  options.max_stream_requests = 3;
  Start();
  device->Hold();
  RawCall call(channel(), kModelStreamInfer);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(call.Write(TwiceRequest({static_cast<float>(i)}, std::to_string(i))));
  }
  ASSERT_TRUE(call.WritesDone());
  Await([this] { return scheduler->Snapshot().outstanding_requests == 3; }, "three requests");
  device->Release();
  std::map<std::string, float> values;
  while (const std::optional<std::string> bytes = call.Read()) {
    inference::ModelStreamInferResponse reply;
    ASSERT_TRUE(reply.ParseFromString(*bytes));
    values[reply.infer_response().id()] = ValuesOf(reply.infer_response())[0];
  }
  EXPECT_TRUE(call.Finish().ok());
  EXPECT_EQ(values.size(), 10u);
  EXPECT_EQ(values["9"], 18.0F);
  ExpectNothingLeft();
}

TEST_F(StreamTest, RepliesLeaveInOrderOfCompletion) {
  Start();
  device->Hold();
  RawCall call(channel(), kModelStreamInfer);
  ASSERT_TRUE(call.Write(TwiceRequest({1}, "slow")));
  device->AwaitKept(1);
  inference::ModelInferRequest bad = TwiceRequest({1}, "quick");
  bad.set_model_name("none");
  ASSERT_TRUE(call.Write(bad));
  EXPECT_EQ(Reply(&call).infer_response().id(), "quick");
  device->Release();
  EXPECT_EQ(Reply(&call).infer_response().id(), "slow");
  call.WritesDone();
  EXPECT_TRUE(call.Finish().ok());
}

TEST_F(StreamTest, CancelDropsAllRequests) {
  Start();
  device->Hold();
  RawCall call(channel(), kModelStreamInfer);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(call.Write(TwiceRequest({1})));
  }
  Await([this] { return scheduler->Snapshot().outstanding_requests == 8; }, "the requests");
  call.Cancel();
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  device->Release();
  ExpectNothingLeft();
}

TEST_F(StreamTest, UnreadRepliesStopTheReading) {
  options.max_stream_requests = 1;
  staging_bytes = std::size_t{32} << 20;
  Start();
  RawCall call(channel(), kModelStreamInfer);
  // Its reply does not fit into the connection's window.
  ASSERT_TRUE(call.Write(TwiceRequest(std::vector<float>(2'000'000, 1.0F), "large")));
  ASSERT_TRUE(call.Write(TwiceRequest({1}, "small")));
  Await([this] { return metrics.StatisticsOf(0).execution_count == 1; }, "the first request");
  for (int i = 0; i < 200; ++i) {
    Statistics();  // other calls of the connection go on
  }
  EXPECT_EQ(metrics.StatisticsOf(0).execution_count, 1u);
  EXPECT_EQ(Reply(&call).infer_response().id(), "large");
  EXPECT_EQ(Reply(&call).infer_response().id(), "small");
  call.WritesDone();
  EXPECT_TRUE(call.Finish().ok());
  ExpectNothingLeft();
}

// Replies that wait for a reader leave half of the staging to others, and to the stream's own requests.
TEST_F(StreamTest, APausedReaderDoesNotHoldUpTheDevice) {
  constexpr int kRequests = 6;
  options.max_stream_requests = kRequests;
  staging_bytes = std::size_t{32} << 20;  // for two of them
  Start();
  RawCall call(channel(), kModelStreamInfer);
  const std::vector<float> x(2'000'000, 1.0F);
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_TRUE(call.Write(TwiceRequest(x)));
  }
  Await([this] { return metrics.StatisticsOf(0).execution_count == kRequests; }, "all requests");
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_EQ(ValuesOf(Reply(&call).infer_response()), std::vector<float>(x.size(), 2.0F));
  }
  call.WritesDone();
  EXPECT_TRUE(call.Finish().ok());
  ExpectNothingLeft();
}

TEST_F(StreamTest, OversizeMessageEndsTheStream) {
  options.max_message_bytes = 10'000;
  Start();
  RawCall call(channel(), kModelStreamInfer);
  ASSERT_TRUE(call.Write(TwiceRequest({1})));
  EXPECT_EQ(Reply(&call).error_message(), "");
  call.Write(TwiceRequest(std::vector<float>(10'000, 1.0F)));
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ExpectNothingLeft();
  EXPECT_EQ(CountedErrors("CANCELLED"), 1);  // gRPC refused it, and says no more to the server
}

}  // namespace
}  // namespace kernelwire::testing

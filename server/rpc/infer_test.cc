// ModelInfer over the wire: results, errors, limits of messages, deadlines.
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc_status.pb.h"
#include "server/rpc/testing/raw_call.h"
#include "server/rpc/testing/rpc_fixture.h"
#include "server/rpc/testing/twice_operator.h"

namespace kernelwire::testing {
namespace {

using ::testing::ElementsAre;

class InferTest : public RpcFixture {
 protected:
  grpc::Status Infer(const inference::ModelInferRequest& request, inference::ModelInferResponse* response) {
    PatientContext context;
    return inference().ModelInfer(&context, request, response);
  }
};

/// A request whose message has exactly `bytes` bytes.
inference::ModelInferRequest RequestOfSize(std::size_t bytes) {
  inference::ModelInferRequest request = TwiceRequest(std::vector<float>((bytes - 200) / sizeof(float), 1.0F));
  while (request.ByteSizeLong() < bytes) {
    request.mutable_id()->push_back('i');
  }
  EXPECT_EQ(request.ByteSizeLong(), bytes);
  return request;
}

TEST_F(InferTest, GivesTheResult) {
  Start();
  inference::ModelInferResponse response;
  const grpc::Status status = Infer(TwiceRequest({1, -2, 0.5}, "id 7"), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.model_name(), "twice");
  EXPECT_EQ(response.id(), "id 7");
  EXPECT_THAT(ValuesOf(response), ElementsAre(2, -4, 1));
  ExpectNothingLeft();
}

TEST_F(InferTest, ReusesItsObjectsForUnlikeRequests) {
  options.completion_queues = 1;
  options.armed_calls = 1;
  Start();
  for (const std::size_t count : std::initializer_list<std::size_t>{1, 100'000, 3, 5000, 0, 2}) {
    inference::ModelInferResponse response;
    ASSERT_TRUE(Infer(TwiceRequest(std::vector<float>(count, 1.5F)), &response).ok()) << count;
    EXPECT_EQ(ValuesOf(response), std::vector<float>(count, 3.0F));
    inference::ModelInferRequest bad = TwiceRequest({1});
    bad.mutable_parameters()->insert({"nonsense", {}});
    EXPECT_EQ(Infer(bad, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  ExpectNothingLeft();
}

TEST_F(InferTest, ManyCallersAtOnce) {
  Start();
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([this, caller] {
      const auto stub = inference::GRPCInferenceService::NewStub(Connect());
      for (int i = 0; i < 200; ++i) {
        const auto value = static_cast<float>(caller * 1000 + i);
        PatientContext context;
        inference::ModelInferResponse response;
        const grpc::Status status = stub->ModelInfer(&context, TwiceRequest({value}), &response);
        ASSERT_TRUE(status.ok()) << status.error_message();
        ASSERT_THAT(ValuesOf(response), ElementsAre(2 * value));
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  // A call is counted when its reply has left, which its client may see first.
  Await([this] { return Statistics().success().count() == 1600; }, "the count of all calls");
  ExpectNothingLeft();
}

TEST_F(InferTest, MessageOfExactlyTheLimitPassesAndOneMoreDoesNot) {
  options.max_message_bytes = 100'000;
  Start();
  inference::ModelInferResponse response;
  const grpc::Status fits = Infer(RequestOfSize(100'000), &response);
  EXPECT_TRUE(fits.ok()) << fits.error_message();
  const grpc::Status over = Infer(RequestOfSize(100'001), &response);
  EXPECT_EQ(over.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << over.error_message();
  Await([this] { return CountedErrors("CANCELLED") == 1; }, "the count of the message that gRPC refused");
  EXPECT_TRUE(over.error_details().empty());
  ExpectNothingLeft();
}

TEST_F(InferTest, CompressedMessagesAreRefusedUnread) {
  Start();
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    PatientContext context;
    context.set_compression_algorithm(algorithm);
    inference::ModelInferResponse response;
    const grpc::Status status =
        inference().ModelInfer(&context, TwiceRequest(std::vector<float>(10'000, 0.0F)), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
  }
  ExpectNothingLeft();
}

TEST_F(InferTest, BytesThatAreNoMessageAreInvalid) {
  Start();
  EXPECT_EQ(CallRaw(channel(), kModelInfer, std::string("\x0A\xFF\xFF", 3)).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(CallRaw(channel(), kModelInfer, "").error_code(), grpc::StatusCode::NOT_FOUND);  // no model is named
  ExpectNothingLeft();
}

TEST_F(InferTest, LongNamesDoNotBreakTheReply) {
  Start();
  inference::ModelInferRequest request = TwiceRequest({1});
  request.mutable_inputs(0)->set_name(std::string(100'000, '\x01'));
  inference::ModelInferResponse response;
  const grpc::Status status = Infer(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_LE(status.error_message().size(), 1024u);
}

TEST_F(InferTest, FullBudgetIsExhaustedWithAHint) {
  scheduler_options.max_outstanding_requests = 1;
  Start();
  device->Hold();
  RawCall first(channel(), kModelInfer);
  ASSERT_TRUE(first.Write(TwiceRequest({1})));
  device->AwaitKept(1);
  RawCall second(channel(), kModelInfer);
  ASSERT_TRUE(second.Write(TwiceRequest({2})));
  const grpc::Status status = second.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(second.context().GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.details_size(), 1);
  device->Release();
  EXPECT_TRUE(first.Read().has_value());
  EXPECT_TRUE(first.Finish().ok());
  ExpectNothingLeft();
}

TEST_F(InferTest, RequestLargerThanAnyStagingIsExhaustedWithoutAHint) {
  staging_bytes = std::size_t{64} * 1024;
  Start();
  inference::ModelInferResponse response;
  const grpc::Status status = Infer(TwiceRequest(std::vector<float>(50'000, 1.0F)), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(status.error_details().empty());
}

TEST_F(InferTest, WaitsForStagingAndGoesOn) {
  staging_bytes = std::size_t{64} * 1024;  // room for one of these requests
  Start();
  device->Hold();
  const std::vector<float> x(4000, 1.0F);
  RawCall first(channel(), kModelInfer);
  ASSERT_TRUE(first.Write(TwiceRequest(x)));
  device->AwaitKept(1);
  RawCall second(channel(), kModelInfer);
  ASSERT_TRUE(second.Write(TwiceRequest(std::vector<float>(4000, 2.0F))));
  Await([this] { return scheduler->Snapshot().outstanding_requests == 2; }, "the second request");
  EXPECT_EQ(scheduler->Snapshot().devices[0].waiting_requests, 1);
  device->Release();
  EXPECT_TRUE(first.Read().has_value());
  inference::ModelInferResponse response;
  ASSERT_TRUE(response.ParseFromString(second.Read().value_or("no reply")));
  EXPECT_EQ(ValuesOf(response), std::vector<float>(4000, 4.0F));
  EXPECT_TRUE(first.Finish().ok());
  EXPECT_TRUE(second.Finish().ok());
  ExpectNothingLeft();
}

TEST_F(InferTest, DeviceErrorsReachTheCaller) {
  Start();
  device->FailWith(absl::UnavailableError("the device is lost"));
  inference::ModelInferResponse response;
  const grpc::Status status = Infer(TwiceRequest({1}), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the device is lost");
  ExpectNothingLeft();
}

TEST_F(InferTest, PassedDeadlineNeverReachesTheDevice) {
  Start();
  device->Hold();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() - std::chrono::seconds(1));
  inference::ModelInferResponse response;
  EXPECT_EQ(inference().ModelInfer(&context, TwiceRequest({1}), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  ExpectNothingLeft();
}

TEST_F(InferTest, TimeoutParameterIsADeadline) {
  staging_bytes = std::size_t{64} * 1024;
  Start();
  device->Hold();
  RawCall first(channel(), kModelInfer);
  ASSERT_TRUE(first.Write(TwiceRequest(std::vector<float>(4000, 1.0F))));
  device->AwaitKept(1);
  inference::ModelInferRequest request = TwiceRequest(std::vector<float>(4000, 1.0F));
  (*request.mutable_parameters())["timeout"].set_int64_param(2000);  // microseconds
  inference::ModelInferResponse response;
  const grpc::Status status = Infer(request, &response);  // waits for staging that does not come
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  device->Release();
  EXPECT_TRUE(first.Finish().ok());
  ExpectNothingLeft();
}

}  // namespace
}  // namespace kernelwire::testing

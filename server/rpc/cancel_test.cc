// ModelInfer whose client goes away: before, during and after each stage.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/rpc/testing/raw_call.h"
#include "server/rpc/testing/rpc_fixture.h"
#include "server/rpc/testing/twice_operator.h"

namespace kernelwire::testing {
namespace {

using CancelTest = RpcFixture;

TEST_F(CancelTest, CancelledBeforeTheMessage) {
  Start();
  RawCall call(channel(), kModelInfer);
  Await([this] { return server->live_calls() == 1; }, "the call");
  call.Cancel();
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  ExpectNothingLeft();
}

TEST_F(CancelTest, CancelledBeforeTheMessageCountsAsCancelledWhateverIsHeardOfFirst) {
  Start();
  constexpr int kRounds = 500;
  {  // connects: calls that are given up before that never leave the client
    RawCall heard(channel(), kModelInfer);
    Await([this] { return server->live_calls() == 1; }, "the call that is heard of");
    heard.Cancel();
  }
  for (const char* method : {kModelInfer, "/inference.GRPCInferenceService/ServerLive"}) {
    for (int round = 0; round < kRounds; ++round) {
      RawCall call(channel(), method);
      call.Cancel();
    }
  }
  ExpectNothingLeft();
  EXPECT_EQ(CountedErrors("INVALID_ARGUMENT"), 0);
  EXPECT_GT(CountedErrors("CANCELLED"), 0);
  EXPECT_LE(CountedErrors("CANCELLED"), 2 * kRounds + 1);  // of some the server never heard
}

TEST_F(CancelTest, NoMessageAtAllCountsAsInvalid) {
  Start();
  for (const char* method : {kModelInfer, "/inference.GRPCInferenceService/ServerLive"}) {
    RawCall call(channel(), method);
    call.WritesDone();
    EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  ExpectNothingLeft();
  EXPECT_EQ(CountedErrors("INVALID_ARGUMENT"), 2);
  EXPECT_EQ(CountedErrors("CANCELLED"), 0);
}

TEST_F(CancelTest, ReplyThatNobodyReadsCountsAsCancelled) {
  options.completion_queues = 1;
  std::vector<Model> models = catalog.models();
  for (int version = 2; version < 10'000; ++version) {  // so that their index does not fit into a connection's window
    models.push_back({"twice", std::to_string(version), &TwiceOperator(), 0});
  }
  catalog = Catalog(models);
  Start();
  RawCall call(channel(), "/inference.GRPCInferenceService/RepositoryIndex");
  ASSERT_TRUE(call.Write(inference::RepositoryIndexRequest()));
  ASSERT_TRUE(call.WritesDone());
  for (int i = 0; i < 20; ++i) {  // come after it in the queue
    PatientContext context;
    inference::ServerMetadataResponse response;
    EXPECT_TRUE(inference().ServerMetadata(&context, {}, &response).ok());
  }
  EXPECT_GE(server->live_calls(), 1);
  call.Cancel();
  call.Finish();
  ExpectNothingLeft();
  EXPECT_EQ(CountedErrors("CANCELLED"), 1);
}

TEST_F(CancelTest, StreamsThatTheClientEndsCountAsCancelled) {
  Start();
  for (const char* method : {kModelStreamInfer, "/grpc.health.v1.Health/Watch",
                             "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"}) {
    const double before = CountedErrors("CANCELLED");
    RawCall call(channel(), method);
    Await([this] { return server->live_calls() == 1; }, "the stream");
    call.Cancel();
    call.Finish();
    ExpectNothingLeft();
    EXPECT_EQ(CountedErrors("CANCELLED"), before + 1) << method;
  }
  EXPECT_EQ(CountedErrors("INVALID_ARGUMENT"), 0);
}

TEST_F(CancelTest, CancelledWhileWaitingForStaging) {
  staging_bytes = std::size_t{64} * 1024;
  Start();
  device->Hold();
  RawCall first(channel(), kModelInfer);
  ASSERT_TRUE(first.Write(TwiceRequest(std::vector<float>(4000, 1.0F))));
  device->AwaitKept(1);
  {
    RawCall second(channel(), kModelInfer);
    ASSERT_TRUE(second.Write(TwiceRequest(std::vector<float>(4000, 1.0F))));
    Await([this] { return scheduler->Snapshot().devices[0].waiting_requests == 1; }, "the second request");
    second.Cancel();
    EXPECT_EQ(second.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  Await([this] { return scheduler->Snapshot().outstanding_requests == 1; }, "the second request's end");
  device->Release();
  EXPECT_TRUE(first.Finish().ok());
  ExpectNothingLeft();
}

TEST_F(CancelTest, CancelledWhileRunning) {
  Start();
  device->Hold();
  RawCall call(channel(), kModelInfer);
  ASSERT_TRUE(call.Write(TwiceRequest({1})));
  device->AwaitKept(1);
  call.Cancel();
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(server->live_calls(), 1);  // the device still has it
  device->Release();
  ExpectNothingLeft();
  const inference::InferStatistics statistics = Statistics();
  // A success if the device was quicker than the news of the cancellation.
  EXPECT_EQ(statistics.success().count() + statistics.fail().count(), 1u);
}

TEST_F(CancelTest, DeadlineWhileRunningCountsAsADeadline) {
  Start();
  device->Hold();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  inference::ModelInferResponse response;
  EXPECT_EQ(inference().ModelInfer(&context, TwiceRequest({1}), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  device->Release();
  ExpectNothingLeft();
}

TEST_F(CancelTest, CancelledAtTheSameInstantAsTheAnswer) {
  Start();
  for (int round = 0; round < 200; ++round) {
    device->Hold();
    RawCall call(channel(), kModelInfer);
    ASSERT_TRUE(call.Write(TwiceRequest(std::vector<float>(3000, 1.0F))));
    device->AwaitKept(1);
    std::thread release([this] { device->Release(); });
    call.Cancel();
    call.Finish();
    release.join();
  }
  ExpectNothingLeft();
}

TEST_F(CancelTest, UnreadReplyHoldsTheBudgetUntilItIsCancelled) {
  staging_bytes = std::size_t{32} << 20;
  Start();
  const std::vector<float> x(2'000'000, 1.0F);  // a reply that does not fit into a connection's first window
  RawCall call(channel(), kModelInfer);
  ASSERT_TRUE(call.Write(TwiceRequest(x)));
  Await([this] { return scheduler->Snapshot().outstanding_requests == 1; }, "the request");
  Await([this] { return metrics.StatisticsOf(0).execution_count == 1; }, "its computation");
  for (int i = 0; i < 200; ++i) {
    Statistics();  // other calls of the connection go on
  }
  EXPECT_EQ(scheduler->Snapshot().outstanding_requests, 1);
  call.Cancel();
  call.Finish();
  ExpectNothingLeft();
}

}  // namespace
}  // namespace kernelwire::testing

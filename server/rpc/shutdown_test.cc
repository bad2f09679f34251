// The end of a server with calls in every state.
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "server/rpc/testing/raw_call.h"
#include "server/rpc/testing/rpc_fixture.h"
#include "server/rpc/testing/twice_operator.h"

namespace kernelwire::testing {
namespace {

constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
constexpr char kReflection[] = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

using ShutdownTest = RpcFixture;

TEST_F(ShutdownTest, DrainingServerAnswersProbesAndRefusesTheRest) {
  Start();
  server->StopAccepting();
  RawCall refused(channel(), kModelInfer);
  const grpc::Status status = refused.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(refused.context().GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);

  PatientContext check_context, live_context, ready_context;
  grpc::health::v1::HealthCheckResponse check;
  EXPECT_TRUE(health_stub().Check(&check_context, {}, &check).ok());
  inference::ServerLiveResponse live;
  EXPECT_TRUE(inference().ServerLive(&live_context, {}, &live).ok());
  EXPECT_TRUE(live.live());
  inference::ServerReadyResponse ready;
  EXPECT_TRUE(inference().ServerReady(&ready_context, {}, &ready).ok());
  EXPECT_FALSE(ready.ready());
}

TEST_F(ShutdownTest, WaitsForCallsUnderWay) {
  Start();
  device->Hold();
  RawCall unary(channel(), kModelInfer);
  ASSERT_TRUE(unary.Write(TwiceRequest({1})));
  RawCall stream(Connect(), kModelStreamInfer);
  ASSERT_TRUE(stream.Write(TwiceRequest({2}, "streamed")));
  Await([this] { return scheduler->Snapshot().outstanding_requests == 2; }, "both requests");

  std::thread stopper([this] { server->Shutdown(kPatience); });
  Await(
      [this] {
        PatientContext context;
        inference::ServerReadyResponse response;
        return inference().ServerReady(&context, {}, &response).ok() && !response.ready();
      },
      "the beginning of the stop");
  device->Release();
  EXPECT_TRUE(unary.Read().has_value());
  EXPECT_TRUE(unary.Finish().ok());
  EXPECT_TRUE(stream.Read().has_value());
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);  // nobody closed it, so the server did
  stopper.join();
  EXPECT_EQ(server->live_calls(), 0);
}

TEST_F(ShutdownTest, EndsIdleStreamsAtOnce) {
  Start();
  std::vector<std::unique_ptr<RawCall>> streams;
  for (const char* method : {kModelStreamInfer, kWatch, kReflection}) {
    streams.push_back(std::make_unique<RawCall>(channel(), method));
  }
  ASSERT_TRUE(streams[1]->Write(grpc::health::v1::HealthCheckRequest()));
  ASSERT_TRUE(streams[1]->Read().has_value());
  Await([this] { return server->live_calls() == 3; }, "the streams");
  EXPECT_EQ(server->Shutdown(std::chrono::hours(1)), 0);  // returns at once, or the test never ends
  for (const auto& stream : streams) {
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  EXPECT_EQ(CountedErrors("UNAVAILABLE"), 3);
}

TEST_F(ShutdownTest, CancelsWhatIsLeftAfterTheGrace) {
  staging_bytes = std::size_t{64} * 1024;
  Start();
  device->Hold();
  const std::vector<float> large(4000, 1.0F);
  RawCall silent(channel(), kModelInfer);
  RawCall running(channel(), kModelInfer);
  ASSERT_TRUE(running.Write(TwiceRequest(large)));
  device->AwaitKept(1);
  RawCall waiting(channel(), kModelInfer);
  ASSERT_TRUE(waiting.Write(TwiceRequest(large)));
  Await([this] { return scheduler->Snapshot().devices[0].waiting_requests == 1; }, "the waiting request");
  std::thread stopper([this] { EXPECT_EQ(server->Shutdown(std::chrono::milliseconds(20)), 3); });
  EXPECT_FALSE(silent.Finish().ok());
  EXPECT_FALSE(waiting.Finish().ok());
  EXPECT_FALSE(running.Finish().ok());
  device->Release();  // the device must give up what it has before gRPC lets the server go
  stopper.join();
  EXPECT_EQ(server->live_calls(), 0);
  EXPECT_EQ(scheduler->Snapshot().outstanding_requests, 0);
}

TEST_F(ShutdownTest, UnderLoadEveryCallEnds) {
  Start();
  std::atomic<int> answered{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([this, &answered] {
      const auto stub = inference::GRPCInferenceService::NewStub(Connect());
      for (;;) {
        PatientContext context;
        inference::ModelInferResponse response;
        const grpc::Status status = stub->ModelInfer(&context, TwiceRequest({1}), &response);
        if (!status.ok()) {
          EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
          return;
        }
        ++answered;
      }
    });
  }
  Await([&] { return answered.load() > 500; }, "some load");
  server->Shutdown(kPatience);
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(server->live_calls(), 0);
}

TEST_F(ShutdownTest, HealthMayChangeDuringAndAfter) {
  Start();
  std::atomic<bool> stop{false};
  std::thread changer([this, &stop] {
    while (!stop.load()) {
      health.SetReady(false);
      health.SetReady(true);
    }
  });
  const std::unique_ptr<RawCall> watch = std::make_unique<RawCall>(channel(), kWatch);
  watch->Write(grpc::health::v1::HealthCheckRequest());
  EXPECT_TRUE(watch->Read().has_value());
  server->Shutdown(kPatience);
  server.reset();
  stop.store(true);
  changer.join();
}

TEST_F(ShutdownTest, UnixSocketIsForOwnerAndGroup) {
  char folder[] = "/tmp/kernelwire-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/socket";
  options.addresses = {"unix:" + path, "127.0.0.1:0"};
  Start();
  EXPECT_EQ(server->addresses()[0], "unix:" + path);
  EXPECT_GT(server->ports()[1], 0);
  struct stat file {};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777u, 0660u);
  PatientContext context;
  inference::ModelInferResponse response;
  EXPECT_TRUE(inference().ModelInfer(&context, TwiceRequest({1}), &response).ok());
  server->Shutdown(kPatience);
  ::rmdir(folder);
}

}  // namespace
}  // namespace kernelwire::testing

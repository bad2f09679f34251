// Bounds on calls, and what they do to others.
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rpc/testing/raw_call.h"
#include "server/rpc/testing/rpc_fixture.h"
#include "server/rpc/testing/twice_operator.h"

namespace kernelwire::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kHealthWatch[] = "/grpc.health.v1.Health/Watch";

using Calls = std::vector<std::unique_ptr<RawCall>>;

class LimitsTest : public RpcFixture {
 protected:
  /// Calls that send nothing, and never give up by themselves.
  Calls OpenSilentCalls(int count, const std::shared_ptr<grpc::Channel>& over, const char* method = kModelInfer) {
    const int before = server->live_calls();
    Calls calls;
    for (int i = 0; i < count; ++i) {
      calls.push_back(std::make_unique<RawCall>(over, method, std::make_unique<grpc::ClientContext>()));
    }
    Await([&] { return server->live_calls() == before + count; }, "the silent calls");
    return calls;
  }

  grpc::Status CheckHealth() {
    PatientContext context;
    grpc::health::v1::HealthCheckResponse response;
    return health_stub().Check(&context, {}, &response);
  }

  grpc::Status Infer() {
    PatientContext context;
    inference::ModelInferResponse response;
    return inference().ModelInfer(&context, TwiceRequest({1}), &response);
  }
};

TEST_F(LimitsTest, CallsBeyondTheLimitAreRefusedUnreadAndProbesAreNot) {
  options.max_calls = 4;
  Start();
  {
    const Calls silent = OpenSilentCalls(4, channel());
    RawCall refused(Connect(), kModelInfer);  // sends nothing, and is answered all the same
    const grpc::Status status = refused.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), HasSubstr("--max_calls"));
    EXPECT_EQ(refused.context().GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
    EXPECT_TRUE(CheckHealth().ok());
  }
  ExpectNothingLeft();
  inference::ModelInferResponse response;
  PatientContext context;
  EXPECT_TRUE(inference().ModelInfer(&context, TwiceRequest({1}), &response).ok());
}

TEST_F(LimitsTest, StreamsBeyondTheLimitAreRefused) {
  options.max_streams = 2;
  Start();
  const Calls silent = OpenSilentCalls(1, channel(), kModelStreamInfer);
  const Calls others = OpenSilentCalls(1, Connect(), kModelStreamInfer);
  RawCall refused(Connect(), kModelStreamInfer);
  const grpc::Status status = refused.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("--max_streams"));
  PatientContext context;
  inference::ModelInferResponse response;
  EXPECT_TRUE(inference().ModelInfer(&context, TwiceRequest({1}), &response).ok());
}

TEST_F(LimitsTest, StreamsOfOneConnectionLeaveSomeToOthers) {
  options.max_streams = 4;
  Start();
  const auto greedy = Connect();
  const Calls silent = OpenSilentCalls(3, greedy, kModelStreamInfer);
  RawCall refused(greedy, kModelStreamInfer);
  const grpc::Status status = refused.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("this connection has its limit of 3 (its share of 4 streams"));
  RawCall other(channel(), kModelStreamInfer);
  EXPECT_TRUE(other.Write(TwiceRequest({1})));
  EXPECT_TRUE(other.Read().has_value());
}

TEST_F(LimitsTest, WatchesAreCountedApartFromStreams) {
  options.max_streams = 1;
  options.max_calls = 8;  // and of watches a quarter
  Start();
  const Calls streams = OpenSilentCalls(1, Connect(), kModelStreamInfer);
  const Calls watches = OpenSilentCalls(1, Connect(), kHealthWatch);
  RawCall watch(channel(), kHealthWatch);
  EXPECT_TRUE(watch.Write(std::string()));
  EXPECT_TRUE(watch.Read().has_value());
  RawCall refused(Connect(), kHealthWatch);
  const grpc::Status status = refused.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("a quarter of --max_calls"));
}

TEST_F(LimitsTest, WatchesThatSayNothingTimeOut) {
  options.completion_queues = 1;
  options.read_timeout = std::chrono::milliseconds(80);
  Start();
  Calls silent;
  for (int i = 0; i < 6; ++i) {  // more than one connection can have read at a time
    silent.push_back(std::make_unique<RawCall>(channel(), kHealthWatch));
  }
  for (const auto& call : silent) {
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  ExpectNothingLeft();
}

TEST_F(LimitsTest, WatchesThatWaitToBeReadEndWithTheServer) {
  options.completion_queues = 1;
  options.read_timeout = 2 * kPatience;
  Start();
  const Calls silent = OpenSilentCalls(20, channel(), kHealthWatch);
  EXPECT_EQ(server->Shutdown(kPatience), 0);
  for (const auto& call : silent) {
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_F(LimitsTest, CallsWaitTheirTurnToBeRead) {
  options.completion_queues = 1;
  options.max_reading_calls = 1;
  Start();
  Calls silent = OpenSilentCalls(1, channel());
  RawCall waiting(Connect(), kModelInfer);
  RawCall given_up(Connect(), kModelInfer);
  Await([this] { return server->live_calls() == 3; }, "all calls");
  waiting.Write(TwiceRequest({1}));
  given_up.Cancel();
  EXPECT_EQ(given_up.Finish().error_code(), grpc::StatusCode::CANCELLED);
  Await([this] { return server->live_calls() == 2; }, "the cancelled call's end");
  silent.pop_back();  // its place is free now
  EXPECT_TRUE(waiting.Read().has_value());
  EXPECT_TRUE(waiting.Finish().ok());
}

TEST_F(LimitsTest, ProbesAreReadWhileSilentCallsHoldAllPlaces) {
  options.completion_queues = 1;
  options.max_reading_calls = 2;
  Start();
  const Calls silent = OpenSilentCalls(5, channel());
  EXPECT_TRUE(CheckHealth().ok());
  PatientContext context;
  inference::ServerReadyResponse ready;
  EXPECT_TRUE(inference().ServerReady(&context, {}, &ready).ok());
}

TEST_F(LimitsTest, SilentProbesKeepNobodyElseWaiting) {
  options.completion_queues = 1;
  options.max_reading_calls = 2;
  Start();
  const Calls silent = OpenSilentCalls(40, Connect(), "/grpc.health.v1.Health/Check");
  EXPECT_TRUE(CheckHealth().ok());
  EXPECT_TRUE(Infer().ok());
}

TEST_F(LimitsTest, OneConnectionAloneHasMostPlaces) {
  options.completion_queues = 1;
  options.max_reading_calls = 4;
  Start();
  const Calls silent = OpenSilentCalls(2, channel());
  EXPECT_TRUE(Infer().ok());
}

TEST_F(LimitsTest, NobodyWaitsForASilentConnectionToTimeOut) {
  options.completion_queues = 1;
  options.max_reading_calls = 4;
  options.read_timeout = 2 * kPatience;
  Start();
  const auto greedy = Connect();
  Calls silent = OpenSilentCalls(20, greedy);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Infer().ok());
  }
  silent.erase(silent.begin());  // its place goes to another of that connection, and no more than that
  EXPECT_TRUE(Infer().ok());
}

TEST_F(LimitsTest, OnceSilentConnectionsHaveTimedOutNobodyWaitsForThemAgain) {
  options.completion_queues = 1;
  options.max_reading_calls = 4;
  options.read_timeout = 2 * kPatience;
  Start();
  const auto greedy = Connect();
  Calls first = OpenSilentCalls(8, greedy);      // three have places,
  Calls second = OpenSilentCalls(8, Connect());  // and one
  RawCall call(channel(), kModelInfer);
  Await([this] { return server->live_calls() == 17; }, "the call that waits behind them");
  call.Write(TwiceRequest({1}));
  first.erase(first.begin());  // as if it had timed out
  EXPECT_TRUE(call.Read().has_value());
  EXPECT_TRUE(call.Finish().ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Infer().ok());
  }
}

TEST_F(LimitsTest, ConnectionsOverUnixSocketsAreNotTakenForOne) {
  char folder[] = "/tmp/kernelwire-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  options.completion_queues = 1;
  options.max_calls_per_peer = 2;
  options.addresses = {std::string("unix:") + folder + "/socket", std::string("unix-abstract:") + folder};
  Start();
  for (const std::string& address : server->addresses()) {
    {
      const Calls silent = OpenSilentCalls(2, Connect(address));
      EXPECT_TRUE(CallRaw(Connect(address), kModelInfer, TwiceRequest({1}).SerializeAsString()).ok()) << address;
    }
    ExpectNothingLeft();
  }
  server->Shutdown(kPatience);
  ::rmdir(folder);
}

TEST_F(LimitsTest, SilentCallsTimeOut) {
  options.completion_queues = 1;
  options.max_reading_calls = 1;
  options.read_timeout = std::chrono::milliseconds(80);
  Start();
  Calls silent = OpenSilentCalls(3, channel());
  PatientContext context;
  inference::ModelInferResponse response;
  EXPECT_TRUE(inference().ModelInfer(&context, TwiceRequest({1}), &response).ok());  // once they are gone
  for (const auto& call : silent) {
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  ExpectNothingLeft();
}

TEST_F(LimitsTest, RapidCancellationLeavesNothingBehind) {
  Start();
  for (int round = 0; round < 2000; ++round) {
    RawCall call(channel(), kModelInfer);
    call.Cancel();
  }
  ExpectNothingLeft();
  EXPECT_TRUE(CheckHealth().ok());
}

TEST_F(LimitsTest, OptionsOutOfRangeAreNamed) {
  RpcOptions bad = options;
  bad.armed_calls = 0;
  const auto started = RpcServer::Start(bad, RpcParts{});
  EXPECT_EQ(started.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(started.status().message()), HasSubstr("armed_calls: expected 1 to 65536, got 0"));
}

TEST_F(LimitsTest, TakenPortIsAnErrorThatNamesTheAddress) {
  Start();
  RpcOptions again = options;
  again.addresses = {"127.0.0.1:0", server->addresses()[0]};
  RpcParts parts;
  parts.health = &health;
  const auto started = RpcServer::Start(again, parts);
  EXPECT_EQ(started.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(started.status().message()), HasSubstr(server->addresses()[0]));
}

}  // namespace
}  // namespace kernelwire::testing

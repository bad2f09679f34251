// The load generator against a server in the same process.
#include "client/cli/load.h"

#include <atomic>
#include <chrono>
#include <vector>

#include "client/cli/bench_report.h"
#include "client/cpp/fake_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace kernelwire::cli {
namespace {

using namespace std::chrono_literals;
using client::EchoTensors;
using client::FakeServer;
using client::StatusCode;
using testing::HasSubstr;

const std::vector<float> kValues(100, 1.0f);

client::EncodedRequest Request() {
  client::InferRequest request;
  request.model = "echo";
  request.inputs = {{"x", client::View(kValues, {100})}};
  return *client::EncodedRequest::From(request);
}

LoadPlan PlanOf(std::int64_t requests) {
  LoadPlan plan;
  plan.method = kInferMethod;
  plan.requests = requests;
  plan.warm_up = 0ns;
  plan.timeout = 60s;
  return plan;
}

TEST(RunLoad, MakesAsManyCallsAsItIsTold) {
  std::atomic<int> calls{0};
  const FakeServer server([&calls](auto* context, const auto& request, auto* reply) {
    ++calls;
    return EchoTensors(context, request, reply);
  });
  LoadPlan plan = PlanOf(101);
  plan.threads = 2;
  plan.outstanding = 7;
  double last_share = -1;
  const LoadResult result = RunLoad(client::Client::Connect(server.address()), Request(), plan,
                                    [&last_share](double share, std::uint64_t) { last_share = share; });
  EXPECT_EQ(calls, 101);
  EXPECT_EQ(result.succeeded(), 101u);
  EXPECT_EQ(result.failed(), 0u);
  EXPECT_GT(result.reply_bytes, 101u * 400);
  EXPECT_GT(result.elapsed, 0ns);
  EXPECT_GE(last_share, 0);
}

TEST(RunLoad, KeepsToTheNumberOutstanding) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const FakeServer server([&inside, &most](auto* context, const auto& request, auto* reply) {
    const int now = ++inside;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    grpc::Status status = EchoTensors(context, request, reply);
    --inside;
    return status;
  });
  LoadPlan plan = PlanOf(300);
  plan.outstanding = 3;
  RunLoad(client::Client::Connect(server.address()), Request(), plan, nullptr);
  EXPECT_LE(most, 3);
}

TEST(RunLoad, CountsFailuresByCodeAndKeepsTheFirst) {
  std::atomic<int> calls{0};
  const FakeServer server([&calls](auto* context, const auto& request, auto* reply) {
    return ++calls % 4 == 0 ? grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full")
                            : EchoTensors(context, request, reply);
  });
  const LoadResult result = RunLoad(client::Client::Connect(server.address()), Request(), PlanOf(40), nullptr);
  EXPECT_EQ(result.succeeded(), 30u);
  EXPECT_EQ(result.codes.at(StatusCode::kResourceExhausted), 10u);
  EXPECT_EQ(result.first_failure.message(), "the queue is full");
}

TEST(RunLoad, OpenLoopMakesItsCallsAndEndsByTime) {
  const FakeServer server(EchoTensors);
  const client::Client client = client::Client::Connect(server.address());
  LoadPlan plan = PlanOf(50);
  plan.rate = 5000;
  plan.outstanding = 100;
  EXPECT_EQ(RunLoad(client, Request(), plan, nullptr).succeeded(), 50u);
  plan.requests.reset();
  plan.duration = 20ms;
  plan.warm_up = 1ms;
  EXPECT_GT(RunLoad(client, Request(), plan, nullptr).succeeded(), 0u);
}

TEST(BenchReport, SaysTheSameToPeopleAndPrograms) {
  LoadResult result;
  for (int i = 0; i < 10; ++i) {
    result.latency.Add(2ms);
  }
  result.codes = {{StatusCode::kOk, 10}, {StatusCode::kUnavailable, 1}};
  result.first_failure = client::Status(StatusCode::kUnavailable, "draining");
  result.reply_bytes = 10'000;
  result.elapsed = 2s;
  const BenchSubject subject{"softmax", "localhost:8001", 1, {{"x", client::DataType::kFp32, {8, 1024}}}, 32'800};
  LoadPlan plan = PlanOf(11);
  EXPECT_EQ(HeadlineText(subject, plan),
            "softmax at localhost:8001: x FP32 [8, 1024], 32.0 KiB a request\n"
            "closed loop, 1 outstanding on 1 connection, 1 thread, seed 1\n"
            "warm-up 0 ns, then 11 calls\n");
  const std::string text = ReportText(subject, result);
  EXPECT_THAT(text, HasSubstr("calls     10 OK, 1 UNAVAILABLE in 2.00 s\n"));
  EXPECT_THAT(text, HasSubstr("failure   UNAVAILABLE: draining\n"));
  EXPECT_THAT(text, HasSubstr("rate      5.0 calls/s\n"));
  EXPECT_THAT(text, HasSubstr(" p50 2.00 ms, "));
  const auto json = nlohmann::json::parse(ReportJson(subject, plan, result));
  EXPECT_EQ(json["calls_per_second"], 5.0);
  EXPECT_EQ(json["codes"]["UNAVAILABLE"], 1);
  EXPECT_EQ(json["latency_seconds"]["p99"], 0.002);
  EXPECT_EQ(json["inputs"][0]["shape"], (std::vector<int>{8, 1024}));
  EXPECT_EQ(json["received_bytes_per_second"], 5000.0);
}

}  // namespace
}  // namespace kernelwire::cli

// Client against a server in the same process.
#include "kernelwire/client.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/fake_server.h"
#include "client/cpp/test_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "open_inference.pb.h"

namespace kernelwire::client {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

InferRequest RequestWith(const std::vector<float>& values) {
  InferRequest request;
  request.model = "echo";
  request.id = "id";
  request.inputs = {{"x", View(values, {static_cast<std::int64_t>(values.size())})}};
  return request;
}

TEST(Client, CarriesSmallLargeAndSeveralTensors) {
  const FakeServer server(EchoTensors);
  const Client client = Client::Connect(server.address());
  const std::vector<float> small = Counting(3);
  const std::vector<float> large = Counting(3'000'000);  // beyond the library's default limit of 4 MiB
  InferRequest request = RequestWith(large);
  request.inputs.push_back({"small", View(small, {3, 1})});
  request.inputs.push_back({"nothing", View(std::vector<std::int64_t>(), {0})});
  Result<InferReply> reply = client.Infer(request, kLong);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->id, "id");
  ASSERT_EQ(reply->outputs.size(), 3u);
  EXPECT_EQ(reply->Find("x")->ToVector<float>(), large);
  EXPECT_EQ(reply->Find("small")->ToVector<float>(), small);
  EXPECT_EQ(reply->Find("small")->shape(), (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(reply->Find("nothing")->byte_size(), 0u);
}

TEST(Client, SpeaksOverAUnixSocket) {
  const FakeServer server(EchoTensors, "unix:" + testing::TempDir() + "kw" + std::to_string(getpid()) + ".sock");
  const Client client = Client::Connect(server.address());
  EXPECT_TRUE(client.Infer(RequestWith(Counting(10)), kLong).ok());
}

TEST(Client, IsSharedByThreadsOverSeveralConnections) {
  const FakeServer server(EchoTensors);
  ClientOptions options;
  options.connections = 3;
  const Client client = Client::Connect(server.address(), options);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&client, &right, i] {
      const std::vector<float> values = Counting(5000 + i);
      for (int call = 0; call < 20; ++call) {
        Result<InferReply> reply = client.Infer(RequestWith(values), kLong);
        right += reply.ok() && reply->outputs[0].ToVector<float>() == values;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 80);
}

TEST(Client, HandsOnTheServersMessageWhole) {
  const std::string message =
      "input 'x': expected FP16, BF16, FP32 or FP64, got INT8; \"quoted\", 100 %, µ\n" + std::string(900, 'm');
  const FakeServer server(
      [&message](auto*, const auto&, auto*) { return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, message); });
  const Result<InferReply> reply = Client::Connect(server.address()).Infer(RequestWith(Counting(1)), kLong);
  EXPECT_EQ(reply.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(reply.status().message(), message);
  EXPECT_FALSE(reply.status().retry_after().has_value());
}

TEST(Client, AnswersDeadlineExceededWhenTheServerDoesNot) {
  const FakeServer server([](grpc::ServerContext* context, const auto&, auto*) {
    while (!context->IsCancelled()) {
      std::this_thread::yield();
    }
    return grpc::Status::CANCELLED;
  });
  const Client client = Client::Connect(server.address());
  EXPECT_EQ(client.Infer(RequestWith(Counting(1)), 50ms).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client.Infer(RequestWith(Counting(1)), 0ms).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client.Infer(RequestWith(Counting(1)), -1s).status().code(), StatusCode::kDeadlineExceeded);
}

// Fails `failures` times with `code` and the trailer, then echoes.
FakeServer::InferHandler FailingAtFirst(std::atomic<int>* calls, int failures, grpc::StatusCode code,
                                        const std::string& pushback) {
  return [calls, failures, code, pushback](grpc::ServerContext* context, const inference::ModelInferRequest& request,
                                           inference::ModelInferResponse* reply) {
    if (++*calls <= failures) {
      if (!pushback.empty()) {
        context->AddTrailingMetadata("grpc-retry-pushback-ms", pushback);
      }
      return grpc::Status(code, "attempt " + std::to_string(calls->load()));
    }
    return EchoTensors(context, request, reply);
  };
}

TEST(Client, ComesBackWhenTheServerSaysWhen) {
  std::atomic<int> calls{0};
  const FakeServer server(FailingAtFirst(&calls, 2, grpc::StatusCode::RESOURCE_EXHAUSTED, "1"));
  const std::vector<float> values = Counting(100'000);  // a payload that is referred to is sent again as well
  Result<InferReply> reply = Client::Connect(server.address()).Infer(RequestWith(values), kLong);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->outputs[0].ToVector<float>(), values);
  EXPECT_EQ(calls, 3);
}

TEST(Client, RepeatsUnavailableWithoutAHint) {
  std::atomic<int> calls{0};
  const FakeServer server(FailingAtFirst(&calls, 1, grpc::StatusCode::UNAVAILABLE, ""));
  EXPECT_TRUE(Client::Connect(server.address()).Infer(RequestWith(Counting(1)), kLong).ok());
  EXPECT_EQ(calls, 2);
}

TEST(Client, DoesNotRepeatWhatMayNotBe) {
  for (const char* pushback : {"-1", "soon"}) {
    std::atomic<int> calls{0};
    const FakeServer server(FailingAtFirst(&calls, 9, grpc::StatusCode::UNAVAILABLE, pushback));
    const Status status = Client::Connect(server.address()).Infer(RequestWith(Counting(1)), kLong).status();
    EXPECT_EQ(status.ToString(), "UNAVAILABLE: attempt 1") << pushback;
    EXPECT_EQ(calls, 1) << pushback;
  }
  std::atomic<int> calls{0};
  const FakeServer server(FailingAtFirst(&calls, 9, grpc::StatusCode::RESOURCE_EXHAUSTED, ""));
  EXPECT_EQ(Client::Connect(server.address()).Infer(RequestWith(Counting(1)), kLong).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(calls, 1);
}

TEST(Client, KeepsTheHintOfTheLastFailure) {
  std::atomic<int> calls{0};
  const FakeServer server(FailingAtFirst(&calls, 99, grpc::StatusCode::RESOURCE_EXHAUSTED, "250"));
  ClientOptions options;
  options.retry.max_attempts = 1;
  const Status status = Client::Connect(server.address(), options).Infer(RequestWith(Counting(1)), kLong).status();
  EXPECT_EQ(status.retry_after(), Status::RetryAfter(250ms));
}

TEST(Client, SaysUnavailableWhenNobodyListens) {
  const Client client = Client::Connect("127.0.0.1:1");
  const Status status = client.ServerLive(10s).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("127.0.0.1:1"));
}

TEST(Client, AsksAboutTheServer) {
  const FakeServer server(EchoTensors);
  const Client client = Client::Connect(server.address());
  const Result<bool> live = client.ServerLive(kLong);
  EXPECT_TRUE(live.ok() && *live);
  EXPECT_EQ(*client.CheckHealth("", kLong), Health::kServing);
  EXPECT_EQ(*client.CheckHealth("gpu0", kLong), Health::kNotServing);
  EXPECT_EQ(client.ModelMetadata("softmax", kLong)->name(), "softmax");
  EXPECT_EQ(client.RepositoryIndex(kLong).status().code(), StatusCode::kUnimplemented);
}

TEST(Client, RefusesShapesBeforeSending) {
  const std::vector<float> values = Counting(6);
  InferRequest request = RequestWith(values);
  request.inputs[0].tensor.shape = {7};
  const Status status = Client::Connect("127.0.0.1:1").Infer(request, kLong).status();
  EXPECT_EQ(status.ToString(), "INVALID_ARGUMENT: input 'x': shape [7] of FP32 takes 28 bytes, got 24");
}

}  // namespace
}  // namespace kernelwire::client

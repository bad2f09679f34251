#include "kernelwire/pipeline.h"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/fake_server.h"
#include "client/cpp/test_values.h"
#include "gtest/gtest.h"

namespace kernelwire::client {
namespace {

using namespace std::chrono_literals;

EncodedRequest Encode(const std::vector<float>& values, std::shared_ptr<const void> owner = nullptr) {
  InferRequest request;
  request.model = "echo";
  request.inputs = {{"x", View(values, {static_cast<std::int64_t>(values.size())})}};
  request.inputs[0].tensor.owner = std::move(owner);
  return *EncodedRequest::From(request);
}

TEST(Pipeline, ReturnsEveryCallOnce) {
  const FakeServer server(EchoTensors);
  ClientOptions options;
  options.connections = 2;
  Pipeline pipeline(Client::Connect(server.address(), options));
  std::vector<float> values(5000, 1.5f);
  const EncodedRequest request = Encode(values);
  values.assign(5000, 0.0f);  // the bytes were copied
  for (std::uint64_t tag = 0; tag < 100; ++tag) {
    pipeline.Start(request, kLong, tag);
  }
  EXPECT_EQ(pipeline.outstanding(), 100u);
  std::set<std::uint64_t> tags;
  while (const auto done = pipeline.Next(kLong)) {
    ASSERT_TRUE(done->status().ok()) << done->status().ToString();
    EXPECT_GT(done->reply_bytes(), 20000u);
    Result<InferReply> reply = done->Decode();
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply->outputs[0].ToVector<float>(), std::vector<float>(5000, 1.5f));
    tags.insert(done->tag());
    if (tags.size() <= 50) {  // places are used again
      pipeline.Start(request, kLong, 100 + done->tag());
    }
  }
  EXPECT_EQ(tags.size(), 150u);
  EXPECT_EQ(pipeline.outstanding(), 0u);
}

TEST(Pipeline, RefersToOwnedMemoryUntilTheLastCallHasEnded) {
  const FakeServer server(EchoTensors);
  const auto values = std::make_shared<std::vector<float>>(100'000, 2.0f);
  {
    Pipeline pipeline(Client::Connect(server.address()));
    pipeline.Start(Encode(*values, values), kLong, 1);
    EXPECT_GT(values.use_count(), 1);
    ASSERT_TRUE(pipeline.Next(kLong)->status().ok());
  }
  EXPECT_EQ(values.use_count(), 1);
}

TEST(Pipeline, ReportsFailuresWithTheirHints) {
  const FakeServer server([](grpc::ServerContext* context, const auto&, auto*) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "9");
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
  });
  Pipeline pipeline(Client::Connect(server.address()));
  pipeline.Start(Encode({1}), kLong, 5);
  const auto done = pipeline.Next(kLong);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->tag(), 5u);
  EXPECT_EQ(done->status().ToString(), "RESOURCE_EXHAUSTED: full");
  EXPECT_EQ(done->status().retry_after(), Status::RetryAfter(9ms));
  EXPECT_EQ(done->reply_bytes(), 0u);
  EXPECT_EQ(done->Decode().status().code(), StatusCode::kResourceExhausted);
}

TEST(Pipeline, KnowsOtherMethods) {
  const FakeServer server(EchoTensors);
  Pipeline pipeline(Client::Connect(server.address()), "/no.such.Service/Method");
  pipeline.Start(Encode({1}), kLong, 0);
  EXPECT_EQ(pipeline.Next(kLong)->status().code(), StatusCode::kUnimplemented);
}

TEST(Pipeline, WaitsNoLongerThanTold) {
  const FakeServer server([](grpc::ServerContext* context, const auto&, auto*) {
    while (!context->IsCancelled()) {
      std::this_thread::yield();
    }
    return grpc::Status::CANCELLED;
  });
  Pipeline pipeline(Client::Connect(server.address()));
  EXPECT_FALSE(pipeline.Next(kLong).has_value());  // nothing outstanding
  pipeline.Start(Encode({1}), kLong, 0);
  EXPECT_FALSE(pipeline.Next(0ns).has_value());
  EXPECT_FALSE(pipeline.Next(1ms).has_value());
  EXPECT_EQ(pipeline.outstanding(), 1u);
  // The destructor cancels the call; the server's handler ends by that.
}

}  // namespace
}  // namespace kernelwire::client

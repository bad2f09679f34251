// More than the server may take: each call is answered, with a result or with when to come back, and afterwards all is
// as before.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/end_to_end/wire_case.h"
#include "tests/harness/in_process_server.h"

namespace kernelwire::testing {
namespace {

TEST(Overload, RefusesWithAHintAndRecovers) {
  const auto server = InProcessServer::Start([](Options& options) {
    options.scheduler.max_outstanding_requests = 2;
    options.scheduler.max_queue_delay.assign(64, Nanos{2'000'000});
  });
  std::atomic<int> done{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 16; ++client) {
    clients.emplace_back([&] {
      const auto stub = Connect(server->address());
      for (int i = 0; i < 50; ++i) {
        inference::ModelInferResponse reply;
        const auto context = Deadline();
        const grpc::Status status = stub->ModelInfer(context.get(), SoftmaxRequest(4, 256), &reply);
        if (status.ok()) {
          ++done;
          continue;
        }
        ++refused;
        EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
        const auto& trailers = context->GetServerTrailingMetadata();
        const auto hint = trailers.find("grpc-retry-pushback-ms");
        ASSERT_NE(hint, trailers.end());
        EXPECT_GE(std::stoi(std::string(hint->second.data(), hint->second.size())), 1);
        EXPECT_FALSE(status.error_details().empty()) << "RetryInfo";
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(done + refused, 16 * 50);
  EXPECT_GT(done, 0);
  EXPECT_GT(refused, 0);
  ASSERT_TRUE(server->WaitUntilIdle());
  const auto stub = Connect(server->address());
  inference::ModelInferResponse reply;
  const auto context = Deadline();
  EXPECT_TRUE(stub->ModelInfer(context.get(), SoftmaxRequest(4, 256), &reply).ok());
}

TEST(Overload, AMessageAboveTheLimitIsRefusedWithoutAHint) {
  const auto server = InProcessServer::Start([](Options& options) { options.rpc.max_message_bytes = 100'000; });
  const auto stub = Connect(server->address());
  auto request = SoftmaxRequest(1, 24'000);
  const auto small = static_cast<std::size_t>(request.ByteSizeLong());
  request.set_id(std::string(100'000 - small - 3, 'i'));  // tag, and a length of two bytes
  ASSERT_EQ(request.ByteSizeLong(), 100'000u);
  inference::ModelInferResponse reply;
  const auto fits = Deadline();
  const grpc::Status passes = stub->ModelInfer(fits.get(), request, &reply);
  EXPECT_TRUE(passes.ok()) << passes.error_message();
  request.mutable_id()->push_back('i');
  const auto large = Deadline();
  const grpc::Status refused = stub->ModelInfer(large.get(), request, &reply);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(large->GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 0u);
}

TEST(Overload, ACompressedMessageIsRefused) {
  const auto server = InProcessServer::Start();
  const auto stub = Connect(server->address());
  const auto context = Deadline();
  context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
  inference::ModelInferResponse reply;
  EXPECT_EQ(stub->ModelInfer(context.get(), SoftmaxRequest(64, 256), &reply).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  const auto plain = Deadline();
  EXPECT_TRUE(stub->ModelInfer(plain.get(), SoftmaxRequest(64, 256), &reply).ok());
}

}  // namespace
}  // namespace kernelwire::testing

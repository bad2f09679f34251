// A server that is told to stop under load finishes what it took, and says first that it will stop.
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "health.grpc.pb.h"
#include "tests/end_to_end/wire_case.h"
#include "tests/harness/in_process_server.h"

namespace kernelwire::testing {
namespace {

TEST(Drain, UnderLoadFailsNoCall) {
  auto server = InProcessServer::Start([](Options& options) { options.drain_delay = absl::Milliseconds(500); });
  std::atomic<bool> serving{true};
  std::atomic<int> calls{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 6; ++client) {
    clients.emplace_back([&, client] {
      const auto stub = Connect(server->address());
      while (serving.load()) {  // as a load balancer does: no new calls to who says NOT_SERVING
        inference::ModelInferResponse reply;
        const auto context = Deadline();
        const grpc::Status status = stub->ModelInfer(context.get(), SoftmaxRequest(1 + 40 * client, 1024), &reply);
        failed += status.ok() ? 0 : 1;
        ++calls;
      }
    });
  }
  const auto channel = grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials());
  const auto health = grpc::health::v1::Health::NewStub(channel);
  const auto context = Deadline();
  const auto watch = health->Watch(context.get(), grpc::health::v1::HealthCheckRequest());
  grpc::health::v1::HealthCheckResponse state;
  ASSERT_TRUE(watch->Read(&state));
  EXPECT_EQ(state.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  while (calls.load() < 100) {
    std::this_thread::yield();
  }
  std::thread stopper([&] { EXPECT_EQ(server->Stop(), 0); });
  ASSERT_TRUE(watch->Read(&state));
  EXPECT_EQ(state.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  serving = false;
  for (std::thread& client : clients) {
    client.join();
  }
  stopper.join();
  EXPECT_EQ(failed, 0) << "of " << calls;
}

}  // namespace
}  // namespace kernelwire::testing

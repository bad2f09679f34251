// Cancellation and deadlines at each stage of the journey: every call ends once, nothing stays behind.
#include <chrono>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/end_to_end/wire_case.h"
#include "tests/harness/in_process_server.h"

namespace kernelwire::testing {
namespace {

/// Softmax requests wait this long for company, so that a test can find them in the queue.
std::unique_ptr<InProcessServer> ServerWithQueueDelay(Nanos delay) {
  return InProcessServer::Start([delay](Options& options) {
    options.scheduler.max_queue_delay.assign(64, delay);
    options.self_test = false;
  });
}

constexpr Nanos kSecond = 1'000'000'000;

TEST(Cancel, InTheQueueIsAnsweredAtOnceAndNeverRuns) {
  const auto server = ServerWithQueueDelay(600 * kSecond);
  const auto stub = Connect(server->address());
  const auto context = Deadline();
  std::thread canceller([&] {
    ASSERT_TRUE(server->WaitUntil([](const SchedulerSnapshot& now) { return now.outstanding_requests == 1; }));
    context->TryCancel();
  });
  inference::ModelInferResponse reply;
  const grpc::Status status = stub->ModelInfer(context.get(), SoftmaxRequest(4, 16), &reply);
  canceller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(server->WaitUntilIdle());
  EXPECT_EQ(server->batches_run(), 0u);
}

TEST(Cancel, ADeadlineInTheQueueIsKept) {
  const auto server = ServerWithQueueDelay(600 * kSecond);
  const auto stub = Connect(server->address());
  const auto context = Deadline(0.05);
  inference::ModelInferResponse reply;
  const grpc::Status status = stub->ModelInfer(context.get(), SoftmaxRequest(4, 16), &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(server->WaitUntilIdle());
  EXPECT_EQ(server->batches_run(), 0u);
}

TEST(Cancel, TheTimeoutParameterIsADeadline) {
  const auto server = ServerWithQueueDelay(600 * kSecond);
  const auto stub = Connect(server->address());
  const auto context = Deadline(60);
  auto request = SoftmaxRequest(4, 16);
  (*request.mutable_parameters())["timeout"].set_int64_param(20'000);  // microseconds
  inference::ModelInferResponse reply;
  const grpc::Status status = stub->ModelInfer(context.get(), request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_FALSE(status.error_message().empty());
  EXPECT_TRUE(server->WaitUntilIdle());
}

TEST(Cancel, BeforeTheMessageLeavesNothingBehind) {
  const auto server = InProcessServer::Start();
  const auto stub = Connect(server->address());
  for (int i = 0; i < 50; ++i) {
    const auto context = Deadline();
    const auto stream = stub->ModelStreamInfer(context.get());
    context->TryCancel();
    inference::ModelStreamInferResponse reply;
    EXPECT_FALSE(stream->Read(&reply));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(server->WaitUntilIdle());
}

TEST(Cancel, AStreamTakesItsRequestsWithIt) {
  const auto server = ServerWithQueueDelay(600 * kSecond);
  const auto stub = Connect(server->address());
  const auto context = Deadline();
  const auto stream = stub->ModelStreamInfer(context.get());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(stream->Write(SoftmaxRequest(1, 16)));
  }
  ASSERT_TRUE(server->WaitUntil([](const SchedulerSnapshot& now) { return now.outstanding_requests == 10; }));
  context->TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(server->WaitUntilIdle());
  EXPECT_EQ(server->batches_run(), 0u);
}

TEST(Cancel, AtAnyMomentEachCallEndsOnceAndOthersAreServed) {
  constexpr unsigned kSeed = 11;
  std::cout << "seed " << kSeed << "\n";
  const auto server = InProcessServer::Start();
  std::vector<std::thread> clients;
  std::atomic<int> fine{0};
  for (unsigned client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      std::mt19937 random(kSeed + client);
      const auto stub = Connect(server->address());
      for (int i = 0; i < 150; ++i) {
        const auto request = SoftmaxRequest(1 + static_cast<int>(random() % 300), 256);
        const bool cancels = random() % 2 == 0;
        const auto context = Deadline();
        const auto pause = std::chrono::microseconds(random() % 1500);
        std::thread canceller([&] {
          if (cancels) {
            std::this_thread::sleep_for(pause);  // any moment is a right one
            context->TryCancel();
          }
        });
        inference::ModelInferResponse reply;
        const grpc::Status status = stub->ModelInfer(context.get(), request, &reply);
        canceller.join();
        EXPECT_TRUE(status.ok() || (cancels && status.error_code() == grpc::StatusCode::CANCELLED))
            << status.error_message();
        fine += status.ok() ? 1 : 0;
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_GE(fine, 200);
  EXPECT_TRUE(server->WaitUntilIdle());
}

}  // namespace
}  // namespace kernelwire::testing

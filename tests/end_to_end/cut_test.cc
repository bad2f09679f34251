// Requests that are cut by rows: the same bits as from a server that does not cut, and the same care for those that go
// wrong.
#include <chrono>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/wire_case.h"
#include "tests/harness/in_process_server.h"

namespace kernelwire::testing {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using ::testing::HasSubstr;

constexpr std::size_t kSmallBatch = std::size_t{32} << 10;

std::unique_ptr<InProcessServer> ServerWithBatches(std::size_t bytes) {
  return InProcessServer::Start([bytes](Options& options) { options.scheduler.batch_slab_bytes = bytes; });
}

std::string NormalFloats(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
  }
  return {reinterpret_cast<const char*>(values.data()), count * sizeof(float)};
}

void AddInput(const std::string& name, const std::vector<std::int64_t>& shape, std::mt19937& random,
              ModelInferRequest* request) {
  auto* const input = request->add_inputs();
  input->set_name(name);
  input->set_datatype("FP32");
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    input->add_shape(extent);
    count *= extent;
  }
  request->add_raw_input_contents(NormalFloats(static_cast<std::size_t>(count), random));
}

/// Of different widths, operators and parameters; each is larger than kSmallBatch several times over.
std::vector<ModelInferRequest> LargeRequests() {
  constexpr unsigned kSeed = 31;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  std::vector<ModelInferRequest> requests;
  for (const std::int64_t width : {1, 7, 256, 1000, 5000}) {
    const std::int64_t rows = 300'000 / width + 1;
    ModelInferRequest softmax;
    softmax.set_model_name("softmax");
    AddInput("x", {rows, width}, random, &softmax);
    requests.push_back(softmax);
    ModelInferRequest norm;
    norm.set_model_name("rms_norm");
    AddInput("x", {rows, width}, random, &norm);
    AddInput("weight", {width}, random, &norm);
    requests.push_back(norm);
    (*norm.mutable_parameters())["output_type"].set_string_param("FP16");
    requests.push_back(norm);
  }
  ModelInferRequest columns;  // along another axis than the last
  columns.set_model_name("softmax");
  AddInput("x", {400, 30, 25}, random, &columns);
  (*columns.mutable_parameters())["axis"].set_int64_param(1);
  requests.push_back(columns);
  return requests;
}

TEST(Cut, GivesTheSameBitsAsTheUncutRequest) {
  const auto whole = ServerWithBatches(std::size_t{16} << 20);
  const auto cutting = ServerWithBatches(kSmallBatch);
  const auto whole_stub = Connect(whole->address());
  const auto cutting_stub = Connect(cutting->address());
  const std::vector<ModelInferRequest> requests = LargeRequests();
  for (const ModelInferRequest& request : requests) {
    ModelInferResponse expected;
    ModelInferResponse actual;
    const auto one = Deadline();
    const auto other = Deadline();
    const grpc::Status status = whole_stub->ModelInfer(one.get(), request, &expected);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const grpc::Status cut = cutting_stub->ModelInfer(other.get(), request, &actual);
    ASSERT_TRUE(cut.ok()) << cut.error_message();
    EXPECT_EQ(actual.outputs(0).ShortDebugString(), expected.outputs(0).ShortDebugString());
    EXPECT_TRUE(actual.raw_output_contents(0) == expected.raw_output_contents(0)) << request.model_name();
  }
  EXPECT_EQ(whole->batches_run(), requests.size());
  EXPECT_GT(cutting->batches_run(), 10 * requests.size());
  EXPECT_TRUE(cutting->WaitUntilIdle());
}

TEST(Cut, ManyClientsAndAStreamShareTheLanes) {
  const auto server = ServerWithBatches(kSmallBatch);
  const std::vector<ModelInferRequest> requests = LargeRequests();
  std::vector<ModelInferResponse> expected(requests.size());
  const auto stub = Connect(server->address());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto context = Deadline();
    ASSERT_TRUE(stub->ModelInfer(context.get(), requests[i], &expected[i]).ok());
  }
  std::vector<std::thread> clients;
  for (std::size_t client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      const auto mine = Connect(server->address());
      const auto context = Deadline();
      const auto stream = mine->ModelStreamInfer(context.get());
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const std::size_t chosen = (i + client * 5) % requests.size();
        ModelInferRequest request = requests[chosen];
        request.set_id(std::to_string(chosen));
        ASSERT_TRUE(stream->Write(request));
      }
      stream->WritesDone();
      inference::ModelStreamInferResponse reply;
      std::size_t replies = 0;
      while (stream->Read(&reply)) {
        ASSERT_EQ(reply.error_message(), "");
        const ModelInferResponse& answer = reply.infer_response();
        EXPECT_TRUE(answer.raw_output_contents(0) == expected[std::stoul(answer.id())].raw_output_contents(0));
        ++replies;
      }
      EXPECT_EQ(replies, requests.size());
      EXPECT_TRUE(stream->Finish().ok());
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_TRUE(server->WaitUntilIdle());
}

TEST(Cut, TypedContentsStayWhole) {
  const auto server = ServerWithBatches(kSmallBatch);
  const auto stub = Connect(server->address());
  ModelInferRequest request = SoftmaxRequest(100, 1000);
  const auto* const values = reinterpret_cast<const float*>(request.raw_input_contents(0).data());
  request.mutable_inputs(0)->mutable_contents()->mutable_fp32_contents()->Add(values, values + 100'000);
  request.clear_raw_input_contents();
  ModelInferResponse reply;
  const auto context = Deadline();
  const grpc::Status status = stub->ModelInfer(context.get(), request, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(server->batches_run(), 1u);
}

TEST(Cut, ARequestMayNeedMoreThanTheLargestSlabButNotMoreThanAllStaging) {
  const auto server = InProcessServer::Start([](Options& options) {
    options.staging_bytes = std::size_t{3} << 20;  // slabs of 2 MiB and 1 MiB
    options.rpc.max_message_bytes = std::size_t{1} << 19;
    options.scheduler.batch_slab_bytes = std::size_t{1} << 18;
  });
  const auto stub = Connect(server->address());
  // FP16 in, FP64 out: five times its message.
  const auto request_of = [](int rows) {
    ModelInferRequest request;
    request.set_model_name("softmax");
    auto* const input = request.add_inputs();
    input->set_name("x");
    input->set_datatype("FP16");
    input->add_shape(rows);
    input->add_shape(1000);
    request.add_raw_input_contents(std::string(static_cast<std::size_t>(rows) * 2000, '\0'));
    (*request.mutable_parameters())["output_type"].set_string_param("FP64");
    return request;
  };
  ModelInferResponse reply;
  const auto fits = Deadline();
  const grpc::Status served = stub->ModelInfer(fits.get(), request_of(250), &reply);
  EXPECT_TRUE(served.ok()) << served.error_message();
  ASSERT_EQ(reply.raw_output_contents(0).size(), 2'000'000u);
  const auto* const values = reinterpret_cast<const double*>(reply.raw_output_contents(0).data());
  EXPECT_EQ(values[249'999], 1e-3);
  ModelInferRequest too_large = request_of(250);
  too_large.mutable_inputs(0)->set_shape(0, 2);
  too_large.mutable_inputs(0)->set_shape(1, 125'000);  // rows of 1.25 MB: one of them a slab, and there are two such
  const auto does_not_fit = Deadline();
  const grpc::Status refused = stub->ModelInfer(does_not_fit.get(), too_large, &reply);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("--staging_bytes"));
  EXPECT_EQ(does_not_fit->GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 0u);
}

TEST(Cut, CancelledAtAnyMomentItEndsOnceAndLeavesNothing) {
  constexpr unsigned kSeed = 17;
  std::cout << "seed " << kSeed << "\n";
  const auto server = ServerWithBatches(kSmallBatch);
  std::atomic<int> cancelled{0};
  std::vector<std::thread> clients;
  for (unsigned client = 0; client < 3; ++client) {
    clients.emplace_back([&, client] {
      std::mt19937 random(kSeed + client);
      const auto stub = Connect(server->address());
      const ModelInferRequest request = SoftmaxRequest(1000, 500);
      for (int i = 0; i < 60; ++i) {
        const auto context = Deadline();
        const auto pause = std::chrono::microseconds(random() % 6000);
        std::thread canceller([&] {
          std::this_thread::sleep_for(pause);  // any moment is a right one
          context->TryCancel();
        });
        ModelInferResponse reply;
        const grpc::Status status = stub->ModelInfer(context.get(), request, &reply);
        canceller.join();
        EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::CANCELLED) << status.error_message();
        cancelled += status.ok() ? 0 : 1;
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_GT(cancelled, 10);
  EXPECT_TRUE(server->WaitUntilIdle());
}

}  // namespace
}  // namespace kernelwire::testing

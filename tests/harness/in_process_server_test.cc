// The life of a server: start, self-test, ports, orderly and forced stops, and what it says of itself meanwhile.
#include "tests/harness/in_process_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "health.grpc.pb.h"
#include "open_inference.grpc.pb.h"
#include "server/rpc/probe.h"
#include "tests/harness/faulty_device.h"

namespace kernelwire::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr absl::Duration kPatience = absl::Seconds(30);

std::unique_ptr<inference::GRPCInferenceService::Stub> Connect(const InProcessServer& server) {
  return inference::GRPCInferenceService::NewStub(
      grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
}

inference::ModelInferRequest SoftmaxRequest() {
  inference::ModelInferRequest request;
  request.set_model_name("softmax");
  auto* x = request.add_inputs();
  x->set_name("x");
  x->set_datatype("FP32");
  x->add_shape(2);
  x->add_shape(4);
  request.add_raw_input_contents(std::string(32, '\0'));
  return request;
}

grpc::Status Infer(const InProcessServer& server, const inference::ModelInferRequest& request) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  inference::ModelInferResponse reply;
  return Connect(server)->ModelInfer(&context, request, &reply);
}

TEST(InProcessServer, ServesProbesAndStops) {
  const auto server = InProcessServer::Start();
  ASSERT_NE(server, nullptr);
  EXPECT_TRUE(Probe(server->address(), kPatience).ok());
  EXPECT_EQ(server->batches_run(), 0u) << "the self-test is not counted";
  const grpc::Status status = Infer(*server, SoftmaxRequest());
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(server->WaitUntilIdle());
  EXPECT_EQ(server->batches_run(), 1u);
  EXPECT_EQ(server->Stop(), 0);
  EXPECT_THAT(server->terminations(), IsEmpty());
}

TEST(InProcessServer, TwoLiveSideBySide) {
  const auto first = InProcessServer::Start();
  const auto second = InProcessServer::Start();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_NE(first->address(), second->address());
  EXPECT_TRUE(Infer(*first, SoftmaxRequest()).ok());
  EXPECT_EQ(first->Stop(), 0);
  EXPECT_TRUE(Infer(*second, SoftmaxRequest()).ok());
}

TEST(InProcessServer, SaysNotServingDuringTheDrainDelayAndServesOn) {
  const auto server = InProcessServer::Start([](Options& options) { options.drain_delay = absl::Seconds(2); });
  ASSERT_NE(server, nullptr);
  server->server().RequestStop();
  const absl::Status health = Probe(server->address(), kPatience);
  EXPECT_EQ(health.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(health.message()), HasSubstr("NOT_SERVING"));
  EXPECT_TRUE(Infer(*server, SoftmaxRequest()).ok());
  EXPECT_EQ(server->server().Wait(), ExitCode::kOk);
}

TEST(InProcessServer, ASecondRequestToStopForcesTheEnd) {
  const auto server = InProcessServer::Start();
  ASSERT_NE(server, nullptr);
  server->server().RequestStop();
  server->server().RequestStop();
  EXPECT_THAT(server->terminations(), ElementsAre(72));
}

TEST(InProcessServer, CutsOffWhatTheDrainTimeoutDoesNotWaitFor) {
  const auto server = InProcessServer::Start([](Options& options) {
    options.drain_timeout = absl::Milliseconds(50);
    options.scheduler.max_queue_delay.assign(64, Nanos{600} * 1'000'000'000);
    options.self_test = false;
  });
  ASSERT_NE(server, nullptr);
  std::thread caller([&] { EXPECT_FALSE(Infer(*server, SoftmaxRequest()).ok()); });
  EXPECT_TRUE(server->WaitUntil([](const SchedulerSnapshot& now) { return now.outstanding_requests == 1; }));
  EXPECT_EQ(server->Stop(), 72);
  caller.join();
}

TEST(InProcessServer, MayEndWithoutStopWhileARequestWaits) {
  auto server = InProcessServer::Start([](Options& options) {
    options.scheduler.max_queue_delay.assign(64, Nanos{600} * 1'000'000'000);
    options.self_test = false;
  });
  ASSERT_NE(server, nullptr);
  const auto stub = Connect(*server);
  std::thread caller([&stub] {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
    inference::ModelInferResponse reply;
    EXPECT_FALSE(stub->ModelInfer(&context, SoftmaxRequest(), &reply).ok());
  });
  EXPECT_TRUE(server->WaitUntil([](const SchedulerSnapshot& now) { return now.outstanding_requests == 1; }));
  server.reset();
  caller.join();
}

TEST(InProcessServer, HasAMetricsPortIfAsked) {
  const auto server = InProcessServer::Start([](Options& options) { options.metrics_address = "127.0.0.1:0"; });
  ASSERT_NE(server, nullptr);
  EXPECT_THAT(server->server().metrics_address(), AllOf(HasSubstr("127.0.0.1:"), Not(HasSubstr(":0"))));
}

/// From the fault on: UNAVAILABLE for the request, NOT_SERVING at once, and the end of the process with its own code.
void ExpectEndAfter(Fault fault, int code) {
  std::atomic<Fault> injected{Fault::kNone};
  const auto server = InProcessServer::Start({}, FaultyDevices(&injected));
  ASSERT_NE(server, nullptr);
  EXPECT_TRUE(Infer(*server, SoftmaxRequest()).ok());
  injected = fault;
  const grpc::Status status = Infer(*server, SoftmaxRequest());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("injected fault"));
  EXPECT_FALSE(server->server().health().ready());
  EXPECT_EQ(Probe(server->address(), kPatience).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Infer(*server, SoftmaxRequest()).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(server->WaitUntil([](const SchedulerSnapshot& now) { return now.devices[0].lost; }));
  EXPECT_EQ(static_cast<int>(server->server().Wait()), code);
  EXPECT_THAT(server->terminations(), ElementsAre(code));
}

TEST(DeviceLoss, ASickDeviceEndsTheProcessWithItsCode) { ExpectEndAfter(Fault::kLost, 70); }
TEST(DeviceLoss, AHungDeviceEndsTheProcessWithItsCode) { ExpectEndAfter(Fault::kHung, 71); }

TEST(DeviceLoss, DuringADrainStillSaysSo) {
  std::atomic<Fault> injected{Fault::kNone};
  const auto server = InProcessServer::Start([](Options& options) { options.drain_delay = absl::Seconds(30); },
                                             FaultyDevices(&injected));
  ASSERT_NE(server, nullptr);
  server->server().RequestStop();
  injected = Fault::kLost;
  EXPECT_FALSE(Infer(*server, SoftmaxRequest()).ok());
  EXPECT_EQ(server->server().Wait(), ExitCode::kDeviceLost);
}

TEST(SelfTest, AWrongResultKeepsTheServerFromStarting) {
  const std::atomic<Fault> injected{Fault::kWrongResults};
  ServerSeams seams;
  seams.set_up_devices = FaultyDevices(&injected);
  const auto server = Server::Create(TestOptions(), seams);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(server.status().message()),
              AllOf(HasSubstr("self-test of operator 'rms_norm' on device host"), HasSubstr("expected")));
}

TEST(Server, RefusesImpossibleOptionsAllAtOnce) {
  Options options = TestOptions();
  options.lanes = -1;
  options.rpc.completion_queues = 0;
  const auto server = Server::Create(options);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(server.status().message()), AllOf(HasSubstr("--lanes"), HasSubstr("--completion_queues")));
}

TEST(Server, SaysWhichAddressItCannotHave) {
  const auto first = InProcessServer::Start();
  ASSERT_NE(first, nullptr);
  Options options = TestOptions();
  options.rpc.addresses = {first->address()};
  const auto second = Server::Create(options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(first->address()));
}

TEST(Probe, SaysThatNobodyAnswers) {
  std::string address;
  {
    const auto server = InProcessServer::Start();
    ASSERT_NE(server, nullptr);
    address = server->address();
  }
  EXPECT_EQ(Probe(address, kPatience).code(), absl::StatusCode::kUnavailable);
}

/// The host, which counts its ends.
class MortalDevice final : public Device {
 public:
  MortalDevice(std::unique_ptr<Device> host, std::atomic<int>* ends) : host_(std::move(host)), ends_(ends) {}
  ~MortalDevice() override { ++*ends_; }
  const std::string& name() const override { return host_->name(); }
  int lane_count() const override { return host_->lane_count(); }
  SlabPool& slabs() override { return host_->slabs(); }
  void SetFinishedCallback(std::function<void(Batch&)> callback) override {
    host_->SetFinishedCallback(std::move(callback));
  }
  bool Run(Batch& batch) override { return host_->Run(batch); }

 private:
  const std::unique_ptr<Device> host_;
  std::atomic<int>* const ends_;
};

TEST(Staging, OutlivesTheServerWhileARepliesBytesAreHeld) {
  std::atomic<int> ends{0};
  Device* device = nullptr;  // never destroyed
  auto server = InProcessServer::Start({}, [&](Options options, const DeviceLossListener& on_fatal) {
    options.device = DeviceChoice::kHost;
    absl::StatusOr<DeviceSetup> setup = SetUpDevices(options, on_fatal);
    setup->devices[0] = std::make_unique<MortalDevice>(std::move(setup->devices[0]), &ends);
    device = setup->devices[0].get();
    return setup;
  });
  ASSERT_NE(server, nullptr);
  Slab* const held = device->slabs().Take(1);  // as gRPC holds that of a reply which nobody read
  EXPECT_EQ(server->Stop(), 0);
  server.reset();
  ASSERT_EQ(ends, 0) << "the memory of a reply went away under it";
  held->host()[0] = std::byte{1};
  held->Release();
}

TEST(Staging, GoesWithTheServerOtherwise) {
  std::atomic<int> ends{0};
  auto server = InProcessServer::Start({}, [&](Options options, const DeviceLossListener& on_fatal) {
    options.device = DeviceChoice::kHost;
    absl::StatusOr<DeviceSetup> setup = SetUpDevices(options, on_fatal);
    setup->devices[0] = std::make_unique<MortalDevice>(std::move(setup->devices[0]), &ends);
    return setup;
  });
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(server->Stop(), 0);
  EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace kernelwire::testing

// A whole server in the test's process, but for the device, which the test can hold.
#ifndef KERNELWIRE_SERVER_RPC_TESTING_RPC_FIXTURE_H_
#define KERNELWIRE_SERVER_RPC_TESTING_RPC_FIXTURE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "grpcpp/channel.h"
#include "gtest/gtest.h"
#include "health.grpc.pb.h"
#include "open_inference.grpc.pb.h"
#include "server/batch/scheduler.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/testing/held_device.h"

namespace kernelwire::testing {

/// How long a test waits for what must happen; only a failing test comes near it.
inline constexpr std::chrono::seconds kPatience(30);

/// Start it, then talk to it through the stubs. Its one model is "twice", version "1" (see twice_operator.h).
class RpcFixture : public ::testing::Test {
 protected:
  RpcFixture();
  ~RpcFixture() override;

  /// Changes to `options`, `scheduler_options` and `staging_bytes` are made before. The server is ready afterwards.
  void Start();

  /// A connection of its own, without a limit to replies; to the server's first address if none is given.
  std::shared_ptr<grpc::Channel> Connect() const { return Connect(server->addresses()[0]); }
  static std::shared_ptr<grpc::Channel> Connect(const std::string& address);
  inference::GRPCInferenceService::Stub& inference() { return *inference_; }
  grpc::health::v1::Health::Stub& health_stub() { return *health_stub_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  /// Waits, polling, until `condition` holds; fails the test if it never does.
  static void Await(const std::function<bool()>& condition, const char* what);
  /// After the test's calls: no call lives, no byte of the budget or of staging is left taken.
  void ExpectNothingLeft();
  /// Model statistics of "twice".
  inference::InferStatistics Statistics();
  /// What the server's metrics have counted of failed calls with that code, of any method.
  double CountedErrors(const std::string& code) const;

  RpcOptions options;
  SchedulerOptions scheduler_options;
  std::size_t staging_bytes = std::size_t{8} << 20;

  SteadyClock clock;
  Catalog catalog;
  Metrics metrics;
  HealthState health;
  std::unique_ptr<HeldDevice> device;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<RpcServer> server;

 private:
  void Poll();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool poll_wanted_ = false;
  bool stopping_ = false;
  std::thread poller_;

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> inference_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_stub_;
};

/// A context that gives up after kPatience, so that a lost reply fails a test instead of hanging it.
class PatientContext : public grpc::ClientContext {
 public:
  PatientContext() { set_deadline(std::chrono::system_clock::now() + kPatience); }
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_RPC_TESTING_RPC_FIXTURE_H_

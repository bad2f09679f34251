#include "tests/harness/in_process_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "kernels/registry.h"

namespace kernelwire::testing {
namespace {

constexpr std::chrono::seconds kPatience(60);

DeviceChoice DeviceOfEnvironment() {
  const char* wanted = std::getenv("KERNELWIRE_TEST_DEVICE");
  return wanted != nullptr && std::string_view(wanted) == "cuda" ? DeviceChoice::kCuda : DeviceChoice::kHost;
}

bool Await(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // between looks; a state that came is seen
  }
  return true;
}

}  // namespace

Options TestOptions() {
  Options options;
  options.rpc.addresses = {"127.0.0.1:0"};
  options.metrics_address.clear();
  options.device = DeviceOfEnvironment();
  options.staging_bytes = std::size_t{256} << 20;
  options.drain_delay = absl::ZeroDuration();
  return options;
}

std::unique_ptr<InProcessServer> InProcessServer::Start(const std::function<void(Options&)>& change,
                                                        const decltype(ServerSeams::set_up_devices)& set_up_devices) {
  std::signal(SIGPIPE, SIG_IGN);
  Options options = TestOptions();
  if (change) {
    change(options);
  }
  std::unique_ptr<InProcessServer> self(new InProcessServer);
  ServerSeams seams;
  seams.set_up_devices = set_up_devices;
  seams.terminate = [raw = self.get()](ExitCode code) {
    const std::lock_guard<std::mutex> lock(raw->mutex_);
    raw->terminations_.push_back(static_cast<int>(code));
  };
  auto server = Server::Create(options, seams);
  if (!server.ok()) {
    ADD_FAILURE() << "the server did not start: " << server.status();
    return nullptr;
  }
  self->server_ = *std::move(server);
  return self;
}

std::uint64_t InProcessServer::batches_run() const {
  std::uint64_t batches = 0;
  for (std::uint32_t op = 0; op < AllOperators().size(); ++op) {
    batches += server_->metrics().StatisticsOf(op).execution_count;
  }
  return batches;
}

int InProcessServer::Stop() {
  server_->RequestStop();
  return static_cast<int>(server_->Wait());
}

std::vector<int> InProcessServer::terminations() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return terminations_;
}

bool InProcessServer::WaitUntil(const std::function<bool(const SchedulerSnapshot&)>& state) const {
  return Await([&] { return state(server_->Snapshot()); });
}

bool InProcessServer::WaitUntilIdle() const {
  return Await([this] {
    const SchedulerSnapshot now = server_->Snapshot();
    bool idle = now.outstanding_requests == 0 && now.outstanding_bytes == 0 && server_->staging_used_bytes() == 0;
    for (const SchedulerSnapshot::PerDevice& device : now.devices) {
      idle = idle && device.waiting_requests == 0 && device.pending_batches == 0 && device.lanes_busy == 0;
    }
    return idle;
  });
}

}  // namespace kernelwire::testing

#include "server/server.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "kernels/core/status_macros.h"
#include "kernels/registry.h"
#include "server/build_info.h"
#include "server/observe/log.h"
#include "server/option_values.h"
#include "server/self_test.h"
#include "server/server_gauges.h"
#include "spdlog/spdlog.h"

namespace kernelwire {
namespace {

using std::chrono::seconds;

/// The first launch of a kernel loads it, which takes a GPU's driver its time.
constexpr seconds kSelfTestPatience(60);
/// Error replies of a lost device have this long to leave; then the process ends, whatever still waits for it.
constexpr seconds kLossGrace(2);
constexpr seconds kLossLimit(4);
/// Beyond --drain_timeout, for gRPC to wind up.
constexpr seconds kShutdownMargin(1);
/// For destructors. The metrics port alone takes 2 s to close after a scrape.
constexpr seconds kTakeApartLimit(15);

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const Operator& op : AllOperators()) {
    names.push_back(op.spec.name);
  }
  return names;
}

}  // namespace

Server::Server(const Options& options, const ServerSeams& seams)
    : options_(options),
      seams_(seams),
      watchdog_(seams.terminate),
      catalog_(Catalog::OfAllOperators()),
      metrics_(OperatorNames()),
      poller_(&clock_) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const Options& options, const ServerSeams& seams) {
  KERNELWIRE_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<Server> server(new Server(options, seams));
  const absl::Status started = server->Start();
  if (!started.ok()) {
    // A device that failed may keep its destructor waiting.
    server->watchdog_.Arm(kTakeApartLimit, ExitCode::kStartFailed, std::string(started.message()));
    server->TakeApart();
    server->watchdog_.Disarm();
    return started;
  }
  return server;
}

Server::~Server() { TakeApart(); }

absl::Status Server::Start() {
  KERNELWIRE_RETURN_IF_ERROR(StartScheduler());
  if (options_.self_test) {
    KERNELWIRE_RETURN_IF_ERROR(TestDevices());
  }
  counting_batches_.store(true);
  KERNELWIRE_RETURN_IF_ERROR(OpenPorts());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    health_.SetReady(!loss_.has_value());  // under the lock, so that a loss just now is not overruled
  }
  LogReady();
  return absl::OkStatus();
}

absl::Status Server::StartScheduler() {
  const auto on_fatal = [this](const absl::Status& status, bool hung) { DeviceLost(status, hung); };
  KERNELWIRE_ASSIGN_OR_RETURN(DeviceSetup setup, seams_.set_up_devices(options_, on_fatal));
  devices_ = std::move(setup.devices);
  gpus_ = std::move(setup.gpus);
  std::vector<Device*> devices;
  for (const std::unique_ptr<Device>& device : devices_) {
    devices.push_back(device.get());
    spdlog::info("device {}: {} lanes, {} of staging; {}", device->name(), device->lane_count(),
                 AbslUnparseFlag(ByteSize{static_cast<std::int64_t>(device->slabs().total_bytes())}), setup.why);
  }
  scheduler_ = std::make_unique<Scheduler>(
      options_.scheduler, &clock_, devices, [this](const Batch& batch) { CountBatch(batch); },
      [this] { poller_.Wake(); });
  poller_.Start([this] { return scheduler_->Poll(); });
  const std::lock_guard<std::mutex> lock(mutex_);
  scheduler_to_fail_ = scheduler_.get();
  return loss_.has_value() ? absl::UnavailableError(loss_->why) : absl::OkStatus();
}

absl::Status Server::TestDevices() {
  const Nanos began = clock_.Now();
  const std::vector<Operator>& operators = AllOperators();
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    for (std::size_t op = 0; op < operators.size(); ++op) {
      KERNELWIRE_RETURN_IF_ERROR(TestOperator(operators[op], static_cast<std::uint32_t>(op), device,
                                              devices_[device]->name(), scheduler_.get(), kSelfTestPatience));
    }
  }
  spdlog::info("self-test: {} operators give the known answer on {} device(s), in {} ms", operators.size(),
               devices_.size(), (clock_.Now() - began) / 1'000'000);
  return absl::OkStatus();
}

absl::Status Server::OpenPorts() {
  RpcOptions rpc = options_.rpc;
  rpc.server_version = ThisBuild().version;
  RpcParts parts;
  parts.catalog = &catalog_;
  parts.scheduler = scheduler_.get();
  parts.metrics = &metrics_;
  parts.health = &health_;
  parts.clock = &clock_;
  KERNELWIRE_ASSIGN_OR_RETURN(rpc_, RpcServer::Start(rpc, parts));
  addresses_ = rpc_->addresses();
  ports_ = rpc_->ports();
  AddServerGauges({&options_, &devices_, &gpus_, scheduler_.get(), rpc_.get(), &health_}, &metrics_);
  if (!options_.metrics_address.empty()) {
    KERNELWIRE_ASSIGN_OR_RETURN(exposer_, MetricsExposer::Start(options_.metrics_address, metrics_.collectable()));
    metrics_address_ = exposer_->address();
  }
  return absl::OkStatus();
}

void Server::LogReady() const {
  const auto name_of = [](std::string* out, const std::unique_ptr<Device>& device) { out->append(device->name()); };
  LogWithFields(spdlog::level::info, "ready",
                {{"address", absl::StrJoin(addresses(), ",")},
                 {"metrics_address", metrics_address()},
                 {"device", absl::StrJoin(devices_, ",", name_of)},
                 {"version", ThisBuild().version}});
}

void Server::CountBatch(const Batch& batch) {
  if (counting_batches_.load(std::memory_order_relaxed)) {
    metrics_.RecordBatch(batch.op_index(), batch.request_count(), static_cast<std::uint64_t>(batch.rows()),
                         batch.copy_in, batch.kernel, batch.copy_out);
  }
}

std::size_t Server::staging_used_bytes() const {
  std::size_t bytes = 0;
  for (const std::unique_ptr<Device>& device : devices_) {
    bytes += device->slabs().used_bytes();
  }
  return bytes;
}

void Server::RequestStop(bool at_once) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!std::exchange(stop_requested_, true)) {
      stop_at_once_ = at_once;
      health_.SetReady(false);
      changed_.notify_all();
      return;
    }
  }
  watchdog_.Fire(ExitCode::kForcedStop, "asked to stop for the second time");
}

/// From a thread of the device or of a request: it must not wait for either.
void Server::DeviceLost(const absl::Status& status, bool hung) {
  const ExitCode code = hung ? ExitCode::kDeviceHung : ExitCode::kDeviceLost;
  const std::string why(status.message());
  Scheduler* scheduler = nullptr;
  std::size_t devices = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!loss_.has_value()) {
      loss_ = Loss{code, why};
    }
    health_.SetReady(false);
    scheduler = scheduler_to_fail_;
    devices = scheduler == nullptr ? 0 : devices_.size();
  }
  watchdog_.Arm(kLossLimit, code, why);
  spdlog::critical("device lost: {}", why);
  // A sticky error poisons every GPU of the process.
  for (std::size_t i = 0; i < devices; ++i) {
    scheduler->FailDevice(i, status);
  }
  changed_.notify_all();
}

std::optional<Server::Loss> Server::loss() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return loss_;
}

ExitCode Server::Wait() {
  std::optional<Loss> lost;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stop_requested_ || loss_.has_value(); });
    const auto delay = absl::ToChronoNanoseconds(stop_at_once_ ? absl::ZeroDuration() : options_.drain_delay);
    if (!loss_.has_value()) {
      spdlog::info("stopping: not ready from now on; new calls are refused in {} ms",
                   delay / std::chrono::milliseconds(1));
      changed_.wait_for(lock, delay, [this] { return loss_.has_value(); });
    }
    lost = loss_;
  }
  return lost.has_value() ? EndAfterLoss(*lost) : StopOrderly();
}

ExitCode Server::StopOrderly() {
  const auto timeout = absl::ToChronoMilliseconds(options_.drain_timeout);
  spdlog::info("stopping: {} calls under way have {} ms to finish", rpc_->live_calls(), timeout.count());
  watchdog_.Arm(timeout + kShutdownMargin, ExitCode::kForcedStop, "calls or a device did not end in time");
  const int cut_off = rpc_->Shutdown(timeout);
  scheduler_->Drain();
  if (const std::optional<Loss> lost = loss(); lost.has_value()) {
    return EndAfterLoss(*lost);
  }
  watchdog_.Disarm();
  watchdog_.Arm(kTakeApartLimit, ExitCode::kForcedStop, "the parts did not end in time");
  TakeApart();
  watchdog_.Disarm();
  if (cut_off > 0) {
    spdlog::warn("stopped; {} calls were cut off by --drain_timeout", cut_off);
    return ExitCode::kForcedStop;
  }
  spdlog::info("stopped");
  return ExitCode::kOk;
}

ExitCode Server::EndAfterLoss(const Loss& loss) {
  rpc_->Shutdown(kLossGrace);
  watchdog_.Fire(loss.code, loss.why);
  return loss.code;
}

namespace {

/// Until the process ends, and reachable, so that it is no leak.
template <typename T>
void KeepForEver(std::unique_ptr<T> object) {
  static auto* const kept = new std::vector<std::unique_ptr<T>>;
  kept->push_back(std::move(object));
}

/// gRPC may hold slices of replies that no client read for a moment after its own end. A device whose staging they
/// point into stays; whether there is one. A device that still runs a batch goes like any other: its destructor waits
/// for the batch, which has the staging.
bool LeaveDevicesInUse(const Scheduler& scheduler, std::vector<std::unique_ptr<Device>>* devices) {
  const auto give_up = std::chrono::steady_clock::now() + seconds(1);
  for (const std::unique_ptr<Device>& device : *devices) {
    device->slabs().AwaitUnused(give_up - std::chrono::steady_clock::now());
  }
  const SchedulerSnapshot now = scheduler.Snapshot();
  bool any = false;
  for (std::size_t i = 0; i < devices->size(); ++i) {
    const std::size_t bytes = (*devices)[i]->slabs().used_bytes();
    if (bytes != 0 && now.devices[i].lanes_busy == 0) {
      spdlog::warn("device {}: {} bytes of staging are still in replies that gRPC holds; the device is not taken apart",
                   (*devices)[i]->name(), bytes);
      KeepForEver(std::move((*devices)[i]));
      any = true;
    }
  }
  return any;
}

}  // namespace

/// In the order in which nothing is used after its end. The devices go before the scheduler, since their threads call
/// it; it does not touch them any more.
void Server::TakeApart() {
  exposer_.reset();
  if (rpc_ != nullptr) {
    rpc_->Shutdown(std::chrono::milliseconds(0));
  }
  poller_.Stop();
  std::vector<std::unique_ptr<Device>> devices;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    scheduler_to_fail_ = nullptr;  // a device may be telling of its loss right now; its destructor waits for that
    devices.swap(devices_);
  }
  rpc_.reset();
  if (scheduler_ != nullptr && LeaveDevicesInUse(*scheduler_, &devices)) {
    KeepForEver(std::move(scheduler_));  // their staging tells it what comes back
  }
  devices.clear();
  scheduler_.reset();
}

}  // namespace kernelwire

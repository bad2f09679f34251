// The server: all parts, made in order, joined, and taken apart again. The one file that sees every folder is
// server.cc.
#ifndef KERNELWIRE_SERVER_SERVER_H_
#define KERNELWIRE_SERVER_SERVER_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/batch/clock.h"
#include "server/batch/device.h"
#include "server/batch/scheduler.h"
#include "server/catalog/catalog.h"
#include "server/device_setup.h"
#include "server/exec/poller.h"
#include "server/exit_code.h"
#include "server/exit_watchdog.h"
#include "server/observe/exposer.h"
#include "server/observe/metrics.h"
#include "server/options.h"
#include "server/rpc/health.h"
#include "server/rpc/rpc_server.h"

namespace kernelwire {

/// What tests put in place of the real thing.
struct ServerSeams {
  /// Ends the process when an orderly end is impossible: a device is lost or hangs, or a stop takes too long.
  ExitWatchdog::Terminate terminate = TerminateProcess;
  std::function<absl::StatusOr<DeviceSetup>(const Options&, const DeviceLossListener&)> set_up_devices = SetUpDevices;
};

/// A server that is ready for requests. Several can live in one process. Needs SIGPIPE to be ignored; installs no
/// handlers and ends the process through ServerSeams::terminate alone.
class Server {
 public:
  /// Makes the devices, runs the self-test, opens the ports, says SERVING, and logs "ready" with the addresses.
  /// `terminate` ends the process when an orderly end is impossible: a device is lost or hangs, or a stop takes too
  /// long. Errors: those of CheckOptions, of the devices, of the self-test and of the ports.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const Options& options, const ServerSeams& seams = {});
  /// Stops at once, cancelling calls under way, if Wait has not stopped it before.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Where gRPC listens, in the order of the options, with the ports that the system chose.
  const std::vector<std::string>& addresses() const { return addresses_; }
  const std::vector<int>& ports() const { return ports_; }
  /// Where metrics are; empty when they are off.
  const std::string& metrics_address() const { return metrics_address_; }
  const Metrics& metrics() const { return metrics_; }
  const HealthState& health() const { return health_; }
  SchedulerSnapshot Snapshot() const { return scheduler_->Snapshot(); }
  /// In slabs of batches and of replies that gRPC still holds, on all devices.
  std::size_t staging_used_bytes() const;

  /// Asks for an orderly stop and returns: NOT_SERVING, then --drain_delay (unless `at_once`), then Wait does the rest.
  /// Asked a second time, it ends the process with kForcedStop. Any thread.
  void RequestStop(bool at_once = false);

  /// Waits until a stop is asked for or a device is lost, and stops: new calls are refused, those under way finish.
  /// Afterwards only addresses, ports, statistics (no scrape) and health are left. By one thread.
  /// Returns kOk, or kForcedStop when calls were cut off by --drain_timeout; with a `terminate` that returns, also
  /// kDeviceLost and kDeviceHung.
  ExitCode Wait();

 private:
  struct Loss {
    ExitCode code;
    std::string why;
  };

  Server(const Options& options, const ServerSeams& seams);
  absl::Status Start();
  absl::Status StartScheduler();
  absl::Status TestDevices();
  absl::Status OpenPorts();
  void LogReady() const;
  void DeviceLost(const absl::Status& status, bool hung);
  void CountBatch(const Batch& batch);
  ExitCode StopOrderly();
  ExitCode EndAfterLoss(const Loss& loss);
  std::optional<Loss> loss() const;
  void TakeApart();

  const Options options_;
  const ServerSeams seams_;
  ExitWatchdog watchdog_;  // first: it watches over the end of all others
  const SteadyClock clock_;
  const Catalog catalog_;
  Metrics metrics_;
  HealthState health_;
  Poller poller_;
  std::vector<DeviceInfo> gpus_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<MetricsExposer> exposer_;
  // Constant once Create has returned.
  std::vector<std::string> addresses_;
  std::vector<int> ports_;
  std::string metrics_address_;
  std::atomic<bool> counting_batches_{false};  // not those of the self-test

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Scheduler* scheduler_to_fail_ = nullptr;  // scheduler_, once it can be told of a loss
  bool stop_requested_ = false;
  bool stop_at_once_ = false;
  std::optional<Loss> loss_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_SERVER_H_

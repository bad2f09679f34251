// A whole server inside a test's process, on ports of the system's choice. Computes on the host, or where the
// environment variable KERNELWIRE_TEST_DEVICE = host, cuda says.
#ifndef KERNELWIRE_TESTS_HARNESS_IN_PROCESS_SERVER_H_
#define KERNELWIRE_TESTS_HARNESS_IN_PROCESS_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/options.h"
#include "server/server.h"

namespace kernelwire::testing {

/// The options that Start begins with: port 0 of 127.0.0.1, no metrics port (it takes 2 s to close), no drain delay,
/// the device of the environment.
Options TestOptions();

/// The destructor stops the server at once, if Stop did not before.
class InProcessServer {
 public:
  /// Starts one with TestOptions, changed by `change`. Null, and the test has failed, when it does not start.
  /// `set_up_devices` may put other devices in place of the real ones.
  static std::unique_ptr<InProcessServer> Start(
      const std::function<void(Options&)>& change = {},
      const decltype(ServerSeams::set_up_devices)& set_up_devices = SetUpDevices);

  Server& server() { return *server_; }
  /// "127.0.0.1:port" of gRPC.
  std::string address() const { return server_->addresses().front(); }
  /// Batches that have run since the start.
  std::uint64_t batches_run() const;

  /// An orderly stop, as SIGTERM asks for one; the exit code that the process would have.
  int Stop();
  /// What would have ended the process: exit codes, in order. Empty in an orderly life.
  std::vector<int> terminations() const;

  /// Waits for a state of the scheduler, up to a minute; whether it came.
  bool WaitUntil(const std::function<bool(const SchedulerSnapshot&)>& state) const;
  /// Waits until nothing is admitted, queued or running, and every slab is back.
  bool WaitUntilIdle() const;

 private:
  InProcessServer() = default;

  mutable std::mutex mutex_;
  std::vector<int> terminations_;
  std::unique_ptr<Server> server_;  // last: it may still terminate while it goes
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_TESTS_HARNESS_IN_PROCESS_SERVER_H_

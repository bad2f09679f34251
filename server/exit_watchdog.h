// Ends the process when an orderly end takes too long. It is the only part that may: a kernel that hangs cannot be
// called back, and gRPC's shutdown and CUDA's clean-up wait for it without bound.
#ifndef KERNELWIRE_SERVER_EXIT_WATCHDOG_H_
#define KERNELWIRE_SERVER_EXIT_WATCHDOG_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "server/exit_code.h"

namespace kernelwire {

/// Thread-safe. Has one thread, which waits.
class ExitWatchdog {
 public:
  /// Ends the process at once, without destructors; tests inject another. Called from any thread.
  using Terminate = std::function<void(ExitCode)>;

  /// `terminate` must not call the watchdog.
  explicit ExitWatchdog(Terminate terminate);
  ~ExitWatchdog();
  ExitWatchdog(const ExitWatchdog&) = delete;
  ExitWatchdog& operator=(const ExitWatchdog&) = delete;

  /// After `delay`: logs `why` and terminates with `code`. Of several, the earliest counts, the others are forgotten.
  void Arm(std::chrono::nanoseconds delay, ExitCode code, const std::string& why);
  /// The end was orderly. Returns false when it has fired already.
  bool Disarm();
  /// Logs and terminates in the calling thread, at once.
  void Fire(ExitCode code, const std::string& why);

 private:
  struct Alarm {
    std::chrono::steady_clock::time_point due;
    ExitCode code;
    std::string why;
  };
  void Run();

  const Terminate terminate_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Alarm> alarm_;
  bool fired_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

/// _exit: no destructors, since those of CUDA and gRPC may hang. The log flushes every line.
void TerminateProcess(ExitCode code);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXIT_WATCHDOG_H_

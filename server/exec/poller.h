// The thread that calls Scheduler::Poll: when somebody wants it, and when the scheduler asked for it.
#ifndef KERNELWIRE_SERVER_EXEC_POLLER_H_
#define KERNELWIRE_SERVER_EXEC_POLLER_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "server/batch/clock.h"

namespace kernelwire {

/// A scheduler needs Wake to be made and the poller needs the scheduler to poll, hence the order: make a poller, make
/// the scheduler with Wake as its `poll_wanted`, Start the poller, and Stop it before the scheduler goes.
class Poller {
 public:
  /// `clock` is the one that the answers of `poll` are told by; it outlives the poller.
  explicit Poller(const Clock* clock) : clock_(clock) {}
  ~Poller() { Stop(); }
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// Starts the thread, which calls `poll` at once and then after every Wake, and when the time comes that the last
  /// call returned (kNever: only after a Wake). Once.
  void Start(std::function<Nanos()> poll);

  /// Has `poll` called after this, if it is not running anyway, for what was done before this. Any thread, also before
  /// Start and after Stop. Never waits for `poll`; several calls may be answered by one.
  void Wake();

  /// Returns when `poll` is not running and will not be called again. Harmless twice. Not from within `poll`.
  void Stop();

 private:
  void Run(const std::function<Nanos()>& poll);
  bool WaitUntil(Nanos next);

  const Clock* const clock_;
  std::atomic<bool> wanted_{false};
  std::mutex mutex_;  // held for moments only, never while `poll` runs
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXEC_POLLER_H_

// SIGTERM and SIGINT, taken by a thread that waits for them: nothing runs inside a signal handler.
#ifndef KERNELWIRE_SERVER_STOP_SIGNALS_H_
#define KERNELWIRE_SERVER_STOP_SIGNALS_H_

#include <atomic>
#include <functional>
#include <thread>

namespace kernelwire {

/// Blocks both signals in the calling thread and in all that it starts afterwards: make it before any other thread.
/// One object a process. The destructor stops listening and leaves them blocked.
class StopSignals {
 public:
  /// `listener` is called with each signal's number, from the listening thread, one call at a time.
  explicit StopSignals(std::function<void(int)> listener);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_STOP_SIGNALS_H_

#include "server/stop_signals.h"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace kernelwire {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

StopSignals::StopSignals(std::function<void(int)> listener) {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this, listener = std::move(listener)] {
    const sigset_t awaited = Signals();
    int number = 0;
    while (sigwait(&awaited, &number) == 0 && !stopping_.load()) {
      listener(number);
    }
  });
}

StopSignals::~StopSignals() {
  stopping_.store(true);
  // To this thread alone, which blocks the signal and awaits it: it ends the sigwait and terminates nothing.
  pthread_kill(thread_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread): blocked, as said above
  thread_.join();
}

}  // namespace kernelwire

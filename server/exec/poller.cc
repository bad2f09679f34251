#include "server/exec/poller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/exec/thread_name.h"

namespace kernelwire {
namespace {

/// One sleep at most; a longer wait is made of several. Keeps the arithmetic of the system's clock away from kNever.
constexpr Nanos kLongestSleep = 60'000'000'000;

}  // namespace

void Poller::Start(std::function<Nanos()> poll) {
  thread_ = std::thread([this, poll = std::move(poll)] {
    NameThisThread("kw-poller");
    Run(poll);
  });
}

void Poller::Wake() {
  if (wanted_.exchange(true, std::memory_order_acq_rel)) {
    return;  // the thread has been told and has not begun to poll since
  }
  {
    // Between the thread's look at wanted_ and its sleep lies the mutex: taking it puts this call before or after both.
    const std::lock_guard<std::mutex> lock(mutex_);
  }
  changed_.notify_one();
}

void Poller::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Poller::Run(const std::function<Nanos()>& poll) {
  Nanos next = 0;
  do {
    // Lowered before the call, so that a Wake during it is answered by another one; acquire, so that the call sees what
    // the waking thread had done.
    wanted_.exchange(false, std::memory_order_acq_rel);
    next = poll();
  } while (WaitUntil(next));
}

/// False: the poller is being stopped.
bool Poller::WaitUntil(Nanos next) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_ && !wanted_.load(std::memory_order_relaxed)) {
    const Nanos now = clock_->Now();
    if (next <= now) {
      break;
    }
    changed_.wait_for(lock, std::chrono::nanoseconds(std::min(next - now, kLongestSleep)));
  }
  return !stopping_;
}

}  // namespace kernelwire

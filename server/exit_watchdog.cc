#include "server/exit_watchdog.h"

#include <unistd.h>

#include <utility>

#include "spdlog/spdlog.h"

namespace kernelwire {

void TerminateProcess(ExitCode code) { _exit(static_cast<int>(code)); }

ExitWatchdog::ExitWatchdog(Terminate terminate) : terminate_(std::move(terminate)), thread_([this] { Run(); }) {}

ExitWatchdog::~ExitWatchdog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ExitWatchdog::Arm(std::chrono::nanoseconds delay, ExitCode code, const std::string& why) {
  const auto due = std::chrono::steady_clock::now() + delay;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (alarm_.has_value() && alarm_->due <= due) {
      return;
    }
    alarm_ = Alarm{due, code, why};
  }
  changed_.notify_all();
}

bool ExitWatchdog::Disarm() {
  const std::lock_guard<std::mutex> lock(mutex_);
  alarm_.reset();
  return !fired_;
}

void ExitWatchdog::Fire(ExitCode code, const std::string& why) {
  spdlog::critical("ending with code {}: {}", static_cast<int>(code), why);
  terminate_(code);
}

void ExitWatchdog::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    if (!alarm_.has_value()) {
      changed_.wait(lock);
      continue;
    }
    const auto due = alarm_->due;
    if (std::chrono::steady_clock::now() < due) {
      changed_.wait_until(lock, due);
      continue;  // another alarm may have come first
    }
    const Alarm alarm = *std::exchange(alarm_, std::nullopt);
    fired_ = true;
    lock.unlock();
    Fire(alarm.code, alarm.why);
    lock.lock();
  }
}

}  // namespace kernelwire

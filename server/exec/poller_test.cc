#include "server/exec/poller.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace kernelwire {
namespace {

/// What a poll function has seen, for a test to wait on.
class Calls {
 public:
  void Add() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void WaitFor(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }
  int count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

TEST(PollerTest, PollsAtStartAndAfterEveryWake) {
  const SteadyClock clock;
  Calls calls;
  Poller poller(&clock);
  poller.Start([&] {
    calls.Add();
    return kNever;
  });
  calls.WaitFor(1);
  for (int i = 2; i < 200; ++i) {
    poller.Wake();
    calls.WaitFor(i);
  }
}

TEST(PollerTest, KeepsTheTimeThatPollAskedFor) {
  constexpr Nanos kPeriod = 2'000'000;
  const SteadyClock clock;
  Calls calls;
  Nanos due = 0;
  Poller poller(&clock);
  poller.Start([&] {
    EXPECT_GE(clock.Now(), due) << "called before its time, though nobody woke it";
    calls.Add();
    return due = clock.Now() + kPeriod;
  });
  calls.WaitFor(5);
}

TEST(PollerTest, ATimeThatHasPassedMeansAtOnce) {
  const SteadyClock clock;
  Calls calls;
  Poller poller(&clock);
  poller.Start([&] {
    calls.Add();
    return calls.count() < 10 ? Nanos{0} : kNever;
  });
  calls.WaitFor(10);
}

TEST(PollerTest, WakeBeforeStartAndAfterStopIsHarmless) {
  const SteadyClock clock;
  Calls calls;
  Poller poller(&clock);
  poller.Wake();
  poller.Start([&] {
    calls.Add();
    return kNever;
  });
  calls.WaitFor(1);
  poller.Stop();
  poller.Stop();
  const int count = calls.count();
  poller.Wake();
  EXPECT_EQ(calls.count(), count);
}

TEST(PollerTest, AWakeDuringPollBringsAnother) {
  const SteadyClock clock;
  Calls calls;
  Poller poller(&clock);
  poller.Start([&] {
    if (calls.count() < 50) {
      poller.Wake();
    }
    calls.Add();
    return kNever;
  });
  calls.WaitFor(51);
}

TEST(PollerTest, PollSeesWhatWasDoneBeforeAnyWake) {
  constexpr int kThreads = 4;
  constexpr int kEach = 3000;
  const SteadyClock clock;
  std::vector<std::unique_ptr<std::atomic<int>>> posted;
  for (int t = 0; t < kThreads; ++t) {
    posted.push_back(std::make_unique<std::atomic<int>>(0));
  }
  std::atomic<int> seen{0};
  Poller poller(&clock);
  poller.Start([&] {
    int sum = 0;
    for (const auto& one : posted) {
      sum += one->load(std::memory_order_relaxed);
    }
    seen.store(sum);
    return kNever;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        posted[static_cast<std::size_t>(t)]->fetch_add(1, std::memory_order_relaxed);
        poller.Wake();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  while (seen.load() != kThreads * kEach) {  // for ever, if the last wake was lost
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace kernelwire

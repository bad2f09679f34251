// Nobody waits beside a lane or memory that is free: what must be noticed at once, or told the poller.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/batch/scheduler.h"
#include "server/batch/testing/fakes.h"

namespace kernelwire {
namespace {

using testing::FakeDevice;
using testing::FakeRequest;
using testing::kMillisecond;

/// Calls a hook between the look at the time and the answer.
class HookedClock final : public Clock {
 public:
  Nanos Now() const override {
    const Nanos now = now_.load();
    if (const auto hook = std::exchange(hook_, nullptr)) {
      hook();
    }
    return now;
  }
  void Advance(Nanos nanos) { now_ += nanos; }
  void SetHook(std::function<void()> hook) { hook_ = std::move(hook); }

 private:
  std::atomic<Nanos> now_{1'000'000'000};
  mutable std::function<void()> hook_;
};

TEST(SchedulerWakeTest, ARequestThatComesWhileALaneComesFreeRuns) {
  HookedClock clock;
  FakeDevice device(1, 4 << 20, 4096);  // room for both batches: neither waits for the other's memory
  device.hold = true;
  SchedulerOptions options;
  options.max_queue_delay = {0};  // as the server sets it: a batch is ready from the time of its opening on
  Scheduler scheduler(options, &clock, std::vector<Device*>{&device}, nullptr, [] {});
  FakeRequest first(1, 1, 100);
  FakeRequest second(2, 2, 100);
  ASSERT_TRUE(scheduler.Submit(&first).ok());
  std::thread caller;
  clock.SetHook([&] {
    clock.Advance(kMillisecond);
    std::promise<void> submitted;
    std::future<void> done = submitted.get_future();
    caller = std::thread([&scheduler, &second, submitted = std::move(submitted)]() mutable {
      EXPECT_TRUE(scheduler.Submit(&second).ok());
      submitted.set_value();
    });
    // Where the lane comes free under the lock, the request comes after that, and this is only a pause.
    done.wait_for(std::chrono::milliseconds(200));
  });
  ASSERT_TRUE(device.FinishOne());
  caller.join();
  EXPECT_EQ(device.running(), 1u);
  while (device.FinishOne()) {
  }
}

TEST(SchedulerWakeTest, ThoseBehindOneThatIsCancelledAreLookedAt) {
  testing::FakeClock clock;
  FakeDevice device(1, 1 << 16, 4096);
  device.hold = true;
  int polls_wanted = 0;
  Scheduler scheduler({}, &clock, std::vector<Device*>{&device}, nullptr, [&] { ++polls_wanted; });
  Slab* const unread = device.slabs().Take(1 << 15);  // as a reply holds it
  FakeRequest large(1, 1, 20'000);
  FakeRequest small(2, 2, 100);
  small.on_placed = [&] { scheduler.ResumeStaging(&small); };
  ASSERT_TRUE(scheduler.Submit(&large).ok());
  ASSERT_TRUE(scheduler.Submit(&small).ok());
  ASSERT_EQ(device.running(), 0u);
  polls_wanted = 0;
  scheduler.Cancel(&large);
  EXPECT_GT(polls_wanted, 0);
  scheduler.Poll();
  EXPECT_EQ(device.running(), 1u);
  while (device.FinishOne()) {
  }
  unread->Release();
}

}  // namespace
}  // namespace kernelwire

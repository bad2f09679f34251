// The scheduler under random interleavings. Every point at which it calls out without its lock (copying, completing,
// running, placing) may run other operations in between, as other threads would; the seed decides. And once with real
// threads, for the thread sanitizer.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/batch/scheduler.h"
#include "server/batch/testing/fakes.h"

namespace kernelwire {
namespace {

using testing::FakeClock;
using testing::FakeDevice;
using testing::FakeRequest;

int SeedCount() {
  const char* text = std::getenv("KERNELWIRE_SEEDS");
  return text == nullptr ? 10000 : std::atoi(text);
}

/// One simulated life of a scheduler.
class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed) {
    const int device_count = Draw(1, 2);
    std::vector<Device*> devices;
    for (int i = 0; i < device_count; ++i) {
      devices_.push_back(std::make_unique<FakeDevice>(Draw(1, 3), std::size_t{1} << Draw(15, 18), std::size_t{4096}));
      devices_.back()->on_run = [this](Batch&) { Interleave(); };
      devices.push_back(devices_.back().get());
    }
    SchedulerOptions options;
    options.batch_slab_bytes = std::size_t{1} << Draw(12, 15);
    options.max_batch_requests = static_cast<std::size_t>(Draw(1, 8));
    options.max_outstanding_requests = Draw(4, 64);
    options.max_outstanding_bytes = 1 << Draw(14, 20);
    options.max_queue_delay = {Draw(0, 2) == 0 ? Nanos{1000} : Nanos{0}};
    scheduler_ = std::make_unique<Scheduler>(options, &clock_, devices, nullptr, [this] { poll_wanted_ = true; });
  }

  /// Requests that were cut.
  int cut() const { return cut_; }

  void Run() {
    const int steps = Draw(20, 120);
    for (int i = 0; i < steps; ++i) {
      Step();
    }
    if (Draw(0, 9) == 0) {
      scheduler_->FailDevice(0, absl::UnavailableError("device lost"));
    }
    scheduler_->Drain();
    Settle();
    Check();
  }

 private:
  int Draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  void Interleave() {
    if (depth_ >= 3) {
      return;
    }
    ++depth_;
    for (int i = Draw(0, 2); i > 0; --i) {
      Step();
    }
    --depth_;
  }

  void Step() {
    switch (Draw(0, 9)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return SubmitOne();
      case 4:
        return CancelOne();
      case 5:
        return clock_.Advance(Draw(1, 2000));
      case 6:
        return LetGoOne();
      case 7:
        return PollOnce();
      case 8:
        return ResumeOne();
      default:
        devices_[static_cast<std::size_t>(Draw(0, 1)) % devices_.size()]->FinishOne(
            static_cast<std::size_t>(Draw(0, 5)));
    }
  }

  void SubmitOne() {
    const auto id = requests_.size();
    const auto size = static_cast<std::size_t>(Draw(0, 9) == 0 ? Draw(1, 40000) : Draw(1, 2000));
    const auto row_bytes = static_cast<std::size_t>(Draw(0, 1) == 0 ? 0 : Draw(1, 2000));
    const std::size_t bytes = row_bytes == 0 ? size : (size / row_bytes + 1) * row_bytes;
    requests_.push_back(std::make_unique<FakeRequest>(id, static_cast<std::uint64_t>(Draw(1, 3)), bytes, row_bytes));
    FakeRequest* request = requests_.back().get();
    accepted_.push_back(false);
    cancel_asked_.push_back(false);
    if (Draw(0, 3) == 0) {
      request->deadline = clock_.Now() + Draw(1, 5000);
    }
    request->priority = static_cast<std::uint32_t>(Draw(0, 3));
    if (Draw(0, 19) == 0) {
      request->copy_status = absl::InvalidArgumentError("bad value");
      request->failing_copy = Draw(1, 4);
    }
    request->on_copy = [this] { Interleave(); };
    request->on_placed = [this, request] { placed_.push_back(request); };
    request->on_complete = [this, request](const Completion& completion) { Completed(request, completion); };
    for (auto& device : devices_) {
      device->hold = Draw(0, 2) != 0;
    }
    // Completion may come inside Submit: it only counts if Submit says OK.
    accepted_[id] = true;
    const absl::Status status = scheduler_->Submit(request);
    if (!status.ok()) {
      EXPECT_FALSE(request->completed()) << "refused and completed";
      accepted_[id] = false;
    }
  }

  void Completed(FakeRequest* request, const Completion& completion) {
    for (const CompletedPart& part : completion.parts) {
      if (Draw(0, 2) == 0) {
        part.slab->AddReference();
        held_.push_back(part.slab);  // a slow reader
      }
    }
    cut_ += request->copies > 1 ? 1 : 0;
    scheduler_->ReleaseBudget(*request);
    Interleave();
  }

  void CancelOne() {
    if (requests_.empty()) {
      return;
    }
    const auto id = static_cast<std::size_t>(Draw(0, static_cast<int>(requests_.size()) - 1));
    cancel_asked_[id] = true;
    scheduler_->Cancel(requests_[id].get());
  }

  void LetGoOne() {
    if (!held_.empty()) {
      Slab* slab = held_.back();
      held_.pop_back();
      slab->Release();
    }
  }

  void PollOnce() {
    if (!polling_) {  // one thread at a time, as the contract says
      polling_ = true;
      poll_wanted_ = false;
      scheduler_->Poll();
      polling_ = false;
    }
  }

  void ResumeOne() {
    if (!placed_.empty()) {
      FakeRequest* request = placed_.back();
      placed_.pop_back();
      scheduler_->ResumeStaging(request);
    }
  }

  bool AnyFinished() {
    bool any = false;
    for (auto& device : devices_) {
      any = device->FinishOne() || any;
    }
    return any;
  }

  /// Lets everything end without new work: only events that would come by themselves.
  void Settle() {
    depth_ = 3;
    for (int idle = 0; idle < 3;) {
      const bool busy = !placed_.empty() || !held_.empty() || poll_wanted_;
      ResumeOne();
      LetGoOne();
      if (poll_wanted_) {
        PollOnce();
      }
      idle = AnyFinished() || busy ? 0 : idle + 1;
      if (idle == 2) {
        clock_.Advance(2000);  // queue delays
        PollOnce();
      }
    }
  }

  void Check() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const FakeRequest& request = *requests_[i];
      ASSERT_EQ(request.completed(), accepted_[i]) << "request " << i << " lost";
      if (request.completed() && request.status.code() == absl::StatusCode::kCancelled) {
        EXPECT_TRUE(cancel_asked_[i]) << "request " << i << " cancelled by nobody";
      }
    }
    const SchedulerSnapshot snapshot = scheduler_->Snapshot();
    EXPECT_EQ(snapshot.outstanding_bytes, 0);
    EXPECT_EQ(snapshot.outstanding_requests, 0);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      EXPECT_EQ(snapshot.devices[i].lanes_busy, 0);
      EXPECT_EQ(snapshot.devices[i].waiting_requests, 0);
      EXPECT_EQ(snapshot.devices[i].pending_batches, 0);
      EXPECT_EQ(devices_[i]->slabs().used_bytes(), 0u);
    }
  }

  std::mt19937_64 random_;
  FakeClock clock_;
  std::vector<std::unique_ptr<FakeDevice>> devices_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<FakeRequest>> requests_;
  std::vector<bool> accepted_;
  std::vector<bool> cancel_asked_;
  std::vector<FakeRequest*> placed_;
  std::vector<Slab*> held_;
  int cut_ = 0;
  bool poll_wanted_ = false;
  bool polling_ = false;
  int depth_ = 0;
};

TEST(SchedulerInterleaving, NothingIsLostOrDoubled) {
  const int seeds = SeedCount();
  std::cout << "seeds 1 to " << seeds << "\n";
  int cut = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation(static_cast<std::uint64_t>(seed));
    simulation.Run();
    cut += simulation.cut();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(cut, seeds);
}

TEST(SchedulerInterleaving, RealThreadsAgree) {
  constexpr int kThreads = 4;
  constexpr int kRequests = 2000;
  SteadyClock clock;
  FakeDevice device(2, 1 << 24, 4096);
  device.hold = true;
  std::atomic<bool> stop{false};
  SchedulerOptions options;
  options.batch_slab_bytes = 1 << 16;
  Scheduler scheduler(options, &clock, {&device}, nullptr, [] {});
  std::thread finisher([&] {
    while (!stop.load()) {
      if (!device.FinishOne()) {
        std::this_thread::yield();
      }
    }
  });
  std::thread poller([&] {
    while (!stop.load()) {
      scheduler.Poll();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> clients;
  std::vector<std::vector<std::unique_ptr<FakeRequest>>> requests(kThreads);  // outlive every thread
  std::atomic<int> completed{0};
  clients.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    clients.emplace_back([&, t] {
      auto& mine = requests[static_cast<std::size_t>(t)];
      for (int i = 0; i < kRequests; ++i) {
        const auto id = static_cast<std::uint64_t>(t) * kRequests + static_cast<std::uint64_t>(i);
        const std::size_t row_bytes = id % 50 == 0 ? 1000 : 0;  // some are cut
        const std::size_t bytes = row_bytes == 0 ? 64 + id % 512 : row_bytes * (100 + id % 100);
        mine.push_back(std::make_unique<FakeRequest>(id, id % 3, bytes, row_bytes));
        FakeRequest* request = mine.back().get();
        request->on_placed = [&scheduler, request] { scheduler.ResumeStaging(request); };
        request->on_complete = [&scheduler, &completed, request](const Completion&) {
          scheduler.ReleaseBudget(*request);
          ++completed;
        };
        ASSERT_TRUE(scheduler.Submit(request).ok());
        if (i % 10 == 0) {
          scheduler.Cancel(request);
        }
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  while (completed.load() < kThreads * kRequests) {
    std::this_thread::yield();
  }
  stop = true;
  finisher.join();
  poller.join();
  EXPECT_EQ(scheduler.Snapshot().outstanding_requests, 0);
}

}  // namespace
}  // namespace kernelwire

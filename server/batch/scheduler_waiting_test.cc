// A long line of requests that wait for a slab: whoever leaves it from anywhere, the others keep their order.
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/batch/scheduler.h"
#include "server/batch/testing/fakes.h"

namespace kernelwire {
namespace {

using testing::FakeClock;
using testing::FakeDevice;
using testing::FakeRequest;
using testing::kMillisecond;

constexpr std::uint64_t kFirstSeed = 51;

/// One lane, and one slab that a single request fills: all others wait.
class SchedulerWaitingTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kSlabBytes = 1 << 14;
  static constexpr std::size_t kRequestBytes = 5000;

  SchedulerWaitingTest() : device_(1, kSlabBytes, 4096) {
    device_.hold = true;
    SchedulerOptions options;
    options.batch_slab_bytes = kSlabBytes;
    scheduler_ = std::make_unique<Scheduler>(options, &clock_, std::vector<Device*>{&device_}, nullptr, [] {});
    Submit(Make());
  }

  FakeRequest* Make() {
    const std::size_t id = requests_.size();
    requests_.push_back(std::make_unique<FakeRequest>(id, id, kRequestBytes));
    FakeRequest* request = requests_.back().get();
    request->on_placed = [this, request] { scheduler_->ResumeStaging(request); };
    request->on_complete = [this, request](const Completion& /*completion*/) { ended_.push_back(request); };
    return request;
  }
  void Submit(FakeRequest* request) {
    const absl::Status status = scheduler_->Submit(request);
    ASSERT_TRUE(status.ok()) << status;
  }
  FakeRequest* Waiting(Nanos patience) {
    FakeRequest* request = Make();
    request->deadline = clock_.Now() + patience;
    Submit(request);
    return request;
  }
  void ServeAll() {
    while (device_.FinishOne()) {
      scheduler_->Poll();
    }
  }
  std::int64_t waiting() const { return scheduler_->Snapshot().devices[0].waiting_requests; }

  FakeClock clock_;
  FakeDevice device_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<FakeRequest>> requests_;
  std::vector<FakeRequest*> ended_;  // in the order of their ends
};

TEST_F(SchedulerWaitingTest, WhoeverLeavesTheOthersKeepTheirOrder) {
  std::cout << "seed " << kFirstSeed << "\n";
  std::mt19937_64 random(kFirstSeed);
  std::vector<FakeRequest*> line;
  for (int i = 0; i < 1000; ++i) {
    // Few deadlines and priorities, so that many have the same rank. The hundreds of milliseconds are priority levels.
    FakeRequest* request = Make();
    request->deadline = clock_.Now() + static_cast<Nanos>(1 + random() % 5) * 50 * kMillisecond;
    request->priority = static_cast<std::uint32_t>(1 + random() % 3);
    Submit(request);
    line.push_back(request);
  }
  const auto rank = [](const FakeRequest* request) {
    return request->deadline + 100 * kMillisecond * static_cast<Nanos>(request->priority);
  };
  std::stable_sort(line.begin(), line.end(), [&](auto* a, auto* b) { return rank(a) < rank(b); });

  std::vector<FakeRequest*> cancelled;
  std::sample(line.begin(), line.end(), std::back_inserter(cancelled), 300, random);
  std::shuffle(cancelled.begin(), cancelled.end(), random);
  for (FakeRequest* request : cancelled) {
    scheduler_->Cancel(request);
    EXPECT_EQ(request->status.code(), absl::StatusCode::kCancelled);
  }
  EXPECT_EQ(ended_, cancelled);
  line.erase(std::remove_if(line.begin(), line.end(), [](auto* request) { return request->completed(); }), line.end());

  ended_.clear();
  clock_.Advance(100 * kMillisecond);
  const auto expired =
      std::stable_partition(line.begin(), line.end(), [&](auto* request) { return request->deadline <= clock_.Now(); });
  scheduler_->Poll();
  EXPECT_THAT(ended_, ::testing::UnorderedElementsAreArray(line.begin(), expired));
  for (const FakeRequest* request : ended_) {
    EXPECT_EQ(request->status.code(), absl::StatusCode::kDeadlineExceeded);
  }
  EXPECT_EQ(waiting(), line.end() - expired);
  EXPECT_EQ(scheduler_->Poll(), clock_.Now() + 50 * kMillisecond) << "the next deadline";

  ended_.clear();
  ServeAll();
  std::vector<FakeRequest*> served(expired, line.end());
  served.insert(served.begin(), requests_[0].get());
  EXPECT_EQ(ended_, served);
}

TEST_F(SchedulerWaitingTest, AnEndMayCancelNeighboursAndBringNewRequests) {
  std::vector<FakeRequest*> line;
  for (int i = 0; i < 300; ++i) {
    line.push_back(Waiting((i % 3 == 1 ? 1 : 1000) * kMillisecond));  // every third expires
  }
  FakeRequest* last = nullptr;
  for (std::size_t i = 1; i < line.size(); i += 3) {
    line[i]->on_complete = [&, i](const Completion& /*completion*/) {
      scheduler_->Cancel(line[i - 1]);
      scheduler_->Cancel(line[i]);  // harmless: it has ended
      last = Waiting(2 * kMillisecond);
    };
  }
  clock_.Advance(kMillisecond);
  scheduler_->Poll();
  for (std::size_t i = 0; i < line.size(); ++i) {
    EXPECT_EQ(line[i]->completed(), i % 3 != 2) << i;
  }
  EXPECT_EQ(waiting(), 200);  // those of index 2, 5 ... and as many new ones
  ServeAll();
  EXPECT_TRUE(last->status.ok()) << last->status;
  EXPECT_TRUE(std::all_of(requests_.begin(), requests_.end(), [](const auto& one) { return one->completed(); }));
}

TEST_F(SchedulerWaitingTest, ALostDeviceEndsTheWholeLine) {
  std::vector<FakeRequest*> line;
  for (int i = 0; i < 300; ++i) {
    line.push_back(Waiting(1000 * kMillisecond));
  }
  scheduler_->FailDevice(0, absl::UnavailableError("device lost"));
  EXPECT_EQ(ended_, line);
  EXPECT_EQ(line.back()->status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(waiting(), 0);
  ServeAll();
}

}  // namespace
}  // namespace kernelwire

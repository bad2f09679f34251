// Requests that are cut by rows: that their parts overlap, end as one, and never wait for each other.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/batch/retry_hint.h"
#include "server/batch/scheduler.h"
#include "server/batch/testing/fakes.h"

namespace kernelwire {
namespace {

using testing::FakeClock;
using testing::FakeDevice;
using testing::FakeRequest;
using ::testing::HasSubstr;
using testing::kMillisecond;

constexpr std::size_t kSlab = std::size_t{1} << 14;
constexpr std::size_t kRow = 1000;

/// Slabs of 16 KiB, which take seven rows of 1000 bytes and their results.
class SchedulerCutTest : public ::testing::Test {
 protected:
  void Start(int lanes, std::size_t slabs) {
    SchedulerOptions options;
    options.batch_slab_bytes = kSlab;
    device_ = std::make_unique<FakeDevice>(lanes, slabs * kSlab, 4096);
    device_->hold = true;
    scheduler_ = std::make_unique<Scheduler>(options, &clock_, std::vector<Device*>{device_.get()}, nullptr,
                                             [this] { ++polls_wanted_; });
  }
  /// One that is cut into `parts`.
  FakeRequest* Make(std::size_t parts) { return MakeOf(7 * parts * kRow, kRow); }
  FakeRequest* MakeOf(std::size_t bytes, std::size_t row_bytes) {
    requests_.push_back(std::make_unique<FakeRequest>(requests_.size(), 1, bytes, row_bytes));
    FakeRequest* request = requests_.back().get();
    request->on_placed = [this, request] { scheduler_->ResumeStaging(request); };
    return request;
  }
  void Submit(FakeRequest* request) {
    const absl::Status status = scheduler_->Submit(request);
    EXPECT_TRUE(status.ok()) << status;
  }
  void FinishAll() {
    while (device_->FinishOne()) {
    }
  }
  void ExpectNothingLeft() {
    EXPECT_EQ(device_->slabs().used_bytes(), 0u);
    const SchedulerSnapshot snapshot = scheduler_->Snapshot();
    EXPECT_EQ(snapshot.devices[0].lanes_busy, 0);
    EXPECT_EQ(snapshot.devices[0].pending_batches, 0);
    EXPECT_EQ(snapshot.devices[0].waiting_requests, 0);
  }

  FakeClock clock_;
  int polls_wanted_ = 0;
  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<FakeRequest>> requests_;
};

TEST_F(SchedulerCutTest, PartsRunOnSeveralLanesAndMakeOneResult) {
  Start(3, 8);
  FakeRequest* request = Make(5);
  Submit(request);
  EXPECT_EQ(device_->running(), 3u);
  EXPECT_EQ(scheduler_->Snapshot().outstanding_requests, 1);
  EXPECT_EQ(scheduler_->Snapshot().outstanding_bytes, static_cast<std::int64_t>(std::size_t{2} * 7 * 5 * kRow));
  while (device_->FinishOne(1)) {  // in no particular order
    EXPECT_EQ(request->completed(), device_->running() == 0);
  }
  EXPECT_TRUE(request->status.ok()) << request->status;
  EXPECT_EQ(device_->batches_run, 5u);
  ExpectNothingLeft();
}

TEST_F(SchedulerCutTest, APartIsComputedWhileTheNextIsCopied) {
  Start(2, 8);
  FakeRequest* request = Make(3);
  std::vector<std::size_t> running;
  request->on_copy = [&] { running.push_back(device_->running()); };
  Submit(request);
  EXPECT_EQ(running, (std::vector<std::size_t>{0, 1, 2}));
  FinishAll();
  EXPECT_TRUE(request->status.ok());
}

TEST_F(SchedulerCutTest, ARequestMayBeLargerThanAnySlab) {
  Start(1, 7);  // the largest slab is four of them
  FakeRequest* request = Make(7);
  Submit(request);
  FinishAll();
  EXPECT_TRUE(request->status.ok()) << request->status;
  EXPECT_EQ(device_->batches_run, 7u);
}

TEST_F(SchedulerCutTest, OneThatIsLargerThanStagingIsRefusedWithoutAHint) {
  Start(1, 7);
  for (FakeRequest* request : {Make(8), MakeOf(5 * kSlab, 0)}) {  // the second cannot be cut
    const absl::Status refused = scheduler_->Submit(request);
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("--staging_bytes"));
    EXPECT_FALSE(RetryHintOf(refused).has_value());
  }
  FakeRequest* uncut = MakeOf(kSlab, 0);
  Submit(uncut);
  FinishAll();
  EXPECT_TRUE(uncut->status.ok());
  EXPECT_EQ(device_->batches_run, 1u);
}

TEST_F(SchedulerCutTest, OneThatLacksASlabHoldsNoneMeanwhile) {
  Start(4, 8);
  Slab* unread = nullptr;
  FakeRequest* first = Make(5);
  first->on_complete = [&](const Completion& completion) {
    unread = completion.parts[4].slab;
    unread->AddReference();
  };
  Submit(first);
  FakeRequest* second = Make(8);
  Submit(second);
  EXPECT_EQ(device_->slabs().used_bytes(), 5 * kSlab);
  FinishAll();
  EXPECT_TRUE(first->completed());
  polls_wanted_ = 0;
  scheduler_->Poll();
  EXPECT_EQ(polls_wanted_, 0) << "what it had to put back must not wake it again";
  EXPECT_EQ(device_->slabs().used_bytes(), kSlab);
  EXPECT_EQ(scheduler_->Snapshot().devices[0].waiting_requests, 1);
  unread->Release();
  EXPECT_EQ(polls_wanted_, 1);
  scheduler_->Poll();
  FinishAll();
  EXPECT_TRUE(second->status.ok()) << second->status;
  ExpectNothingLeft();
}

TEST_F(SchedulerCutTest, AnUrgentRequestGoesBetweenParts) {
  Start(1, 8);
  FakeRequest* large = Make(4);
  Submit(large);
  FakeRequest* urgent = MakeOf(100, 0);
  urgent->priority = 1;
  Submit(urgent);
  device_->FinishOne();
  device_->FinishOne();
  EXPECT_TRUE(urgent->completed());
  EXPECT_FALSE(large->completed());
  FinishAll();
  EXPECT_TRUE(large->status.ok());
}

TEST_F(SchedulerCutTest, CancellationStopsCopyingAndGivesTheSlabsBack) {
  Start(1, 8);
  FakeRequest* request = Make(5);
  request->on_copy = [&] {
    if (request->copies == 3) {
      scheduler_->Cancel(request);
    }
  };
  Submit(request);
  EXPECT_EQ(request->copies, 3);
  EXPECT_FALSE(request->completed()) << "its first part is still being computed";
  EXPECT_EQ(device_->slabs().used_bytes(), kSlab);
  EXPECT_EQ(scheduler_->Snapshot().devices[0].pending_batches, 0);
  FinishAll();
  EXPECT_EQ(request->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(device_->batches_run, 1u);
  scheduler_->Cancel(request);  // after the end: harmless
  ExpectNothingLeft();
}

TEST_F(SchedulerCutTest, CancellationDropsTheResultsOfPartsThatWereComputed) {
  Start(2, 8);
  FakeRequest* request = Make(4);
  Submit(request);
  device_->FinishOne();
  scheduler_->Cancel(request);
  EXPECT_EQ(device_->slabs().used_bytes(), 2 * kSlab) << "of the two that run";
  FinishAll();
  EXPECT_EQ(request->status.code(), absl::StatusCode::kCancelled);
  ExpectNothingLeft();
}

TEST_F(SchedulerCutTest, AWaitingOneCanBeCancelled) {
  Start(1, 4);
  Submit(Make(3));
  FakeRequest* waiting = Make(2);
  Submit(waiting);
  scheduler_->Cancel(waiting);
  EXPECT_EQ(waiting->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(waiting->copies, 0);
  FinishAll();
  ExpectNothingLeft();
}

TEST_F(SchedulerCutTest, AnErrorOfOneCopyIsTheRequests) {
  Start(1, 8);
  FakeRequest* request = Make(5);
  request->copy_status = absl::InvalidArgumentError("bad value");
  request->failing_copy = 2;
  Submit(request);
  FinishAll();
  EXPECT_EQ(request->copies, 2);
  EXPECT_EQ(request->status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device_->batches_run, 1u);
  ExpectNothingLeft();
}

TEST_F(SchedulerCutTest, AFaultInOnePartIsTheRequestsAndSparesTheRest) {
  Start(2, 8);
  FakeRequest* request = Make(6);
  Submit(request);
  FakeRequest* other = MakeOf(100, 0);
  Submit(other);
  device_->FinishOne();
  device_->next_status = absl::InternalError("broken");
  device_->FinishOne();
  device_->next_status = absl::OkStatus();
  EXPECT_FALSE(request->completed()) << "another part is still being computed";
  FinishAll();
  EXPECT_EQ(request->status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(other->status.ok());
  EXPECT_EQ(device_->batches_run, 4u) << "three parts, and the other request";
  ExpectNothingLeft();
}

TEST_F(SchedulerCutTest, PartsThatWaitForALaneExpireWithTheirRequest) {
  Start(1, 8);
  FakeRequest* request = Make(3);
  request->deadline = clock_.Now() + kMillisecond;
  Submit(request);
  EXPECT_GT(polls_wanted_, 0);
  EXPECT_EQ(scheduler_->Poll(), request->deadline);
  clock_.Advance(kMillisecond);
  scheduler_->Poll();
  FinishAll();
  EXPECT_EQ(request->status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(device_->batches_run, 1u);
  ExpectNothingLeft();
}

TEST_F(SchedulerCutTest, ALostDeviceEndsAllParts) {
  Start(1, 8);
  FakeRequest* request = Make(4);
  Submit(request);
  FakeRequest* waiting = Make(6);
  Submit(waiting);
  scheduler_->FailDevice(0, absl::UnavailableError("device lost"));
  EXPECT_EQ(waiting->status.code(), absl::StatusCode::kUnavailable);
  FinishAll();
  EXPECT_EQ(request->status.code(), absl::StatusCode::kUnavailable);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace kernelwire

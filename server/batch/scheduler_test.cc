// The scheduler's policy, one rule a test.
#include "server/batch/scheduler.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/batch/retry_hint.h"
#include "server/batch/testing/fakes.h"

namespace kernelwire {
namespace {

using testing::FakeClock;
using testing::FakeDevice;
using testing::FakeRequest;
using ::testing::HasSubstr;
using testing::kMillisecond;

/// A scheduler over one device whose batches finish when told.
class SchedulerTest : public ::testing::Test {
 protected:
  void Start(const SchedulerOptions& options, int lanes = 1, std::size_t staging = 1 << 24) {
    device_ = std::make_unique<FakeDevice>(lanes, staging, 4096);
    device_->hold = true;
    scheduler_ = std::make_unique<Scheduler>(options, &clock_, std::vector<Device*>{device_.get()}, nullptr,
                                             [this] { ++polls_wanted_; });
  }
  FakeRequest* Make(std::uint64_t key, std::size_t bytes = 100) {
    requests_.push_back(std::make_unique<FakeRequest>(requests_.size(), key, bytes));
    FakeRequest* request = requests_.back().get();
    request->on_placed = [this, request] { scheduler_->ResumeStaging(request); };
    return request;
  }
  FakeRequest* Submitted(std::uint64_t key, std::size_t bytes = 100) {
    FakeRequest* request = Make(key, bytes);
    const absl::Status status = scheduler_->Submit(request);
    EXPECT_TRUE(status.ok()) << status;
    return request;
  }
  void FinishAll() {
    while (device_->FinishOne()) {
    }
  }

  FakeClock clock_;
  int polls_wanted_ = 0;
  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<FakeRequest>> requests_;
};

TEST_F(SchedulerTest, AnIdleDeviceRunsARequestAtOnce) {
  Start({});
  FakeRequest* request = Submitted(1);
  EXPECT_EQ(device_->running(), 1u);
  EXPECT_TRUE(device_->FinishOne());
  EXPECT_TRUE(request->status.ok());
}

TEST_F(SchedulerTest, WhileTheLaneIsBusyRequestsOfOneKeyShareABatch) {
  Start({});
  Submitted(1);
  for (int i = 0; i < 5; ++i) {
    Submitted(2);
  }
  Submitted(3);
  FinishAll();
  EXPECT_EQ(device_->batches_run, 3u);
  EXPECT_EQ(device_->requests_run, 7u);
}

TEST_F(SchedulerTest, ABatchIsFullAtItsLimitOfRequests) {
  SchedulerOptions options;
  options.max_batch_requests = 4;
  Start(options);
  for (int i = 0; i < 9; ++i) {
    Submitted(1);
  }
  FinishAll();
  EXPECT_EQ(device_->batches_run, 3u);  // 1, 4, 4
}

TEST_F(SchedulerTest, EarlierDeadlinesGoFirstThenOlderRequests) {
  Start({});
  Submitted(1);
  std::vector<std::string> order;
  const auto expect = [&](FakeRequest* request, const std::string& name) {
    request->on_complete = [&order, name](const Completion&) { order.push_back(name); };
  };
  expect(Submitted(2), "old");
  clock_.Advance(kMillisecond);
  expect(Submitted(3), "young");
  FakeRequest* urgent = Make(4);
  urgent->deadline = clock_.Now() + 100 * kMillisecond;
  expect(urgent, "urgent");
  ASSERT_TRUE(scheduler_->Submit(urgent).ok());
  FakeRequest* important = Make(5);
  important->priority = 1;
  expect(important, "important");
  ASSERT_TRUE(scheduler_->Submit(important).ok());
  FinishAll();
  EXPECT_EQ(order, (std::vector<std::string>{"important", "urgent", "old", "young"}));
}

TEST_F(SchedulerTest, AnOldRequestIsNotStarvedByLaterDeadlines) {
  Start({});
  Submitted(1);
  FakeRequest* patient = Submitted(2);
  clock_.Advance(2'000 * kMillisecond);
  FakeRequest* hasty = Make(3);
  hasty->deadline = clock_.Now() + kMillisecond;
  ASSERT_TRUE(scheduler_->Submit(hasty).ok());
  device_->FinishOne();
  device_->FinishOne();
  EXPECT_TRUE(patient->completed());
  EXPECT_FALSE(hasty->completed());
  FinishAll();
}

TEST_F(SchedulerTest, AnExpiredRequestNeverReachesTheDevice) {
  Start({});
  Submitted(1);
  FakeRequest* late = Make(2);
  late->deadline = clock_.Now() + kMillisecond;
  ASSERT_TRUE(scheduler_->Submit(late).ok());
  EXPECT_GT(polls_wanted_, 0);
  clock_.Advance(2 * kMillisecond);
  scheduler_->Poll();
  EXPECT_EQ(late->status.code(), absl::StatusCode::kDeadlineExceeded);
  FinishAll();
  EXPECT_EQ(device_->requests_run, 1u);
}

TEST_F(SchedulerTest, ADeadlineThatHasPassedIsRefused) {
  Start({});
  FakeRequest* request = Make(1);
  request->deadline = clock_.Now();
  EXPECT_EQ(scheduler_->Submit(request).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(request->completed());
}

TEST_F(SchedulerTest, CancellationBeforeTheLaunchSparesTheDevice) {
  Start({});
  Submitted(1);
  FakeRequest* cancelled = Submitted(2);
  FakeRequest* other = Submitted(2);
  scheduler_->Cancel(cancelled);
  EXPECT_EQ(cancelled->status.code(), absl::StatusCode::kCancelled);
  FinishAll();
  EXPECT_TRUE(other->status.ok());
  EXPECT_EQ(device_->requests_run, 2u);
}

TEST_F(SchedulerTest, CancellationWhileRunningDropsTheResult) {
  Start({});
  FakeRequest* request = Submitted(1);
  scheduler_->Cancel(request);
  EXPECT_FALSE(request->completed());
  FinishAll();
  EXPECT_EQ(request->status.code(), absl::StatusCode::kCancelled);
  scheduler_->Cancel(request);  // after the end: harmless
}

TEST_F(SchedulerTest, CancellationWhileCopyingEndsTheRequestAfterTheCopy) {
  Start({});
  FakeRequest* request = Make(1);
  request->on_copy = [&] { scheduler_->Cancel(request); };
  ASSERT_TRUE(scheduler_->Submit(request).ok());
  EXPECT_EQ(request->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(device_->batches_run, 0u);
  EXPECT_EQ(device_->slabs().used_bytes(), 0u);
}

TEST_F(SchedulerTest, AFailedCopyLeavesItsCompanyAlone) {
  Start({});
  Submitted(1);
  FakeRequest* good = Submitted(2);
  FakeRequest* bad = Make(2);
  bad->copy_status = absl::InvalidArgumentError("typed value out of range");
  ASSERT_TRUE(scheduler_->Submit(bad).ok());
  EXPECT_EQ(bad->status.code(), absl::StatusCode::kInvalidArgument);
  FinishAll();
  EXPECT_TRUE(good->status.ok());
}

TEST_F(SchedulerTest, TheRequestBudgetRefusesWithAHint) {
  SchedulerOptions options;
  options.max_outstanding_requests = 2;
  Start(options);
  Submitted(1);
  FakeRequest* second = Submitted(1);
  FakeRequest* third = Make(1);
  const absl::Status refused = scheduler_->Submit(third);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GE(RetryHintOf(refused).value_or(-1), 1);
  FinishAll();
  scheduler_->ReleaseBudget(*second);  // a reply has left: there is room again
  EXPECT_TRUE(scheduler_->Submit(third).ok());
  FinishAll();
}

TEST_F(SchedulerTest, TheByteBudgetCountsInputsAndOutputs) {
  SchedulerOptions options;
  options.max_outstanding_bytes = 1000;
  Start(options);
  Submitted(1, 300);
  const absl::Status refused = scheduler_->Submit(Make(1, 300));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryHintOf(refused).has_value());
  const absl::Status never = scheduler_->Submit(Make(1, 501));
  EXPECT_EQ(never.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(RetryHintOf(never).has_value()) << "a retry is useless";
  FinishAll();
}

TEST_F(SchedulerTest, TheByteBudgetCountsMessagesThatAreLargerThanTheirTensors) {
  SchedulerOptions options;
  options.max_outstanding_bytes = 1000;
  Start(options);
  FakeRequest* const first = Make(1, 10);
  first->message_bytes = 600;
  ASSERT_TRUE(scheduler_->Submit(first).ok());
  FakeRequest* const second = Make(1, 10);
  second->message_bytes = 600;
  const absl::Status refused = scheduler_->Submit(second);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryHintOf(refused).has_value());
  FinishAll();
  scheduler_->ReleaseBudget(*first);
  second->message_bytes = 5000;  // more than the budget, but its tensors are not
  EXPECT_TRUE(scheduler_->Submit(second).ok());
  FinishAll();
}

TEST_F(SchedulerTest, WhatFitsNoSlabIsRefusedWithoutAHint) {
  Start({}, 1, 1 << 16);
  const absl::Status refused = scheduler_->Submit(Make(1, 1 << 16));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--staging_bytes"));
  EXPECT_FALSE(RetryHintOf(refused).has_value());
}

TEST_F(SchedulerTest, AReplyBeyondItsLimitIsRefused) {
  SchedulerOptions options;
  options.max_reply_bytes = 99;
  Start(options);
  const absl::Status refused = scheduler_->Submit(Make(1, 100));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--max_reply_bytes"));
}

TEST_F(SchedulerTest, WithoutASlabRequestsWaitAndAreCopiedWhenOneComesBack) {
  SchedulerOptions options;
  options.batch_slab_bytes = 1 << 14;
  Start(options, 1, 1 << 14);  // one slab
  FakeRequest* first = Submitted(1, 5000);
  Slab* held = nullptr;
  first->on_complete = [&](const Completion& completion) {
    held = completion.parts[0].slab;
    held->AddReference();  // a slow reader
  };
  FakeRequest* second = Submitted(2, 5000);
  EXPECT_EQ(scheduler_->Snapshot().devices[0].waiting_requests, 1);
  FinishAll();
  EXPECT_EQ(scheduler_->Snapshot().devices[0].lanes_busy, 0) << "a slow reader holds memory, never a lane";
  EXPECT_FALSE(second->completed());
  polls_wanted_ = 0;
  held->Release();
  EXPECT_EQ(polls_wanted_, 1);
  scheduler_->Poll();
  FinishAll();
  EXPECT_TRUE(second->status.ok()) << second->status;
}

TEST_F(SchedulerTest, AWaitingRequestCanBeCancelledAndCanExpire) {
  SchedulerOptions options;
  options.batch_slab_bytes = 1 << 14;
  Start(options, 1, 1 << 14);
  Submitted(1, 5000);
  FakeRequest* cancelled = Submitted(2, 5000);
  FakeRequest* expired = Make(3, 5000);
  expired->deadline = clock_.Now() + kMillisecond;
  ASSERT_TRUE(scheduler_->Submit(expired).ok());
  scheduler_->Cancel(cancelled);
  EXPECT_EQ(cancelled->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(scheduler_->Poll(), expired->deadline);
  clock_.Advance(kMillisecond);
  scheduler_->Poll();
  EXPECT_EQ(expired->status.code(), absl::StatusCode::kDeadlineExceeded);
  FinishAll();
}

TEST_F(SchedulerTest, AQueueDelayGathersCompanyOnAnIdleDevice) {
  SchedulerOptions options;
  options.max_queue_delay = {kMillisecond};
  Start(options);
  Submitted(1);
  Submitted(1);
  EXPECT_EQ(device_->running(), 0u);
  EXPECT_GT(polls_wanted_, 0);
  clock_.Advance(kMillisecond);
  scheduler_->Poll();
  EXPECT_EQ(device_->running(), 1u);
  EXPECT_EQ(device_->requests_run, 2u);
  FinishAll();
}

TEST_F(SchedulerTest, AFullBatchDoesNotWaitOutItsQueueDelay) {
  SchedulerOptions options;
  options.max_queue_delay = {kMillisecond};
  options.max_batch_requests = 2;
  Start(options);
  Submitted(1);
  EXPECT_EQ(device_->running(), 0u);
  Submitted(1);
  EXPECT_EQ(device_->running(), 1u);
  FinishAll();
}

TEST_F(SchedulerTest, ADrainRefusesTheNewAndFinishesTheOld) {
  Start({});
  FakeRequest* running = Submitted(1);
  FakeRequest* queued = Submitted(2);
  scheduler_->Drain();
  const absl::Status refused = scheduler_->Submit(Make(1));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(RetryHintOf(refused).has_value());
  FinishAll();
  EXPECT_TRUE(running->status.ok());
  EXPECT_TRUE(queued->status.ok());
}

TEST_F(SchedulerTest, ALostDeviceFailsWhatIsQueuedAndRefusesTheRest) {
  Start({});
  FakeRequest* running = Submitted(1);
  FakeRequest* queued = Submitted(2);
  scheduler_->FailDevice(0, absl::UnavailableError("device lost"));
  EXPECT_EQ(queued->status.code(), absl::StatusCode::kUnavailable);
  device_->next_status = absl::UnavailableError("device lost");
  FinishAll();
  EXPECT_EQ(running->status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(scheduler_->Submit(Make(1)).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(scheduler_->Snapshot().devices[0].lost);
}

TEST_F(SchedulerTest, RequestsSpreadOverDevicesByOutstandingBytes) {
  FakeDevice first(1, 1 << 24, 4096);
  FakeDevice second(1, 1 << 24, 4096);
  first.hold = second.hold = true;
  Scheduler scheduler(SchedulerOptions{}, &clock_, {&first, &second}, nullptr, [] {});
  ASSERT_TRUE(scheduler.Submit(Make(1, 1000)).ok());
  ASSERT_TRUE(scheduler.Submit(Make(1, 100)).ok());
  ASSERT_TRUE(scheduler.Submit(Make(1, 100)).ok());
  EXPECT_EQ(first.running(), 1u);
  EXPECT_EQ(second.running(), 1u);
  while (first.FinishOne() || second.FinishOne()) {
  }
  EXPECT_EQ(second.requests_run, 2u);
}

TEST_F(SchedulerTest, ARequestGoesToTheDeviceThatItNames) {
  FakeDevice first(1, 1 << 24, 4096);
  FakeDevice second(1, 1 << 24, 4096);
  Scheduler scheduler(SchedulerOptions{}, &clock_, {&first, &second}, nullptr, [] {});
  for (int i = 0; i < 3; ++i) {
    FakeRequest* request = Make(1, 100);
    request->wanted_device = 1;
    ASSERT_TRUE(scheduler.Submit(request).ok());
  }
  EXPECT_EQ(first.requests_run, 0u);
  EXPECT_EQ(second.requests_run, 3u);
  scheduler.FailDevice(1, absl::UnavailableError("device lost"));
  FakeRequest* refused = Make(1, 100);
  refused->wanted_device = 1;
  EXPECT_EQ(scheduler.Submit(refused).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace kernelwire

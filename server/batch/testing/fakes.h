// A clock turned by hand, a device that finishes when told, and requests that check what is done to them.
#ifndef KERNELWIRE_SERVER_BATCH_TESTING_FAKES_H_
#define KERNELWIRE_SERVER_BATCH_TESTING_FAKES_H_

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/batch/device.h"
#include "server/batch/scheduler.h"

namespace kernelwire::testing {

inline constexpr Nanos kMillisecond = 1'000'000;

class FakeClock final : public Clock {
 public:
  Nanos Now() const override { return now_.load(); }
  void Advance(Nanos nanos) { now_ += nanos; }

 private:
  std::atomic<Nanos> now_{1'000'000'000};
};

/// y = x + 1 on bytes: a result that shows whose bytes were computed on.
inline const Operator& AddOne() {
  static const Operator* const op = [] {
    auto* made = new Operator;
    made->spec.name = "add_one";
    return made;
  }();
  return *op;
}

/// Thread-safe. With `hold` set, batches stay in flight until FinishOne.
class FakeDevice final : public Device {
 public:
  FakeDevice(int lanes, std::size_t staging_bytes, std::size_t smallest)
      : lanes_(lanes), slabs_(MakeHostRegion(staging_bytes), smallest) {}

  const std::string& name() const override { return name_; }
  int lane_count() const override { return lanes_; }
  SlabPool& slabs() override { return slabs_; }
  void SetFinishedCallback(std::function<void(Batch&)> callback) override { finished_ = std::move(callback); }

  bool Run(Batch& batch) override {
    if (on_run) {
      on_run(batch);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_TRUE(busy_.insert(batch.lane()).second) << "lane " << batch.lane() << " runs two batches";
    EXPECT_GT(batch.request_count(), 0u);
    ++batches_run;
    requests_run += batch.request_count();
    if (hold) {
      running_.push_back(&batch);
      return false;
    }
    Compute(batch);
    return true;
  }

  /// Finishes a running batch; false when there is none.
  bool FinishOne(std::size_t choice = 0) {
    Batch* batch = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (running_.empty()) {
        return false;
      }
      const auto position = running_.begin() + static_cast<std::ptrdiff_t>(choice % running_.size());
      batch = *position;
      running_.erase(position);
      Compute(*batch);
    }
    finished_(*batch);
    return true;
  }

  std::size_t running() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return running_.size();
  }

  std::atomic<bool> hold{false};
  absl::Status next_status;
  std::function<void(Batch&)> on_run;
  std::atomic<std::size_t> batches_run{0};
  std::atomic<std::size_t> requests_run{0};

 private:
  void Compute(Batch& batch) {
    std::byte* host = batch.slab().host();
    const Launch& launch = batch.BuildLaunch({host, host, host, host});
    EXPECT_EQ(static_cast<std::size_t>(launch.segment_count), batch.request_count());
    EXPECT_LE(batch.copy_in_bytes(), batch.copy_out_begin());
    for (int i = 0; i < launch.segment_count; ++i) {
      const Segment& segment = launch.segments[i];
      const auto* x = static_cast<const unsigned char*>(segment.inputs[0]);
      auto* y = static_cast<unsigned char*>(segment.outputs[0]);
      for (std::int64_t j = 0; j < segment.rows * segment.extents[0]; ++j) {
        y[j] = static_cast<unsigned char>(x[j] + 1);
      }
    }
    batch.status = next_status;
    busy_.erase(batch.lane());
  }

  const std::string name_ = "fake";
  const int lanes_;
  SlabPool slabs_;
  std::function<void(Batch&)> finished_;
  mutable std::mutex mutex_;
  std::set<int> busy_;
  std::vector<Batch*> running_;
};

/// `bytes` bytes of a pattern made from `id`, in one row, or in rows of `row_bytes` between which it can be cut.
class FakeRequest final : public Request {
 public:
  FakeRequest(std::uint64_t id, std::uint64_t key, std::size_t bytes, std::size_t row_bytes = 0)
      : id_(id), bytes_(bytes) {
    op = &AddOne();
    plan.key.Append(key);
    plan.rows = row_bytes == 0 ? 1 : static_cast<std::int64_t>(bytes / row_bytes);
    plan.extents[0] = static_cast<std::int64_t>(bytes) / plan.rows;
    plan.input_row_bytes[0] = plan.outputs[0].row_bytes = static_cast<std::int64_t>(row_bytes);
    plan.work_bytes = static_cast<std::int64_t>(2 * bytes);
    const TensorDesc desc{DataType::kUint8, Shape{static_cast<std::int64_t>(bytes)}};
    plan.outputs[0].wanted = true;
    plan.outputs[0].desc = desc;
    plan.outputs[0].bytes = bytes;
    plan_request.inputs[0] = desc;
    input_bytes[0] = bytes;
  }

  absl::Status CopyInput(int /*input*/, std::size_t offset, std::size_t bytes, void* destination) override {
    EXPECT_FALSE(completed()) << "copied after the end";
    EXPECT_EQ(offset, copied_) << "copied twice, or out of order";
    EXPECT_EQ(inputs_copied_, 0) << "copied after all had been";
    copied_ += bytes;
    ++copies;
    if (on_copy) {
      on_copy();
    }
    auto* x = static_cast<unsigned char*>(destination);
    for (std::size_t i = 0; i < bytes; ++i) {
      x[i] = Pattern(offset + i);
    }
    return copies < failing_copy ? absl::OkStatus() : copy_status;
  }

  void InputsCopied() override {
    EXPECT_FALSE(completed()) << "told after the end";
    EXPECT_EQ(copied_, bytes_) << "not all of them";
    ++inputs_copied_;
  }

  void Placed() override {
    if (on_placed) {
      on_placed();
    }
  }

  void Complete(const Completion& completion) override {
    EXPECT_EQ(completions_.fetch_add(1), 0) << "request " << id_ << " completed twice";
    status = completion.status;
    if (status.ok()) {
      EXPECT_EQ(inputs_copied_, 1);
      const std::vector<std::byte> y = CopyOfOutput(completion, 0);
      EXPECT_EQ(y.size(), bytes_);
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (y[i] != static_cast<std::byte>(Pattern(i) + 1)) {
          ADD_FAILURE() << "request " << id_ << " got somebody else's bytes at " << i;
          break;
        }
      }
    } else {
      EXPECT_TRUE(completion.parts.empty());
    }
    if (on_complete) {
      on_complete(completion);
    }
  }

  bool completed() const { return completions_.load() > 0; }

  absl::Status status = absl::UnknownError("not completed");
  absl::Status copy_status;
  int failing_copy = 1;  // the first copy that ends with copy_status
  int copies = 0;
  std::function<void()> on_copy;
  std::function<void()> on_placed;
  std::function<void(const Completion&)> on_complete;

 private:
  unsigned char Pattern(std::size_t i) const { return static_cast<unsigned char>(id_ * 31 + i * 7); }

  const std::uint64_t id_;
  const std::size_t bytes_;
  std::size_t copied_ = 0;
  int inputs_copied_ = 0;
  std::atomic<int> completions_{0};
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_BATCH_TESTING_FAKES_H_

// A request whose caller waits for the answer, and a scheduler with its devices and its poller to send it to.
#ifndef KERNELWIRE_SERVER_EXEC_TESTING_BLOCKING_REQUEST_H_
#define KERNELWIRE_SERVER_EXEC_TESTING_BLOCKING_REQUEST_H_

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batch/scheduler.h"
#include "server/exec/poller.h"

namespace kernelwire::testing {

/// Devices behind a scheduler, as the server has them.
class Stage {
 public:
  explicit Stage(std::unique_ptr<Device> device, const SchedulerOptions& options = {})
      : poller_(&clock_), device_(std::move(device)) {
    scheduler_ = std::make_unique<Scheduler>(options, &clock_, std::vector<Device*>{device_.get()}, nullptr,
                                             [this] { poller_.Wake(); });
    poller_.Start([this] { return scheduler_->Poll(); });
  }
  ~Stage() { DestroyDevice(); }

  Scheduler& scheduler() { return *scheduler_; }
  Device& device() { return *device_; }
  /// Before the scheduler, since the device's threads may still be on their way out of it.
  void DestroyDevice() {
    poller_.Stop();
    device_.reset();
  }

 private:
  SteadyClock clock_;
  Poller poller_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Scheduler> scheduler_;
};

class BlockingRequest final : public Request {
 public:
  using Tensor = KnownAnswer::Tensor;

  /// `wanted_outputs`: bit i = output i of the spec; none: its defaults. Requires: the request can be planned; a test
  /// that hands over one that cannot ends here.
  BlockingRequest(const Operator& operation, std::vector<Tensor> inputs,
                  const std::vector<std::pair<std::string, AttributeValue>>& attributes = {},
                  std::uint32_t wanted_outputs = 0)
      : inputs_(std::move(inputs)), attributes_(Attributes::Parse(operation.spec.attributes, attributes).value()) {
    op = &operation;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].desc.dtype != DataType::kInvalid) {
        plan_request.inputs[i] = inputs_[i].desc;
        input_bytes[i] = inputs_[i].bytes.size();
      }
    }
    plan_request.attributes = &attributes_;
    plan_request.wanted_outputs = wanted_outputs;
    plan = PlanRequestFor(operation, plan_request).value();
  }

  /// Submits and waits. The outputs in the spec's order.
  absl::StatusOr<std::vector<Tensor>> Call(Scheduler& scheduler) {
    absl::Status admitted = scheduler.Submit(this);
    return admitted.ok() ? Wait(scheduler) : admitted;
  }

  /// After a successful Submit.
  absl::StatusOr<std::vector<Tensor>> Wait(Scheduler& scheduler) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return placed_ || done_; });
    if (!done_) {
      lock.unlock();
      scheduler.ResumeStaging(this);
      lock.lock();
    }
    changed_.wait(lock, [this] { return done_; });
    scheduler.ReleaseBudget(*this);
    if (!status_.ok()) {
      return status_;
    }
    return std::move(outputs_);
  }

  absl::Status CopyInput(int input, std::size_t offset, std::size_t bytes, void* destination) override {
    if (bytes > 0) {
      std::memcpy(destination, inputs_[static_cast<std::size_t>(input)].bytes.data() + offset, bytes);
    }
    return absl::OkStatus();
  }

  void Placed() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    placed_ = true;
    changed_.notify_all();
  }

  void Complete(const Completion& completion) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = completion.status;
    for (std::size_t i = 0; i < completion.outputs.size(); ++i) {
      outputs_.push_back({completion.outputs[i], CopyOfOutput(completion, i)});
    }
    done_ = true;
    changed_.notify_all();
  }

 private:
  const std::vector<Tensor> inputs_;
  const Attributes attributes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool placed_ = false;
  bool done_ = false;
  absl::Status status_;
  std::vector<Tensor> outputs_;
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_EXEC_TESTING_BLOCKING_REQUEST_H_

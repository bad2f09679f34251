// The way out: launches, completions, cancellation, and what ends requests early.
#include <algorithm>
#include <utility>

#include "server/batch/scheduler.h"

namespace kernelwire {
namespace {

constexpr char kExpired[] = "the deadline passed before the launch";
constexpr char kCancelled[] = "the client cancelled the request";

}  // namespace

void Scheduler::Dispatch(Batch* batch) {
  if (batch != nullptr && devices_[batch->device_].device->Run(*batch)) {
    FinishedHere(batch);
  }  // otherwise FinishedElsewhere goes on with it
}

void Scheduler::FinishedHere(Batch* batch) {
  while (batch != nullptr) {
    Aftermath after;
    Batch* next = ReturnLane(batch, &after);
    CompleteMembers(batch);
    Settle(&after);
    const bool finished = next != nullptr && devices_[next->device_].device->Run(*next);
    batch = finished ? next : nullptr;
  }
}

void Scheduler::FinishedElsewhere(Batch* batch) {
  Aftermath after;
  Batch* next = ReturnLane(batch, &after);
  // The device first: replies can be encoded while it works.
  const bool finished = next != nullptr && devices_[next->device_].device->Run(*next);
  CompleteMembers(batch);
  Settle(&after);
  if (finished) {
    FinishedHere(next);
  }
}

Batch* Scheduler::ReturnLane(Batch* batch, Aftermath* after) {
  const Nanos now = clock_->Now();
  const std::lock_guard<std::mutex> lock(mutex_);
  DeviceState& device = devices_[batch->device_];
  device.free_lanes.push_back(batch->lane_);
  Nanos launched = last_finish_;
  for (const BatchMember& member : batch->members_) {
    if (Request* request = member.request) {
      request->state_ = Request::State::kEnded;
      request->times_.finished = now;
      request->times_.copy_in = batch->copy_in;
      request->times_.kernel = batch->kernel;
      request->times_.copy_out = batch->copy_out;
      device.outstanding_bytes -= request->budget_bytes_;
      launched = std::max(launched, request->times_.launched);
    }
  }
  const double sample = static_cast<double>(now - launched) / static_cast<double>(batch->work_bytes_ + 1);
  nanos_per_byte_ += (sample - nanos_per_byte_) / 16.0;
  last_finish_ = now;
  return TakeReady(device, now, after);
}

void Scheduler::CompleteMembers(Batch* batch) {
  if (batch_finished_) {
    batch_finished_(*batch);
  }
  for (const BatchMember& member : batch->members_) {
    Request* request = member.request;
    if (request == nullptr) {
      continue;
    }
    Completion completion;
    completion.status = request->cancelled_ ? absl::CancelledError(kCancelled) : batch->status;
    for (std::size_t i = 0; completion.status.ok() && i < completion.outputs.size(); ++i) {
      if (member.output_offsets[i] != BatchMember::kAbsent) {
        completion.outputs[i].data = batch->slab_->host() + member.output_offsets[i];
        completion.outputs[i].desc = request->plan.outputs[i].desc;
      }
    }
    if (completion.status.ok() && request->op->finish != nullptr) {
      completion.status = request->op->finish(request->plan, completion.outputs.data());
    }
    completion.slab = completion.status.ok() ? batch->slab_ : nullptr;
    request->Complete(completion);
  }
  batch->slab_->Release();
  const std::lock_guard<std::mutex> lock(mutex_);
  Recycle(batch);
}

void Scheduler::Cancel(Request* request) {
  Aftermath after;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    switch (request->state_) {
      case Request::State::kWaiting:
        EndWaiting(devices_[request->device_], request, absl::CancelledError(kCancelled), &after);
        break;
      case Request::State::kStaged:
        Leave(request, absl::CancelledError(kCancelled), &after);
        break;
      case Request::State::kPlaced:   // its thread is copying, and will see the flag
      case Request::State::kRunning:  // nothing can call a kernel back; the result is dropped
        request->cancelled_ = true;
        break;
      case Request::State::kNew:
      case Request::State::kEnded:
        break;
    }
  }
  Settle(&after);
}

void Scheduler::ReleaseBudget(const Request& request) {
  outstanding_bytes_ -= request.budget_bytes_;
  outstanding_requests_ -= 1;
}

void Scheduler::Drain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  draining_ = true;
}

void Scheduler::FailDevice(std::size_t index, const absl::Status& status) {
  Aftermath after;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    DeviceState& device = devices_[index];
    device.lost = status;
    while (!device.waiting.empty()) {
      EndWaiting(device, device.waiting.front(), status, &after);
    }
    const std::vector<Batch*> pending = device.pending;
    for (Batch* batch : pending) {
      const std::vector<BatchMember> members = batch->members_;
      for (const BatchMember& member : members) {
        if (member.request != nullptr && member.request->state_ == Request::State::kStaged) {
          Leave(member.request, status, &after);
        }
      }
    }
  }
  Settle(&after);
}

void Scheduler::DropExpired(Batch* batch, Nanos now, Aftermath* after) {
  for (std::size_t i = 0; i < batch->members_.size() && batch->slab_ != nullptr; ++i) {
    Request* request = batch->members_[i].request;
    if (request != nullptr && request->state_ == Request::State::kStaged && request->deadline <= now) {
      Leave(request, absl::DeadlineExceededError(kExpired), after);
    }
  }
}

void Scheduler::Leave(Request* request, absl::Status status, Aftermath* after) {
  Batch* batch = request->batch_;
  batch->Remove(request);
  request->state_ = Request::State::kEnded;
  devices_[batch->device_].outstanding_bytes -= request->budget_bytes_;
  after->endings.push_back({request, std::move(status)});
  if (batch->live_ == 0) {
    RemovePending(batch);
    after->slabs.push_back(batch->slab_);
    Recycle(batch);
  }
}

void Scheduler::EndWaiting(DeviceState& device, Request* request, absl::Status status, Aftermath* after) {
  device.waiting.remove(request);
  --waiting_requests_;
  request->state_ = Request::State::kEnded;
  device.outstanding_bytes -= request->budget_bytes_;
  after->endings.push_back({request, std::move(status)});
}

void Scheduler::RemovePending(Batch* batch) {
  DeviceState& device = devices_[batch->device_];
  device.pending.erase(std::find(device.pending.begin(), device.pending.end(), batch));
  if (batch->state_ == Batch::State::kOpen) {
    device.open.erase(batch->key_);
  }
}

void Scheduler::Recycle(Batch* batch) {
  batch->slab_ = nullptr;
  spare_batches_.push_back(batch);
}

void Scheduler::Settle(Aftermath* after) {
  for (Slab* slab : after->slabs) {
    slab->Release();
  }
  for (const Ending& ending : after->endings) {
    Completion completion;
    completion.status = ending.status;
    ending.request->Complete(completion);
  }
  if (after->wake_poller) {
    poll_wanted_();
  }
}

std::int64_t Scheduler::RetryMilliseconds() {
  const double nanos = nanos_per_byte_ * static_cast<double>(outstanding_bytes_.load());
  const auto estimate = static_cast<std::int64_t>(std::clamp(nanos / 1e6, 1.0, 1000.0));
  jitter_ = jitter_ * 1664525u + 1013904223u;  // callers that were refused together should not return together
  return estimate + static_cast<std::int64_t>(jitter_ >> 16) % (estimate + 1);
}

}  // namespace kernelwire

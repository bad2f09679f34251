// Whose turn it is: the choice of what runs next, and what time brings.
#include <algorithm>

#include "server/batch/scheduler.h"

namespace kernelwire {

Batch* Scheduler::TakeReady(DeviceState& device, Nanos now, Aftermath* after) {
  while (!device.free_lanes.empty()) {
    Batch* best = nullptr;
    for (Batch* batch : device.pending) {
      const bool held = batch->staging_ > 0 || (batch->state_ == Batch::State::kOpen && batch->ready_at_ > now);
      if (!held && (best == nullptr || batch->rank_ < best->rank_)) {
        best = batch;
      }
    }
    if (best == nullptr) {
      return nullptr;
    }
    DropExpired(best, now, after);  // recycles it when nobody is left
    if (best->live_ == 0) {
      continue;
    }
    RemovePending(best);
    best->state_ = Batch::State::kRunning;
    best->lane_ = device.free_lanes.back();
    device.free_lanes.pop_back();
    best->launched_at_ = now;
    for (RequestPart* part : best->members_) {
      if (part != nullptr) {
        part->state = RequestPart::State::kRunning;
        part->request->times_.launched = now;
      }
    }
    return best;
  }
  return nullptr;
}

Nanos Scheduler::Poll() {
  const Nanos now = clock_->Now();
  Aftermath after;
  std::vector<Request*> placed;
  std::vector<Batch*> ready;
  Nanos next = kNever;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (DeviceState& device : devices_) {
      DropExpired(device, now, &after);
      const std::vector<Batch*> pending = device.pending;
      for (Batch* batch : pending) {
        DropExpired(batch, now, &after);
      }
      while (!device.waiting.empty() && Place(device.waiting.begin()->second, now, /*first_in_line=*/true)) {
        placed.push_back(device.waiting.begin()->second);
        LeaveLine(device, placed.back());
      }
      while (Batch* batch = TakeReady(device, now, &after)) {
        ready.push_back(batch);
      }
    }
    next_poll_ = next = NextPoll(now);
  }
  Settle(&after);
  for (Request* request : placed) {
    request->Placed();
  }
  for (Batch* batch : ready) {
    Dispatch(batch);
  }
  return next;
}

Nanos Scheduler::NextPoll(Nanos now) const {
  Nanos next = kNever;
  for (const DeviceState& device : devices_) {
    if (!device.deadlines.empty()) {
      next = std::min(next, device.deadlines.begin()->first);
    }
    for (const Batch* batch : device.pending) {
      if (batch->state_ == Batch::State::kOpen && batch->ready_at_ > now) {
        next = std::min(next, batch->ready_at_);
      }
      for (const RequestPart* part : batch->members_) {
        // One that is being copied has its deadline looked at when that is done.
        if (part != nullptr && part->state == RequestPart::State::kStaged) {
          next = std::min(next, part->request->deadline);
        }
      }
    }
  }
  return next;
}

/// Of those in line.
void Scheduler::DropExpired(DeviceState& device, Nanos now, Aftermath* after) {
  while (!device.deadlines.empty() && device.deadlines.begin()->first <= now) {
    EndWaiting(device, device.deadlines.begin()->second,
               absl::DeadlineExceededError("the deadline passed while waiting for staging"), after);
  }
}

void Scheduler::DropExpired(Batch* batch, Nanos now, Aftermath* after) {
  for (std::size_t i = 0; i < batch->members_.size() && batch->slab_ != nullptr; ++i) {
    const RequestPart* part = batch->members_[i];
    if (part != nullptr && part->state == RequestPart::State::kStaged && part->request->deadline <= now) {
      Fail(part->request, absl::DeadlineExceededError("the deadline passed before the launch"), after);
    }
  }
}

}  // namespace kernelwire

// The way out: launches, completions, cancellation, and what ends requests early.
#include <algorithm>
#include <array>
#include <utility>

#include "kernels/core/status_macros.h"
#include "server/batch/cut.h"
#include "server/batch/scheduler.h"

namespace kernelwire {
namespace {

constexpr char kCancelled[] = "the client cancelled the request";

CompletedPart OutputsOf(const RequestPart& part, Slab* slab) {
  CompletedPart completed;
  completed.slab = slab;
  for (std::size_t i = 0; i < kMaxOutputs; ++i) {
    if (part.output_offsets[i] != RequestPart::kAbsent) {
      completed.data[i] = slab->host() + part.output_offsets[i];
      completed.bytes[i] = OutputStretch(*part.request, i, part.rows).bytes;
    }
  }
  return completed;
}

/// Lets the operator have its last word on a request in one part.
absl::Status Finish(const Request& request, std::array<TensorDesc, kMaxOutputs>* descs, CompletedPart* part) {
  std::array<FinishedOutput, kMaxOutputs> outputs;
  for (std::size_t i = 0; i < kMaxOutputs; ++i) {
    outputs[i] = {part->data[i], (*descs)[i]};
  }
  KERNELWIRE_RETURN_IF_ERROR(request.op->finish(request.plan, outputs.data()));
  for (std::size_t i = 0; i < kMaxOutputs; ++i) {
    (*descs)[i] = outputs[i].desc;
    part->bytes[i] = part->data[i] == nullptr ? 0 : outputs[i].desc.ByteSize().value_or(0);
  }
  return absl::OkStatus();
}

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
  const std::lock_guard<std::mutex> lock(mutex_);
  // Under the lock: a batch that was opened meanwhile, and found no lane, would seem not to be ready yet.
  const Nanos now = clock_->Now();
  DeviceState& device = devices_[batch->device_];
  device.free_lanes.push_back(batch->lane_);
  for (RequestPart*& part : batch->members_) {
    if (part != nullptr) {
      RequestTimes& times = part->request->times_;
      times.finished = now;
      times.copy_in += batch->copy_in;
      times.kernel += batch->kernel;
      times.copy_out += batch->copy_out;
      if (!EndComputed(part, after)) {
        part = nullptr;  // belongs to whoever ends the request's last part
      }
    }
  }
  const Nanos since = std::max(last_finish_, batch->launched_at_);
  const double sample = static_cast<double>(now - since) / static_cast<double>(batch->work_bytes_ + 1);
  nanos_per_byte_ += (sample - nanos_per_byte_) / 16.0;
  last_finish_ = now;
  return TakeReady(device, now, after);
}

/// Whether it was the last of its request, which is then to be completed by the caller.
bool Scheduler::EndComputed(RequestPart* part, Aftermath* after) {
  Request* const request = part->request;
  const Batch& batch = *part->batch;
  part->state = RequestPart::State::kEnded;
  if (!batch.status.ok()) {
    Fail(request, batch.status, after);
  }
  if (request->parts_.size() > 1 && request->end_.ok()) {
    batch.slab_->AddReference();
    part->computed = batch.slab_;
  }
  if (--request->parts_left_ > 0) {
    return false;
  }
  devices_[request->device_].outstanding_bytes -= request->budget_bytes_;
  return true;
}

void Scheduler::CompleteMembers(Batch* batch) {
  if (batch_finished_) {
    batch_finished_(*batch);
  }
  for (RequestPart* part : batch->members_) {
    if (part != nullptr) {
      CompleteComputed(part->request, batch->slab_);
    }
  }
  batch->slab_->Release();
  const std::lock_guard<std::mutex> lock(mutex_);
  Recycle(batch);
}

/// `slab` is that of a request in one part; others hold their own.
void Scheduler::CompleteComputed(Request* request, Slab* slab) {
  Completion completion;
  absl::InlinedVector<CompletedPart, 1> parts;
  completion.status = request->end_;
  if (completion.status.ok()) {
    for (const RequestPart& part : request->parts_) {
      parts.push_back(OutputsOf(part, part.computed != nullptr ? part.computed : slab));
    }
    for (std::size_t i = 0; i < kMaxOutputs; ++i) {
      completion.outputs[i] = request->plan.outputs[i].wanted ? request->plan.outputs[i].desc : TensorDesc{};
    }
    if (parts.size() == 1 && request->op->finish != nullptr) {
      completion.status = Finish(*request, &completion.outputs, &parts[0]);
    }
  }
  if (completion.status.ok()) {
    completion.parts = parts;
  }
  request->Complete(completion);  // it may be gone now
  for (const CompletedPart& part : parts) {
    if (parts.size() > 1) {
      part.slab->Release();
    }
  }
}

void Scheduler::Cancel(Request* request) {
  Aftermath after;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (request->waiting()) {
      EndWaiting(devices_[request->device_], request, absl::CancelledError(kCancelled), &after);
      after.wake_poller = true;  // those behind it may fit where it did not
    } else if (request->parts_left_ > 0) {
      // What is being copied ends when its thread sees this, and what runs when it is over: nothing calls a kernel
      // back.
      Fail(request, absl::CancelledError(kCancelled), &after);
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
      EndWaiting(device, device.waiting.begin()->second, status, &after);
    }
    const std::vector<Batch*> pending = device.pending;
    for (Batch* batch : pending) {
      for (std::size_t i = 0; i < batch->members_.size() && batch->slab_ != nullptr; ++i) {
        const RequestPart* part = batch->members_[i];
        if (part != nullptr && part->state == RequestPart::State::kStaged) {
          Fail(part->request, status, &after);  // recycles the batch when nobody is left
        }
      }
    }
  }
  Settle(&after);
}

/// Whatever of the request waits for its launch leaves, results that it has are given up; what runs goes on, and what
/// is being copied is left to its thread.
void Scheduler::Fail(Request* request, const absl::Status& status, Aftermath* after) {
  if (request->end_.ok()) {
    request->end_ = status;
  }
  for (RequestPart& part : request->parts_) {
    if (part.state == RequestPart::State::kStaged) {
      Leave(&part, after);
    } else if (part.computed != nullptr) {
      after->slabs.push_back(std::exchange(part.computed, nullptr));
    }
  }
}

void Scheduler::Leave(RequestPart* part, Aftermath* after) {
  Request* const request = part->request;
  Batch* const batch = part->batch;
  batch->Remove(part);
  part->state = RequestPart::State::kEnded;
  if (batch->live_ == 0) {
    RemovePending(batch);
    after->slabs.push_back(batch->slab_);
    Recycle(batch);
  }
  if (--request->parts_left_ == 0) {
    devices_[request->device_].outstanding_bytes -= request->budget_bytes_;
    after->failed.push_back(request);
  }
}

void Scheduler::LeaveLine(DeviceState& device, Request* request) {
  device.waiting.erase(request->place_in_line_);
  device.deadlines.erase({request->deadline, request});
  --waiting_requests_;
}

void Scheduler::EndWaiting(DeviceState& device, Request* request, const absl::Status& status, Aftermath* after) {
  LeaveLine(device, request);
  for (RequestPart& part : request->parts_) {
    part.state = RequestPart::State::kEnded;
  }
  request->parts_left_ = 0;
  request->end_ = status;
  device.outstanding_bytes -= request->budget_bytes_;
  after->failed.push_back(request);
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
  for (Request* request : after->failed) {
    Completion completion;
    completion.status = request->end_;
    request->Complete(completion);
  }
  if (after->wake_poller) {
    poll_wanted_();
  }
}

}  // namespace kernelwire

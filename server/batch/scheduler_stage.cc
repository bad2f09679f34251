// Bytes on their way into slabs, by the thread that received them.
#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"
#include "server/batch/cut.h"
#include "server/batch/scheduler.h"

namespace kernelwire {
namespace {

/// The operator's look at values. It sees a part as a request by itself.
absl::Status CheckPart(const Request& request, const RowRange& rows, const void* const* inputs) {
  if (rows.count == request.plan.rows) {
    return request.op->check_inputs(request.plan, request.plan_request, inputs);
  }
  Plan plan = request.plan;
  plan.rows = rows.count;
  const absl::Status status = request.op->check_inputs(plan, request.plan_request, inputs);
  return status.ok()
             ? status
             : absl::Status(status.code(), absl::StrCat("counted from row ", rows.first, " on, ", status.message()));
}

}  // namespace

/// One part after the other: while the device computes those that are in place, the next is being copied.
void Scheduler::Stage(Request* request) {
  const std::size_t count = request->parts_.size();
  for (std::size_t i = 0; i < count && StagePart(&request->parts_[i]); ++i) {
  }
}

/// Whether the request goes on. If not, it may be gone.
bool Scheduler::StagePart(RequestPart* part) {
  absl::Status status = CopyPart(*part);
  if (status.ok() && part == &part->request->parts_.back()) {
    part->request->InputsCopied();
  }
  const Nanos now = clock_->Now();
  bool goes_on = false;
  Aftermath after;
  Batch* ready = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    DeviceState& device = devices_[part->request->device_];
    Batch* const batch = part->batch;
    const Nanos deadline = part->request->deadline;
    goes_on = Staged(part, std::move(status), now, &after);
    ready = TakeReady(device, now, &after);
    if (ready != batch && batch->state_ != Batch::State::kRunning && batch->live_ > 0) {
      SealOrWatch(batch, deadline, now, &after);
    }
  }
  Settle(&after);
  Dispatch(ready);
  return goes_on;
}

absl::Status Scheduler::CopyPart(const RequestPart& part) {
  Request& request = *part.request;
  std::byte* const slab = part.batch->slab_->host();
  std::array<const void*, kMaxInputs> inputs{};
  for (std::size_t i = 0; i < kMaxInputs; ++i) {
    if (part.input_offsets[i] != RequestPart::kAbsent) {
      std::byte* const destination = slab + part.input_offsets[i];
      const Stretch stretch = InputStretch(request, i, part.rows);
      KERNELWIRE_RETURN_IF_ERROR(request.CopyInput(static_cast<int>(i), stretch.offset, stretch.bytes, destination));
      inputs[i] = destination;
    }
  }
  return request.op->check_inputs == nullptr ? absl::OkStatus() : CheckPart(request, part.rows, inputs.data());
}

/// The part's bytes are in place, or will never be. Whether there are more parts to copy.
bool Scheduler::Staged(RequestPart* part, absl::Status status, Nanos now, Aftermath* after) {
  Request* const request = part->request;
  const auto stage = [](RequestPart* placed) {
    placed->state = RequestPart::State::kStaged;
    --placed->batch->staging_;
  };
  stage(part);
  request->times_.staged = now;
  if (status.ok()) {
    status = request->end_.ok() ? devices_[request->device_].lost : request->end_;
  }
  if (status.ok()) {
    return true;
  }
  for (RequestPart& rest : request->parts_) {
    if (rest.state == RequestPart::State::kPlaced) {
      stage(&rest);  // will not be copied: it leaves with the others
    }
  }
  Fail(request, status, after);
  return false;
}

/// Of a batch that waits although it could run, or whose members have deadlines.
void Scheduler::SealOrWatch(Batch* batch, Nanos deadline, Nanos now, Aftermath* after) {
  DeviceState& device = devices_[batch->device_];
  if (!device.free_lanes.empty() && batch->state_ == Batch::State::kOpen && batch->ready_at_ <= now) {
    // A lane is free and only company that is still being copied keeps the batch: let no more in.
    batch->state_ = Batch::State::kSealed;
    device.open.erase(batch->key_);
  }
  const Nanos wanted = std::min(deadline, batch->ready_at_ > now ? batch->ready_at_ : kNever);
  if (wanted < next_poll_) {
    next_poll_ = wanted;
    after->wake_poller = true;
  }
}

}  // namespace kernelwire

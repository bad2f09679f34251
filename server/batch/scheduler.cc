// The way in: admission, places in batches, copying, and the choice of what runs next.
#include "server/batch/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"
#include "server/batch/retry_hint.h"

namespace kernelwire {
namespace {

constexpr Nanos kPatience = 1'000'000'000;
constexpr Nanos kPriorityLevel = 100'000'000;
constexpr std::uint32_t kLowestLevel = 11;

Nanos RankOf(const Request& request, Nanos now) {
  const std::uint32_t level = request.priority == 0 ? kLowestLevel : std::min(request.priority, kLowestLevel);
  return std::min(request.deadline, now + kPatience) + kPriorityLevel * static_cast<Nanos>(level - 1);
}

std::size_t ReplyBytes(const Request& request) {
  std::size_t bytes = 0;
  for (const OutputPlan& output : request.plan.outputs) {
    bytes += output.wanted ? output.bytes : 0;
  }
  return bytes;
}

std::size_t PayloadBytes(const Request& request) {
  std::size_t bytes = ReplyBytes(request);
  for (const std::size_t input : request.input_bytes) {
    bytes += input;
  }
  return bytes;
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, const Clock* clock, const std::vector<Device*>& devices,
                     std::function<void(const Batch&)> batch_finished, std::function<void()> poll_wanted)
    : options_(options),
      clock_(clock),
      batch_finished_(std::move(batch_finished)),
      poll_wanted_(std::move(poll_wanted)) {
  for (Device* device : devices) {
    DeviceState state;
    state.device = device;
    for (int lane = device->lane_count() - 1; lane >= 0; --lane) {
      state.free_lanes.push_back(lane);
    }
    devices_.push_back(std::move(state));
    device->SetFinishedCallback([this](Batch& batch) { FinishedElsewhere(&batch); });
    device->slabs().SetReleaseListener([this] {
      if (waiting_requests_.load() > 0) {
        poll_wanted_();
      }
    });
  }
}

Scheduler::~Scheduler() = default;

absl::Status Scheduler::Submit(Request* request) {
  const Nanos now = clock_->Now();
  bool placed = false;
  Destinations destinations{};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    KERNELWIRE_RETURN_IF_ERROR(Admit(request, now));
    placed = Place(request, now, /*first_in_line=*/false);
    if (placed) {
      destinations = DestinationsOf(*request);
    } else {
      Wait(request);
    }
  }
  if (placed) {
    Stage(request, destinations);
  } else {
    poll_wanted_();  // a slab may have come back before the request stood in line
  }
  return absl::OkStatus();
}

void Scheduler::ResumeStaging(Request* request) {
  Destinations destinations{};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    destinations = DestinationsOf(*request);
  }
  Stage(request, destinations);
}

absl::Status Scheduler::Admit(Request* request, Nanos now) {
  if (draining_) {
    return WithRetryHint(absl::UnavailableError("the server is draining and takes no new requests"), 0);
  }
  if (request->deadline <= now) {
    return absl::DeadlineExceededError("the deadline had passed when the request arrived");
  }
  const std::size_t chosen = ChooseDevice(*request);
  if (chosen == devices_.size()) {
    const auto named = static_cast<std::size_t>(std::max(request->wanted_device, 0));
    return WithRetryHint(named < devices_.size() ? devices_[named].lost : absl::UnavailableError("no device"), 100);
  }
  DeviceState& device = devices_[chosen];
  const std::size_t needed = Batch::BytesNeeded(*request);
  if (needed > device.device->slabs().largest()) {
    return absl::ResourceExhaustedError(absl::StrCat("the request with its result needs ", needed,
                                                     " bytes of staging, more than the largest slab of ",
                                                     device.device->slabs().largest(), " (--staging_bytes)"));
  }
  KERNELWIRE_RETURN_IF_ERROR(CheckBudgets(*request));

  request->device_ = static_cast<std::uint32_t>(chosen);
  request->slab_bytes_ = needed;
  request->budget_bytes_ = static_cast<std::int64_t>(PayloadBytes(*request));
  request->rank_ = RankOf(*request, now);
  request->cancelled_ = false;
  request->batch_ = nullptr;
  request->times_ = RequestTimes{};
  request->times_.submitted = now;
  device.outstanding_bytes += request->budget_bytes_;
  outstanding_bytes_ += request->budget_bytes_;
  outstanding_requests_ += 1;
  return absl::OkStatus();
}

absl::Status Scheduler::CheckBudgets(const Request& request) {
  const std::size_t reply = ReplyBytes(request);
  if (reply > options_.max_reply_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the reply may need ", reply, " bytes, more than the limit of ",
                                                     options_.max_reply_bytes, " (--max_reply_bytes)"));
  }
  const auto bytes = static_cast<std::int64_t>(PayloadBytes(request));
  if (bytes > options_.max_outstanding_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the request with its result has ", bytes,
                                                     " bytes, more than the budget for all requests together of ",
                                                     options_.max_outstanding_bytes, " (--max_outstanding_bytes)"));
  }
  if (outstanding_requests_.load() >= options_.max_outstanding_requests) {
    return WithRetryHint(
        absl::ResourceExhaustedError(
            absl::StrCat("the server has its limit of ", options_.max_outstanding_requests, " outstanding requests")),
        RetryMilliseconds());
  }
  if (outstanding_bytes_.load() + bytes > options_.max_outstanding_bytes) {
    return WithRetryHint(
        absl::ResourceExhaustedError(absl::StrCat("the server's budget of ", options_.max_outstanding_bytes,
                                                  " outstanding bytes has no room for ", bytes, " more")),
        RetryMilliseconds());
  }
  return absl::OkStatus();
}

std::size_t Scheduler::ChooseDevice(const Request& request) const {
  std::size_t best = devices_.size();
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const bool usable =
        devices_[i].lost.ok() && (request.wanted_device < 0 || request.wanted_device == static_cast<int>(i));
    const bool better = best == devices_.size() || devices_[i].outstanding_bytes < devices_[best].outstanding_bytes;
    if (usable && better) {
      best = i;
    }
  }
  return best;
}

bool Scheduler::Place(Request* request, Nanos now, bool first_in_line) {
  DeviceState& device = devices_[request->device_];
  Batch* batch = JoinableBatch(device, *request);
  if (batch == nullptr && (first_in_line || device.waiting.empty())) {
    batch = OpenBatch(device, *request, now);
  }
  if (batch == nullptr) {
    return false;
  }
  batch->Add(request);
  request->state_ = Request::State::kPlaced;
  request->times_.placed = now;
  return true;
}

Batch* Scheduler::JoinableBatch(DeviceState& device, const Request& request) {
  const auto found = device.open.find(request.plan.key);
  if (found == device.open.end()) {
    return nullptr;
  }
  Batch* batch = found->second;
  if (batch->HasRoomFor(request) && batch->members_.size() < options_.max_batch_requests &&
      batch->planned_rows_ <= options_.max_batch_rows - request.plan.rows) {
    return batch;
  }
  batch->state_ = Batch::State::kSealed;  // full
  device.open.erase(found);
  return nullptr;
}

Batch* Scheduler::OpenBatch(DeviceState& device, const Request& request, Nanos now) {
  SlabPool& slabs = device.device->slabs();
  Slab* slab = slabs.Take(std::max(std::min(options_.batch_slab_bytes, slabs.largest()), request.slab_bytes_));
  if (slab == nullptr) {
    slab = slabs.Take(request.slab_bytes_);  // under pressure: no room for company is better than no place
  }
  if (slab == nullptr) {
    return nullptr;
  }
  if (spare_batches_.empty()) {
    all_batches_.push_back(std::make_unique<Batch>());
    spare_batches_.push_back(all_batches_.back().get());
  }
  Batch* batch = spare_batches_.back();
  spare_batches_.pop_back();
  batch->Open(request, slab, request.device_);
  if (request.op_index < options_.max_queue_delay.size()) {
    batch->ready_at_ = now + options_.max_queue_delay[request.op_index];
  }
  device.open[request.plan.key] = batch;
  device.pending.push_back(batch);
  return batch;
}

void Scheduler::Wait(Request* request) {
  request->state_ = Request::State::kWaiting;
  std::list<Request*>& line = devices_[request->device_].waiting;
  auto position = line.end();
  while (position != line.begin() && (*std::prev(position))->rank_ > request->rank_) {
    --position;
  }
  line.insert(position, request);
  ++waiting_requests_;
}

Scheduler::Destinations Scheduler::DestinationsOf(const Request& request) const {
  Destinations destinations{};
  const BatchMember& member = request.batch_->member_of(request);
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    const std::size_t offset = member.input_offsets[i];
    destinations[i] = offset == BatchMember::kAbsent ? nullptr : request.batch_->slab_->host() + offset;
  }
  return destinations;
}

void Scheduler::Stage(Request* request, const Destinations& destinations) {
  absl::Status status = request->CopyInputs(destinations.data());
  if (status.ok() && request->op->check_inputs != nullptr) {
    status = request->op->check_inputs(request->plan, request->plan_request, destinations.data());
  }
  const Nanos now = clock_->Now();
  Aftermath after;
  Batch* ready = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    DeviceState& device = devices_[request->device_];
    Batch* batch = request->batch_;
    request->state_ = Request::State::kStaged;
    request->times_.staged = now;
    --batch->staging_;
    if (request->cancelled_) {
      status = absl::CancelledError("the client cancelled the request");
    } else if (!device.lost.ok()) {
      status = device.lost;
    }
    const Nanos deadline = request->deadline;
    if (!status.ok()) {
      Leave(request, std::move(status), &after);
    }
    ready = TakeReady(device, now, &after);
    const bool still_pending = ready != batch && batch->state_ != Batch::State::kRunning && batch->live_ > 0;
    if (still_pending && !device.free_lanes.empty() && batch->state_ == Batch::State::kOpen &&
        batch->ready_at_ <= now) {
      // A lane is free and only company that is still being copied keeps the batch: let no more in.
      batch->state_ = Batch::State::kSealed;
      device.open.erase(batch->key_);
    }
    const Nanos wanted = std::min(deadline, batch->ready_at_ > now ? batch->ready_at_ : kNever);
    if (still_pending && wanted < next_poll_) {
      next_poll_ = wanted;
      after.wake_poller = true;
    }
  }
  Settle(&after);
  Dispatch(ready);
}

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
    for (const BatchMember& member : best->members_) {
      if (member.request != nullptr) {
        member.request->state_ = Request::State::kRunning;
        member.request->times_.launched = now;
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
      const std::list<Request*> line = device.waiting;
      for (Request* request : line) {
        if (request->deadline <= now) {
          EndWaiting(device, request, absl::DeadlineExceededError("the deadline passed while waiting for staging"),
                     &after);
        }
      }
      const std::vector<Batch*> pending = device.pending;
      for (Batch* batch : pending) {
        DropExpired(batch, now, &after);
      }
      while (!device.waiting.empty() && Place(device.waiting.front(), now, /*first_in_line=*/true)) {
        placed.push_back(device.waiting.front());
        device.waiting.pop_front();
        --waiting_requests_;
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
    for (const Request* request : device.waiting) {
      next = std::min(next, request->deadline);
    }
    for (const Batch* batch : device.pending) {
      if (batch->state_ == Batch::State::kOpen && batch->ready_at_ > now) {
        next = std::min(next, batch->ready_at_);
      }
      for (const BatchMember& member : batch->members_) {
        // One that is being copied has its deadline looked at when that is done.
        if (member.request != nullptr && member.request->state_ == Request::State::kStaged) {
          next = std::min(next, member.request->deadline);
        }
      }
    }
  }
  return next;
}

SchedulerSnapshot Scheduler::Snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  SchedulerSnapshot snapshot;
  snapshot.outstanding_bytes = outstanding_bytes_.load();
  snapshot.outstanding_requests = outstanding_requests_.load();
  for (const DeviceState& device : devices_) {
    SchedulerSnapshot::PerDevice one;
    one.waiting_requests = static_cast<std::int64_t>(device.waiting.size());
    one.pending_batches = static_cast<std::int64_t>(device.pending.size());
    one.lanes = device.device->lane_count();
    one.lanes_busy = one.lanes - static_cast<int>(device.free_lanes.size());
    one.lost = !device.lost.ok();
    snapshot.devices.push_back(one);
  }
  return snapshot;
}

}  // namespace kernelwire

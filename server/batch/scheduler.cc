// The way in: admission, and places in batches.
#include "server/batch/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"
#include "server/batch/cut.h"
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

std::size_t InputBytes(const Request& request) {
  std::size_t bytes = 0;
  for (const std::size_t input : request.input_bytes) {
    bytes += input;
  }
  return bytes;
}

/// What the request counts against the budget: its message where that has more than the tensors in it, but no more than
/// all of the budget, so that a request whose tensors it has room for can be served.
std::int64_t ChargeOf(const Request& request, std::int64_t budget) {
  const std::size_t held = std::max(InputBytes(request), request.message_bytes) + ReplyBytes(request);
  return std::min(static_cast<std::int64_t>(held), budget);
}

absl::Status TooLarge(const Request& request, const SlabPool& slabs) {
  return absl::ResourceExhaustedError(absl::StrCat("the request with its result needs ",
                                                   SlabBytes(request, AllRows(request)),
                                                   " bytes of staging; expected at most ", slabs.largest(),
                                                   ", the largest slab, or, where it can be cut by "
                                                   "rows, what fits into ",
                                                   slabs.total_bytes(), " (--staging_bytes)"));
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
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    KERNELWIRE_RETURN_IF_ERROR(Admit(request, now));
    placed = Place(request, now, /*first_in_line=*/false);
    if (!placed) {
      Wait(request);
    }
  }
  if (placed) {
    Stage(request);
  } else {
    poll_wanted_();  // a slab may have come back before the request stood in line
  }
  return absl::OkStatus();
}

void Scheduler::ResumeStaging(Request* request) { Stage(request); }

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
  const std::optional<Cut> cut = CutFor(*request, options_.batch_slab_bytes, device.device->slabs());
  if (!cut.has_value()) {
    return TooLarge(*request, device.device->slabs());
  }
  KERNELWIRE_RETURN_IF_ERROR(CheckBudgets(*request));

  request->device_ = static_cast<std::uint32_t>(chosen);
  request->slab_bytes_ = cut->slab_bytes;
  request->budget_bytes_ = ChargeOf(*request, options_.max_outstanding_bytes);
  request->rank_ = RankOf(*request, now);
  request->end_ = absl::OkStatus();
  request->times_ = RequestTimes{};
  request->times_.submitted = now;
  request->parts_left_ = static_cast<std::size_t>(cut->parts);
  request->parts_.assign(request->parts_left_, RequestPart{});
  for (std::int64_t i = 0; i < cut->parts; ++i) {
    RequestPart& part = request->parts_[static_cast<std::size_t>(i)];
    part.request = request;
    part.rows = RowsOfPart(*request, cut->parts, i);
  }
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
  const auto bytes = static_cast<std::int64_t>(InputBytes(request) + reply);
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
  const std::int64_t charge = ChargeOf(request, options_.max_outstanding_bytes);
  if (outstanding_bytes_.load() + charge > options_.max_outstanding_bytes) {
    return WithRetryHint(
        absl::ResourceExhaustedError(absl::StrCat("the server's budget of ", options_.max_outstanding_bytes,
                                                  " outstanding bytes has no room for ", charge, " more")),
        RetryMilliseconds());
  }
  return absl::OkStatus();
}

std::int64_t Scheduler::RetryMilliseconds() {
  const double nanos = nanos_per_byte_ * static_cast<double>(outstanding_bytes_.load());
  const auto estimate = static_cast<std::int64_t>(std::clamp(nanos / 1e6, 1.0, 1000.0));
  jitter_ = jitter_ * 1664525u + 1013904223u;  // callers that were refused together should not return together
  return estimate + static_cast<std::int64_t>(jitter_ >> 16) % (estimate + 1);
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
  const bool next = first_in_line || device.waiting.empty();
  if (request->parts_.size() > 1) {
    if (!next || !PlaceParts(device, request)) {
      return false;
    }
  } else {
    Batch* batch = JoinableBatch(device, *request);
    if (batch == nullptr && next) {
      batch = OpenBatch(device, *request, now);
    }
    if (batch == nullptr) {
      return false;
    }
    batch->Add(request->parts_.data());
    if (batch->members_.size() >= options_.max_batch_requests || batch->planned_rows_ >= options_.max_batch_rows) {
      batch->ready_at_ = now;  // no more company can come
    }
  }
  for (RequestPart& part : request->parts_) {
    part.state = RequestPart::State::kPlaced;
  }
  request->times_.placed = now;
  return true;
}

/// All of them or none: see the head of scheduler.h.
bool Scheduler::PlaceParts(DeviceState& device, Request* request) {
  const std::vector<Slab*> slabs = device.device->slabs().TakeAll(request->slab_bytes_, request->parts_.size());
  if (slabs.empty()) {
    return false;
  }
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    Batch* const batch = MakeBatch(device, *request, slabs[i]);
    batch->state_ = Batch::State::kSealed;  // nearly full, and of no use to company
    batch->Add(&request->parts_[i]);
  }
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
  Batch* const batch = MakeBatch(device, request, slab);
  if (request.op_index < options_.max_queue_delay.size()) {
    batch->ready_at_ = now + options_.max_queue_delay[request.op_index];
  }
  device.open[request.plan.key] = batch;
  return batch;
}

Batch* Scheduler::MakeBatch(DeviceState& device, const Request& request, Slab* slab) {
  if (spare_batches_.empty()) {
    all_batches_.push_back(std::make_unique<Batch>());
    spare_batches_.push_back(all_batches_.back().get());
  }
  Batch* batch = spare_batches_.back();
  spare_batches_.pop_back();
  batch->Open(request, slab, request.device_);
  device.pending.push_back(batch);
  return batch;
}

void Scheduler::Wait(Request* request) {
  DeviceState& device = devices_[request->device_];
  request->place_in_line_ = device.waiting.emplace(request->rank_, request);
  device.deadlines.emplace(request->deadline, request);
  ++waiting_requests_;
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

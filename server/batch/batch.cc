#include "server/batch/batch.h"

#include <algorithm>

#include "server/batch/cut.h"

namespace kernelwire {
namespace {

std::size_t TableBytes(std::size_t members) { return AlignUp(members * sizeof(Segment)); }

std::int64_t WorkBytes(const RequestPart& part) {
  const Plan& plan = part.request->plan;
  if (part.rows.count == plan.rows) {
    return plan.work_bytes;
  }
  return static_cast<std::int64_t>(static_cast<double>(plan.work_bytes) * static_cast<double>(part.rows.count) /
                                   static_cast<double>(plan.rows));
}

}  // namespace

void Batch::Open(const Request& first, Slab* slab, std::uint32_t device) {
  status = absl::OkStatus();
  copy_in = kernel = copy_out = 0;
  state_ = State::kOpen;
  op_ = first.op;
  op_index_ = first.op_index;
  device_ = device;
  lane_ = -1;
  slab_ = slab;
  key_ = first.plan.key;
  members_.clear();
  live_ = 0;
  staging_ = 0;
  planned_rows_ = 0;
  work_bytes_ = 0;
  input_end_ = 0;
  output_begin_ = slab->bytes();
  workspace_bytes_ = 0;
  copy_in_bytes_ = 0;
  rank_ = kNever;
  ready_at_ = launched_at_ = 0;
  launch_ = Launch{};
}

bool Batch::HasRoomFor(const Request& request) const {
  const std::size_t needed = TensorBytes(request, AllRows(request));
  const std::size_t taken = input_end_ + (slab_->bytes() - output_begin_) + workspace_bytes_;
  return taken + needed + TableBytes(members_.size() + 1) <= slab_->bytes();
}

void Batch::Add(RequestPart* part) {
  const Request& request = *part->request;
  for (std::size_t i = 0; i < kMaxInputs; ++i) {
    part->input_offsets[i] = RequestPart::kAbsent;
    if (request.plan_request.inputs[i].has_value()) {
      part->input_offsets[i] = input_end_;
      input_end_ += AlignUp(InputStretch(request, i, part->rows).bytes);
    }
  }
  for (std::size_t i = 0; i < kMaxOutputs; ++i) {
    part->output_offsets[i] = RequestPart::kAbsent;
    if (request.plan.outputs[i].wanted) {
      output_begin_ -= AlignUp(OutputStretch(request, i, part->rows).bytes);
      part->output_offsets[i] = output_begin_;
    }
  }
  workspace_bytes_ += WorkspaceBytes(request, part->rows);
  planned_rows_ += part->rows.count;
  work_bytes_ += WorkBytes(*part);
  rank_ = std::min(rank_, request.rank_);
  part->batch = this;
  part->member = static_cast<std::uint32_t>(members_.size());
  members_.push_back(part);
  ++live_;
  ++staging_;
}

void Batch::Remove(RequestPart* part) {
  members_[part->member] = nullptr;
  part->batch = nullptr;
  planned_rows_ -= part->rows.count;
  work_bytes_ -= WorkBytes(*part);
  --live_;
}

const Launch& Batch::BuildLaunch(const LaunchAddresses& addresses) {
  const std::size_t table_offset = AlignUp(input_end_);
  auto* const table = reinterpret_cast<Segment*>(slab_->host() + table_offset);
  std::byte* workspace = addresses.workspace + table_offset + TableBytes(members_.size());
  Segment* next = table;
  std::int64_t first_row = 0;
  for (const RequestPart* part : members_) {
    if (part == nullptr) {
      continue;
    }
    const Plan& plan = part->request->plan;
    Segment segment{};
    for (std::size_t i = 0; i < kMaxInputs; ++i) {
      const std::size_t offset = part->input_offsets[i];
      segment.inputs[i] = offset == RequestPart::kAbsent ? nullptr : addresses.inputs + offset;
    }
    for (std::size_t i = 0; i < kMaxOutputs; ++i) {
      const std::size_t offset = part->output_offsets[i];
      segment.outputs[i] = offset == RequestPart::kAbsent ? nullptr : addresses.outputs + offset;
    }
    segment.workspace = plan.workspace_bytes == 0 ? nullptr : workspace;
    workspace += WorkspaceBytes(*part->request, part->rows);
    segment.rows = part->rows.count;
    segment.first_row = first_row;
    std::copy(plan.extents.begin(), plan.extents.end(), segment.extents);
    first_row += part->rows.count;
    *next++ = segment;
    launch_.plan = &plan;
  }
  launch_.segments = table;
  launch_.device_segments = reinterpret_cast<const Segment*>(addresses.table + table_offset);
  launch_.segment_count = static_cast<int>(next - table);
  launch_.total_rows = first_row;
  launch_.tickets = addresses.tickets;
  copy_in_bytes_ = table_offset + static_cast<std::size_t>(launch_.segment_count) * sizeof(Segment);
  return launch_;
}

}  // namespace kernelwire

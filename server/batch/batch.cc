#include "server/batch/batch.h"

#include <algorithm>

namespace kernelwire {
namespace {

std::size_t InputBytes(const Request& request) {
  std::size_t bytes = 0;
  for (int i = 0; i < kMaxInputs; ++i) {
    if (request.plan_request.inputs[static_cast<std::size_t>(i)].has_value()) {
      bytes += AlignUp(request.input_bytes[i]);
    }
  }
  return bytes;
}

std::size_t OutputBytes(const Request& request) {
  std::size_t bytes = 0;
  for (const OutputPlan& output : request.plan.outputs) {
    if (output.wanted) {
      bytes += AlignUp(output.bytes);
    }
  }
  return bytes;
}

std::size_t TableBytes(std::size_t members) { return AlignUp(members * sizeof(Segment)); }

}  // namespace

std::size_t Batch::BytesNeeded(const Request& request) {
  return InputBytes(request) + OutputBytes(request) + TableBytes(1) + AlignUp(request.plan.workspace_bytes);
}

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
  ready_at_ = 0;
  launch_ = Launch{};
}

bool Batch::HasRoomFor(const Request& request) const {
  const std::size_t needed = InputBytes(request) + OutputBytes(request) + AlignUp(request.plan.workspace_bytes);
  const std::size_t taken = input_end_ + (slab_->bytes() - output_begin_) + workspace_bytes_;
  return taken + needed + TableBytes(members_.size() + 1) <= slab_->bytes();
}

void Batch::Add(Request* request) {
  BatchMember member;
  member.request = request;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kMaxInputs); ++i) {
    member.input_offsets[i] = BatchMember::kAbsent;
    if (request->plan_request.inputs[i].has_value()) {
      member.input_offsets[i] = input_end_;
      input_end_ += AlignUp(request->input_bytes[i]);
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(kMaxOutputs); ++i) {
    member.output_offsets[i] = BatchMember::kAbsent;
    if (request->plan.outputs[i].wanted) {
      output_begin_ -= AlignUp(request->plan.outputs[i].bytes);
      member.output_offsets[i] = output_begin_;
    }
  }
  workspace_bytes_ += AlignUp(request->plan.workspace_bytes);
  planned_rows_ += request->plan.rows;
  work_bytes_ += request->plan.work_bytes;
  rank_ = std::min(rank_, request->rank_);
  request->batch_ = this;
  request->member_ = static_cast<std::uint32_t>(members_.size());
  members_.push_back(member);
  ++live_;
  ++staging_;
}

void Batch::Remove(Request* request) {
  members_[request->member_].request = nullptr;
  request->batch_ = nullptr;
  planned_rows_ -= request->plan.rows;
  work_bytes_ -= request->plan.work_bytes;
  --live_;
}

const Launch& Batch::BuildLaunch(const LaunchAddresses& addresses) {
  const std::size_t table_offset = AlignUp(input_end_);
  auto* const table = reinterpret_cast<Segment*>(slab_->host() + table_offset);
  std::byte* workspace = addresses.workspace + table_offset + TableBytes(members_.size());
  Segment* next = table;
  std::int64_t first_row = 0;
  for (const BatchMember& member : members_) {
    if (member.request == nullptr) {
      continue;
    }
    const Plan& plan = member.request->plan;
    Segment segment{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(kMaxInputs); ++i) {
      const std::size_t offset = member.input_offsets[i];
      segment.inputs[i] = offset == BatchMember::kAbsent ? nullptr : addresses.inputs + offset;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(kMaxOutputs); ++i) {
      const std::size_t offset = member.output_offsets[i];
      segment.outputs[i] = offset == BatchMember::kAbsent ? nullptr : addresses.outputs + offset;
    }
    segment.workspace = plan.workspace_bytes == 0 ? nullptr : workspace;
    workspace += AlignUp(plan.workspace_bytes);
    segment.rows = plan.rows;
    segment.first_row = first_row;
    std::copy(plan.extents.begin(), plan.extents.end(), segment.extents);
    first_row += plan.rows;
    *next++ = segment;
    launch_.plan = &plan;
  }
  launch_.segments = table;
  launch_.device_segments = reinterpret_cast<const Segment*>(addresses.table + table_offset);
  launch_.segment_count = static_cast<int>(next - table);
  launch_.total_rows = first_row;
  copy_in_bytes_ = table_offset + static_cast<std::size_t>(launch_.segment_count) * sizeof(Segment);
  return launch_;
}

}  // namespace kernelwire

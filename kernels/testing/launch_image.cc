#include "kernels/testing/launch_image.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"

namespace kernelwire::testing {
namespace {

/// What execution relies on and no operator may get wrong.
absl::Status CheckPlan(const Operator& op, const Plan& plan, std::uint32_t wanted_outputs) {
  if (plan.rows < 0 || plan.work_bytes < 0 || plan.workspace_bytes % 256 != 0) {
    return absl::InternalError(absl::StrCat("plan: rows ", plan.rows, ", work_bytes ", plan.work_bytes,
                                            ", workspace_bytes ", plan.workspace_bytes, " (a multiple of 256)"));
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputPlan& output = plan.outputs[i];
    if (output.wanted != ((wanted_outputs >> i & 1u) != 0)) {
      return absl::InternalError(absl::StrCat("plan: output ", i, " is ", output.wanted ? "" : "not ",
                                              "wanted, unlike in the request (mask ", wanted_outputs, ")"));
    }
    if (output.wanted && (!op.spec.outputs[i].dtypes.Contains(output.desc.dtype) ||
                          output.desc.ByteSize().value_or(static_cast<std::size_t>(-1)) > output.bytes)) {
      return absl::InternalError(absl::StrCat("plan: output ", i, " of ", NameOf(output.desc.dtype), " ",
                                              output.desc.shape.ToString(), " has ", output.bytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

std::uint32_t WantedOutputs(const OperatorSpec& spec, const OperatorCase& test_case) {
  std::uint32_t defaults = 0;
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    defaults |= spec.outputs[i].optional ? 0u : 1u << i;
  }
  return test_case.wanted_outputs != 0 ? test_case.wanted_outputs : defaults;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedCase>> PlanCase(const Operator& op, const OperatorCase& test_case) {
  static constexpr std::byte kNoBytes{};
  if (test_case.inputs.size() > op.spec.inputs.size()) {
    return absl::InternalError(absl::StrCat("case ", test_case.name, " has more inputs than its operator"));
  }
  auto planned = std::make_unique<PlannedCase>();
  planned->source = &test_case;
  KERNELWIRE_ASSIGN_OR_RETURN(planned->attributes, Attributes::Parse(op.spec.attributes, test_case.attributes));
  planned->request.attributes = &planned->attributes;
  planned->request.wanted_outputs = WantedOutputs(op.spec, test_case);
  planned->request.input_row_strides = test_case.layout.input_row_strides;
  planned->request.output_row_strides = test_case.layout.output_row_strides;
  std::array<const void*, kMaxInputs> inputs{};
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const HostTensor& input = test_case.inputs[i];
    if (input.present()) {
      planned->request.inputs[i] = input.desc;
      inputs[i] = input.bytes.empty() ? &kNoBytes : input.bytes.data();  // null would say that it is absent
    }
  }
  KERNELWIRE_ASSIGN_OR_RETURN(planned->plan, PlanRequestFor(op, planned->request));
  KERNELWIRE_RETURN_IF_ERROR(CheckPlan(op, planned->plan, planned->request.wanted_outputs));
  if (op.check_inputs != nullptr) {
    KERNELWIRE_RETURN_IF_ERROR(op.check_inputs(planned->plan, planned->request, inputs.data()));
  }
  return planned;
}

LaunchImage::LaunchImage(const Operator& op, const PlannedCases& cases, std::byte fill)
    : op_(op), cases_(cases), fill_(fill) {
  for (const std::unique_ptr<PlannedCase>& planned : cases) {
    Placements placements;
    PlaceInputs(*planned, placements);
    PlaceOutputs(*planned, placements);
    if (planned->plan.workspace_bytes > 0) {
      placements.workspace =
          AddBuffer(planned->plan.workspace_bytes, absl::StrCat(planned->source->name, ", workspace"));
    }
    total_rows_ += planned->plan.rows;
    placements_.push_back(std::move(placements));
  }
}

LaunchImage::Placement LaunchImage::LayOut(const TensorDesc& desc, std::size_t bytes, std::int64_t row_stride,
                                           std::size_t offset, std::int64_t rows) {
  Placement placement;
  placement.offset = offset;
  placement.row_bytes = bytes;
  if (row_stride > 0 && rows > 0) {
    placement.rows = static_cast<std::size_t>(rows);
    placement.row_bytes = bytes / placement.rows;
    placement.stride_bytes = static_cast<std::size_t>(row_stride) * SizeOf(desc.dtype);
  }
  return placement;
}

void LaunchImage::PlaceInputs(const PlannedCase& planned, Placements& placements) {
  const OperatorCase& source = *planned.source;
  placements.inputs.resize(op_.spec.inputs.size());
  for (std::size_t i = 0; i < placements.inputs.size() && i < source.inputs.size(); ++i) {
    if (!source.inputs[i].present()) {
      continue;
    }
    const std::vector<std::byte>& bytes = source.inputs[i].bytes;
    Placement& placement = placements.inputs[i];
    placement = LayOut(source.inputs[i].desc, bytes.size(), source.layout.input_row_strides[i],
                       source.layout.input_offsets[i], planned.plan.rows);
    placement.buffer = AddBuffer(placement.Bytes(), absl::StrCat(source.name, ", input ", op_.spec.inputs[i].name));
    for (std::size_t row = 0; row < placement.rows; ++row) {
      std::copy_n(bytes.data() + row * placement.row_bytes, placement.row_bytes,
                  buffers_.back().data() + placement.RowAt(row));
    }
  }
}

void LaunchImage::PlaceOutputs(const PlannedCase& planned, Placements& placements) {
  const CaseLayout& layout = planned.source->layout;
  placements.outputs.resize(op_.spec.outputs.size());
  for (std::size_t i = 0; i < placements.outputs.size(); ++i) {
    const OutputPlan& output = planned.plan.outputs[i];
    if (!output.wanted) {
      continue;
    }
    Placement& placement = placements.outputs[i];
    placement =
        LayOut(output.desc, output.bytes, layout.output_row_strides[i], layout.output_offsets[i], planned.plan.rows);
    if (const int input = layout.output_in_input[i]; input != CaseLayout::kOwnMemory) {
      placement.buffer = placements.inputs[static_cast<std::size_t>(input)].buffer;
    } else {
      placement.buffer =
          AddBuffer(placement.Bytes(), absl::StrCat(planned.source->name, ", output ", op_.spec.outputs[i].name));
    }
  }
}

std::size_t LaunchImage::AddBuffer(std::size_t bytes, const std::string& what) {
  buffers_.emplace_back(bytes, fill_);
  names_.push_back(what);
  return buffers_.size() - 1;
}

std::vector<Segment> LaunchImage::Segments(const Locate& locate) const {
  const auto located = [&](std::size_t index) { return index == kAbsent ? nullptr : locate(buffers_[index]); };
  const auto tensor = [&](const Placement& placement) {
    std::byte* const data = located(placement.buffer);
    return data == nullptr ? data : data + placement.offset;
  };
  std::vector<Segment> segments;
  std::int64_t first_row = 0;
  for (std::size_t c = 0; c < cases_.size(); ++c) {
    const Plan& plan = cases_[c]->plan;
    Segment segment{};
    for (std::size_t i = 0; i < placements_[c].inputs.size(); ++i) {
      segment.inputs[i] = tensor(placements_[c].inputs[i]);
    }
    for (std::size_t i = 0; i < placements_[c].outputs.size(); ++i) {
      segment.outputs[i] = tensor(placements_[c].outputs[i]);
    }
    segment.workspace = located(placements_[c].workspace);
    segment.rows = plan.rows;
    segment.first_row = first_row;
    std::copy(plan.extents.begin(), plan.extents.end(), segment.extents);
    first_row += plan.rows;
    segments.push_back(segment);
  }
  return segments;
}

bool LaunchImage::GapsIntact(const Placement& placement) const {
  const std::byte* const data = buffers_[placement.buffer].data();
  if (!AllEqual(data, placement.offset, fill_)) {
    return false;
  }
  for (std::size_t row = 0; row + 1 < placement.rows; ++row) {
    const std::byte* const gap = data + placement.RowAt(row) + placement.row_bytes;
    const std::byte* const next = data + placement.RowAt(row + 1);
    if (!AllEqual(gap, static_cast<std::size_t>(next - gap), fill_)) {
      return false;
    }
  }
  return true;
}

bool LaunchImage::HoldsRows(const Placement& placement, const std::vector<std::byte>& bytes) const {
  for (std::size_t row = 0; row < placement.rows; ++row) {
    const std::byte* const expected = bytes.data() + row * placement.row_bytes;
    if (!SameBytes(expected, buffers_[placement.buffer].data() + placement.RowAt(row), placement.row_bytes)) {
      return false;
    }
  }
  return true;
}

absl::Status LaunchImage::CheckUntouched() const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i].GuardsIntact()) {
      return absl::InternalError(absl::StrCat(names_[i], ": the launch wrote beside it"));
    }
  }
  for (std::size_t c = 0; c < cases_.size(); ++c) {
    const OperatorCase& source = *cases_[c]->source;
    for (const std::vector<Placement>* const tensors : {&placements_[c].inputs, &placements_[c].outputs}) {
      for (const Placement& placement : *tensors) {
        if (placement.buffer != kAbsent && !GapsIntact(placement)) {
          return absl::InternalError(
              absl::StrCat(names_[placement.buffer], ": the launch wrote before or between its rows"));
        }
      }
    }
    for (std::size_t i = 0; i < placements_[c].inputs.size(); ++i) {
      const Placement& placement = placements_[c].inputs[i];
      const auto& taken = source.layout.output_in_input;
      if (placement.buffer == kAbsent || std::find(taken.begin(), taken.end(), static_cast<int>(i)) != taken.end()) {
        continue;
      }
      if (!HoldsRows(placement, source.inputs[i].bytes)) {
        return absl::InternalError(absl::StrCat(names_[placement.buffer], ": the launch changed it"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> LaunchImage::Finish(const PlannedCase& planned,
                                                            const Placements& placements) const {
  std::vector<HostTensor> outputs(placements.outputs.size());
  std::array<FinishedOutput, kMaxOutputs> finished{};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (placements.outputs[i].buffer != kAbsent) {
      const Placement& placement = placements.outputs[i];
      outputs[i].bytes.reserve(placement.Bytes() + 1);  // a wanted output without bytes has an address too
      for (std::size_t row = 0; row < placement.rows; ++row) {
        const std::byte* const from = buffers_[placement.buffer].data() + placement.RowAt(row);
        outputs[i].bytes.insert(outputs[i].bytes.end(), from, from + placement.row_bytes);
      }
      finished[i] = {outputs[i].bytes.data(), planned.plan.outputs[i].desc};
    }
  }
  if (op_.finish != nullptr) {
    KERNELWIRE_RETURN_IF_ERROR(op_.finish(planned.plan, finished.data()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (placements.outputs[i].buffer != kAbsent) {
      const std::size_t bytes = finished[i].desc.ByteSize().value_or(static_cast<std::size_t>(-1));
      if (bytes > outputs[i].bytes.size()) {
        return absl::InternalError(absl::StrCat(names_[placements.outputs[i].buffer],
                                                ": finish made it larger than planned, ",
                                                finished[i].desc.shape.ToString()));
      }
      outputs[i].desc = finished[i].desc;
      outputs[i].bytes.resize(bytes);
    }
  }
  return outputs;
}

absl::StatusOr<std::vector<std::vector<HostTensor>>> LaunchImage::Collect() const {
  KERNELWIRE_RETURN_IF_ERROR(CheckUntouched());
  std::vector<std::vector<HostTensor>> collected;
  for (std::size_t c = 0; c < cases_.size(); ++c) {
    KERNELWIRE_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, Finish(*cases_[c], placements_[c]));
    collected.push_back(std::move(outputs));
  }
  return collected;
}

}  // namespace kernelwire::testing

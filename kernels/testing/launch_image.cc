#include "kernels/testing/launch_image.h"

#include <algorithm>
#include <array>
#include <cstring>
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
                          output.desc.ByteSize() != std::optional<std::size_t>(output.bytes))) {
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
    const OperatorCase& source = *planned->source;
    Placement placement;
    for (std::size_t i = 0; i < op.spec.inputs.size(); ++i) {
      const bool present = i < source.inputs.size() && source.inputs[i].present();
      placement.inputs.push_back(kAbsent);
      if (present) {
        const std::vector<std::byte>& bytes = source.inputs[i].bytes;
        placement.inputs[i] = AddBuffer(bytes.size(), absl::StrCat(source.name, ", input ", op.spec.inputs[i].name));
        std::copy(bytes.begin(), bytes.end(), buffers_.back().data());
      }
    }
    for (std::size_t i = 0; i < op.spec.outputs.size(); ++i) {
      const OutputPlan& output = planned->plan.outputs[i];
      const std::string name = absl::StrCat(source.name, ", output ", op.spec.outputs[i].name);
      placement.outputs.push_back(output.wanted ? AddBuffer(output.bytes, name) : kAbsent);
    }
    if (planned->plan.workspace_bytes > 0) {
      placement.workspace = AddBuffer(planned->plan.workspace_bytes, absl::StrCat(source.name, ", workspace"));
    }
    total_rows_ += planned->plan.rows;
    placements_.push_back(std::move(placement));
  }
}

std::size_t LaunchImage::AddBuffer(std::size_t bytes, const std::string& what) {
  buffers_.emplace_back(bytes, fill_);
  names_.push_back(what);
  return buffers_.size() - 1;
}

std::vector<Segment> LaunchImage::Segments(const Locate& locate) const {
  const auto located = [&](std::size_t index) { return index == kAbsent ? nullptr : locate(buffers_[index]); };
  std::vector<Segment> segments;
  std::int64_t first_row = 0;
  for (std::size_t c = 0; c < cases_.size(); ++c) {
    const Plan& plan = cases_[c]->plan;
    Segment segment{};
    for (std::size_t i = 0; i < placements_[c].inputs.size(); ++i) {
      segment.inputs[i] = located(placements_[c].inputs[i]);
    }
    for (std::size_t i = 0; i < placements_[c].outputs.size(); ++i) {
      segment.outputs[i] = located(placements_[c].outputs[i]);
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

absl::Status LaunchImage::CheckUntouched() const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i].GuardsIntact()) {
      return absl::InternalError(absl::StrCat(names_[i], ": the launch wrote beside it"));
    }
  }
  for (std::size_t c = 0; c < cases_.size(); ++c) {
    for (std::size_t i = 0; i < placements_[c].inputs.size(); ++i) {
      const std::size_t index = placements_[c].inputs[i];
      if (index != kAbsent) {
        const std::vector<std::byte>& bytes = cases_[c]->source->inputs[i].bytes;
        if (!std::equal(bytes.begin(), bytes.end(), buffers_[index].data())) {
          return absl::InternalError(absl::StrCat(names_[index], ": the launch changed it"));
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> LaunchImage::Finish(const PlannedCase& planned,
                                                            const Placement& placement) const {
  std::vector<HostTensor> outputs(placement.outputs.size());
  std::array<FinishedOutput, kMaxOutputs> finished{};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (placement.outputs[i] != kAbsent) {
      const GuardedBuffer& buffer = buffers_[placement.outputs[i]];
      outputs[i].bytes.reserve(buffer.size() + 1);  // a wanted output without bytes has an address too
      outputs[i].bytes.assign(buffer.data(), buffer.data() + buffer.size());
      finished[i] = {outputs[i].bytes.data(), planned.plan.outputs[i].desc};
    }
  }
  if (op_.finish != nullptr) {
    KERNELWIRE_RETURN_IF_ERROR(op_.finish(planned.plan, finished.data()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (placement.outputs[i] != kAbsent) {
      const std::size_t bytes = finished[i].desc.ByteSize().value_or(static_cast<std::size_t>(-1));
      if (bytes > outputs[i].bytes.size()) {
        return absl::InternalError(absl::StrCat(names_[placement.outputs[i]], ": finish made it larger than planned, ",
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

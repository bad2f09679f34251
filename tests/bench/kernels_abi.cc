#include "tests/bench/kernels_abi.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "kernels/core/launch.h"
#include "kernels/core/launch_arrivals.h"
#include "kernels/core/operator.h"
#include "kernels/registry.h"
#include "server/exec/worker_pool.h"

using kernelwire::AttributeList;
using kernelwire::Attributes;
using kernelwire::AttributeValue;
using kernelwire::Launch;
using kernelwire::Operator;
using kernelwire::Plan;
using kernelwire::PlanRequest;
using kernelwire::Segment;
using kernelwire::TensorDesc;

struct KwRequest {
  const Operator* op = nullptr;
  Attributes attributes;
  Plan plan;
};

struct KwBinding {
  /// What lies on the device too.
  struct Table {
    alignas(16) std::uint32_t tickets[kernelwire::kLaunchWords];
    Segment segments[kMostKwRequests];
  };

  const KwRequest* request = nullptr;  // the first
  int count = 0;
  std::int64_t rows = 0;
  Table table{};
  Table* device_table = nullptr;
};

namespace {

thread_local std::string last_error;

AttributeValue ValueOf(absl::string_view text) {
  std::int64_t integer = 0;
  double number = 0.0;
  if (absl::SimpleAtoi(text, &integer)) {
    return integer;
  }
  if (absl::SimpleAtod(text, &number)) {
    return number;
  }
  if (text == "true" || text == "false") {
    return text == "true";
  }
  return std::string(text);
}

absl::StatusOr<Attributes> ParseAttributes(const Operator& op, const char* text) {
  AttributeList given;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    given.emplace_back(std::string(parts.first), ValueOf(parts.second));
  }
  return Attributes::Parse(op.spec.attributes, given);
}

TensorDesc DescOf(const KwTensor& tensor) {
  TensorDesc desc;
  desc.dtype = kernelwire::DataTypeFromName(tensor.dtype).value_or(kernelwire::DataType::kInvalid);
  for (std::int32_t axis = 0; axis < tensor.rank; ++axis) {
    desc.shape.Append(tensor.extents[axis]);
  }
  return desc;
}

Launch LaunchOf(const KwBinding& binding) {
  Launch launch;
  launch.plan = &binding.request->plan;
  launch.segments = binding.table.segments;
  launch.device_segments = binding.device_table != nullptr ? binding.device_table->segments : launch.segments;
  launch.segment_count = binding.count;
  launch.total_rows = binding.rows;
  launch.tickets = binding.device_table != nullptr ? binding.device_table->tickets : nullptr;
  return launch;
}

KwRequest* Fail(const std::string& error) {
  last_error = error;
  return nullptr;
}

}  // namespace

KwRequest* KwPlan(const char* op, const KwTensor* inputs, int input_count, const char* attributes,
                  std::uint32_t wanted_outputs, const std::int64_t* output_row_strides) {
  const Operator* const found = kernelwire::FindOperator(op);
  if (found == nullptr) {
    return Fail(std::string("no operator '") + op + "'");
  }
  auto parsed = ParseAttributes(*found, attributes);
  if (!parsed.ok()) {
    return Fail(parsed.status().ToString());
  }
  auto request = new KwRequest{found, *std::move(parsed), {}};
  PlanRequest asked;
  for (int i = 0; i < std::min(input_count, kernelwire::kMaxInputs); ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (inputs[i].dtype != nullptr) {
      asked.inputs[index] = DescOf(inputs[i]);
      asked.input_row_strides[index] = inputs[i].row_stride;
    }
  }
  if (output_row_strides != nullptr) {
    std::copy_n(output_row_strides, found->spec.outputs.size(), asked.output_row_strides.begin());
  }
  asked.attributes = &request->attributes;
  asked.wanted_outputs = wanted_outputs;
  auto plan = kernelwire::PlanRequestFor(*found, asked);
  if (!plan.ok()) {
    delete request;
    return Fail(plan.status().ToString());
  }
  request->plan = *std::move(plan);
  return request;
}

int KwOutput(const KwRequest* request, int index, KwTensor* output, std::size_t* bytes) {
  if (index < 0 || index >= kernelwire::kMaxOutputs) {
    return 0;
  }
  const kernelwire::OutputPlan& planned = request->plan.outputs[static_cast<std::size_t>(index)];
  if (!planned.wanted) {
    return 0;
  }
  *output = KwTensor{};
  output->dtype = kernelwire::NameOf(planned.desc.dtype);
  output->rank = planned.desc.shape.rank();
  std::copy(planned.desc.shape.begin(), planned.desc.shape.end(), output->extents);
  *bytes = planned.bytes;
  return 1;
}

std::size_t KwWorkspaceBytes(const KwRequest* request) { return request->plan.workspace_bytes; }

std::size_t KwTableBytes() { return sizeof(KwBinding::Table); }
const void* KwTable(const KwBinding* binding) { return &binding->table; }

KwBinding* KwBind(const KwRequest* request, const void* const* inputs, void* const* outputs, void* workspace,
                  void* table) {
  auto binding = new KwBinding;
  binding->request = request;
  binding->device_table = static_cast<KwBinding::Table*>(table);
  KwJoin(binding, request, inputs, outputs, workspace);
  return binding;
}

int KwJoin(KwBinding* binding, const KwRequest* request, const void* const* inputs, void* const* outputs,
           void* workspace) {
  if (binding->count == kMostKwRequests) {
    Fail("a launch has no more than " + std::to_string(kMostKwRequests) + " requests here");
    return 1;
  }
  if (!(request->plan.key == binding->request->plan.key)) {
    Fail("these requests do not share launches");
    return 1;
  }
  Segment& segment = binding->table.segments[binding->count];
  std::copy_n(inputs, request->op->spec.inputs.size(), segment.inputs);
  std::copy_n(outputs, request->op->spec.outputs.size(), segment.outputs);
  segment.workspace = workspace;
  segment.rows = request->plan.rows;
  segment.first_row = binding->rows;
  std::copy(request->plan.extents.begin(), request->plan.extents.end(), segment.extents);
  ++binding->count;
  binding->rows += segment.rows;
  return 0;
}

int KwRunCuda(const KwBinding* binding, void* stream) {
  constexpr int kNotSupported = 801;  // cudaErrorNotSupported: this build has no CUDA kernels
  const auto launch = binding->request->op->launch_cuda;
  return launch != nullptr ? launch(LaunchOf(*binding), static_cast<CUstream_st*>(stream)) : kNotSupported;
}

int KwRunHost(const KwBinding* binding, int threads) {
  static kernelwire::WorkerPool* pool = nullptr;
  static auto* const alone = new kernelwire::InlineExecutor;
  if (threads > 1 && (pool == nullptr || pool->thread_count() != threads - 1)) {
    delete pool;
    pool = new kernelwire::WorkerPool(threads - 1, "bench");
  }
  kernelwire::ParallelExecutor& executor = threads > 1 ? static_cast<kernelwire::ParallelExecutor&>(*pool) : *alone;
  const absl::Status status = binding->request->op->run_host(LaunchOf(*binding), executor);
  if (!status.ok()) {
    last_error = status.ToString();
  }
  return status.ok() ? 0 : 1;
}

void KwUnbind(KwBinding* binding) { delete binding; }
void KwFree(KwRequest* request) { delete request; }
const char* KwError() { return last_error.c_str(); }

#include "client/cli/bench_input.h"

#include <cstdint>
#include <random>
#include <utility>

#include "client/cli/command.h"
#include "client/cli/load.h"
#include "client/cli/parameter_text.h"
#include "client/cli/random_tensor.h"
#include "open_inference.pb.h"

namespace kernelwire::cli {
namespace {

using client::Result;
using client::Status;
using client::StatusCode;

constexpr char kUsualShape[] = "8,1024";

// The names of the inputs that the operator cannot do without.
Result<std::vector<std::string>> RequiredInputs(const client::Client& client, const Arguments& arguments) {
  if (arguments.Text("method") != kInferMethod) {
    return std::vector<std::string>{"x"};  // something that only takes bytes has no inputs to ask for
  }
  const auto config = client.ModelConfig(arguments.operands()[0], TimeoutOf(arguments));
  if (!config.ok()) {
    return config.status();
  }
  std::vector<std::string> names;
  for (const auto& input : config->config().input()) {
    if (!input.optional()) {
      names.push_back(input.name());
    }
  }
  return names;
}

// One of --dtype and --shape; `usual` is the shape without the option.
Result<InputPlan> PlanOf(const Arguments& arguments, const std::string& usual) {
  const auto dtype = client::DataTypeFromName(arguments.Text("dtype"));
  if (!dtype.has_value()) {
    return Status(StatusCode::kInvalidArgument,
                  "--dtype: expected a type such as FP32 or BF16, got '" + arguments.Text("dtype") + "'");
  }
  const auto shape = ParseShapeText(arguments.Has("shape") ? arguments.Text("shape") : usual);
  const Status status = shape.ok() ? CheckInputBytes(*dtype, *shape) : shape.status();
  if (!status.ok()) {
    return Status(status.code(), "--shape: " + status.message());
  }
  return InputPlan{"", *dtype, *shape};
}

// All of --dtype and --shape.
Result<std::vector<InputPlan>> PlanRequiredInputs(const client::Client& client, const Arguments& arguments) {
  const Result<std::vector<std::string>> names = RequiredInputs(client, arguments);
  if (!names.ok()) {
    return names.status();
  }
  const bool detections = !names->empty() && names->front() == "boxes";
  const Result<InputPlan> plan = PlanOf(arguments, detections ? "1000,4" : kUsualShape);
  if (!plan.ok()) {
    return plan.status();
  }
  std::vector<InputPlan> plans;
  for (const std::string& name : *names) {
    plans.push_back({name, plan->dtype, plan->shape});
    if (detections && name == "scores" && !plan->shape.empty()) {
      plans.back().shape.pop_back();
    }
  }
  if (Status status = CheckInputBytes(plans); !status.ok()) {
    return Status(status.code(), "--shape: " + status.message());
  }
  return plans;
}

// Whether --input names a file. No type and no shape has ".npy" in it.
bool IsFile(const std::optional<std::pair<std::string, std::string>>& named) {
  return named.has_value() && named->second.find(".npy") != std::string::npos;
}

// NAME=TYPE:SHAPE.
Result<InputPlan> PlanOfInput(const std::string& text) {
  Result<InputPlan> plan = ParseInputPlan(text);
  return plan.ok() ? plan : Status(plan.status().code(), "--input: " + plan.status().message());
}

// NAME=TYPE:SHAPE or NAME=FILE.npy[:TYPE].
Result<NamedArray> InputFromText(const std::string& text, std::mt19937_64& random) {
  const auto named = SplitNamed(text);
  if (IsFile(named)) {
    Result<Array> array = ReadNpyAs(named->second);
    return array.ok() ? Result<NamedArray>(NamedArray{named->first, *std::move(array)})
                      : Status(array.status().code(), "--input " + named->first + ": " + array.status().message());
  }
  const Result<InputPlan> plan = PlanOfInput(text);
  if (!plan.ok()) {
    return plan.status();
  }
  return NamedArray{plan->name, RandomTensor(*plan, random)};
}

}  // namespace

std::vector<Option> BenchInputOptions() {
  return {
      {"shape", OptionKind::kText, "SHAPE", "Of the inputs: 64,4096. For nms of the boxes. Default: 8,1024; 1000,4."},
      {"dtype", OptionKind::kText, "TYPE", "Of the inputs.", "FP32"},
      {"input", OptionKind::kText, "NAME=TYPE:SHAPE|FILE", "Gives the inputs one by one instead.", "", true},
      {"seed", OptionKind::kInteger, "N", "Of the random data and the arrivals.", "1"},
  };
}

Status CheckBenchInputs(const Arguments& arguments) {
  const std::vector<std::string> texts = arguments.All("input");
  if (texts.empty()) {
    return PlanOf(arguments, kUsualShape).status();
  }
  std::vector<InputPlan> plans;
  for (const std::string& text : texts) {
    if (IsFile(SplitNamed(text))) {
      continue;
    }
    const Result<InputPlan> plan = PlanOfInput(text);
    if (!plan.ok()) {
      return plan.status();
    }
    plans.push_back(*plan);
  }
  const Status status = CheckInputBytes(plans);
  return status.ok() ? status : Status(status.code(), "--input: " + status.message());
}

Result<std::vector<NamedArray>> BenchInputs(const client::Client& client, const Arguments& arguments) {
  std::mt19937_64 random(static_cast<std::uint64_t>(arguments.Integer("seed")));
  std::vector<NamedArray> inputs;
  for (const std::string& text : arguments.All("input")) {
    Result<NamedArray> input = InputFromText(text, random);
    if (!input.ok()) {
      return input.status();
    }
    inputs.push_back(*std::move(input));
  }
  if (!inputs.empty()) {
    return inputs;
  }
  const Result<std::vector<InputPlan>> plans = PlanRequiredInputs(client, arguments);
  if (!plans.ok()) {
    return plans.status();
  }
  for (const InputPlan& plan : *plans) {
    inputs.push_back({plan.name, RandomTensor(plan, random)});
  }
  return inputs;
}

}  // namespace kernelwire::cli

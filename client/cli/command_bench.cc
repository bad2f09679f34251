// kernelwire bench: calls/s, bytes/s and latencies of one operator under load.
#include <iostream>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "client/cli/bench_report.h"
#include "client/cli/command.h"
#include "client/cli/file.h"
#include "client/cli/load.h"
#include "client/cli/parameter_text.h"
#include "client/cli/progress_bar.h"
#include "client/cli/random_tensor.h"
#include "kernelwire/pipeline.h"
#include "open_inference.pb.h"

namespace kernelwire::cli {
namespace {

using client::Result;
using client::Status;
using client::StatusCode;

const char kInferMethod[] = "/inference.GRPCInferenceService/ModelInfer";

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

// From --input where given; otherwise the required inputs, all of --dtype and --shape, save that `scores` has one
// element for each of `boxes`.
Result<std::vector<InputPlan>> PlanInputs(const client::Client& client, const Arguments& arguments) {
  std::vector<InputPlan> plans;
  for (const std::string& text : arguments.All("input")) {
    const Result<InputPlan> plan = ParseInputPlan(text);
    if (!plan.ok()) {
      return Status(plan.status().code(), "--input: " + plan.status().message());
    }
    plans.push_back(*plan);
  }
  if (!plans.empty()) {
    return plans;
  }
  const auto dtype = client::DataTypeFromName(arguments.Text("dtype"));
  if (!dtype.has_value()) {
    return Status(StatusCode::kInvalidArgument,
                  "--dtype: expected a type such as FP32 or BF16, got '" + arguments.Text("dtype") + "'");
  }
  const Result<std::vector<std::string>> names = RequiredInputs(client, arguments);
  if (!names.ok()) {
    return names.status();
  }
  const bool detections = !names->empty() && names->front() == "boxes";
  const auto shape = ParseShapeText(arguments.Has("shape") ? arguments.Text("shape")
                                    : detections           ? "1000,4"
                                                           : "8,1024");
  if (!shape.ok()) {
    return Status(shape.status().code(), "--shape: " + shape.status().message());
  }
  for (const std::string& name : *names) {
    plans.push_back({name, *dtype, *shape});
    if (detections && name == "scores" && !shape->empty()) {
      plans.back().shape.pop_back();
    }
  }
  return plans;
}

Result<LoadPlan> PlanLoad(const Arguments& arguments) {
  LoadPlan plan;
  plan.method = arguments.Text("method");
  plan.threads = arguments.Integer("threads");
  if (arguments.Has("rate")) {
    plan.rate = arguments.Number("rate");
    if (*plan.rate <= 0) {
      return Status(StatusCode::kInvalidArgument, "--rate: expected a number > 0, got " + arguments.Text("rate"));
    }
  }
  constexpr std::int64_t kOpenLoopLimit = 4096;
  plan.outstanding = arguments.Has("outstanding") ? arguments.Integer("outstanding")
                     : plan.rate.has_value()      ? kOpenLoopLimit
                                                  : plan.threads;
  if (plan.outstanding < plan.threads) {
    return Status(StatusCode::kInvalidArgument, "--outstanding: expected at least one a thread, got " +
                                                    arguments.Text("outstanding") + " for " +
                                                    arguments.Text("threads") + " threads");
  }
  if (arguments.Has("requests")) {
    plan.requests = arguments.Integer("requests");
  }
  plan.duration = arguments.Duration("duration");
  plan.warm_up = arguments.Duration("warm_up");
  plan.timeout = TimeoutOf(arguments);
  plan.seed = static_cast<std::uint64_t>(arguments.Integer("seed"));
  return plan;
}

Result<client::EncodedRequest> MakeRequest(const Arguments& arguments, const std::vector<InputPlan>& plans) {
  std::mt19937_64 random(static_cast<std::uint64_t>(arguments.Integer("seed")));
  client::InferRequest request;
  request.model = arguments.operands()[0];
  if (Status status = AddAttributes(arguments, &request); !status.ok()) {
    return status;
  }
  std::vector<Array> arrays;
  arrays.reserve(plans.size());
  for (const InputPlan& plan : plans) {
    const Array& array = arrays.emplace_back(RandomTensor(plan, random));
    request.inputs.push_back({plan.name, {array.dtype, array.shape, array.bytes.data(), array.bytes.size(), {}}});
  }
  return client::EncodedRequest::From(request);
}

// One call before the load: a request that the server refuses is reported once, whole, and nothing is measured.
Status TryOnce(const client::Client& client, const client::EncodedRequest& request, const LoadPlan& plan) {
  client::Pipeline pipeline(client, plan.method);
  pipeline.Start(request, plan.timeout, 0);
  const auto done = pipeline.Next(client::Timeout::max());
  if (!done.has_value()) {
    return Status(StatusCode::kInternal, "the call did not end");
  }
  if (!done->status().ok() || plan.method != kInferMethod) {
    return done->status();
  }
  return done->Decode().status();
}

int Run(const Arguments& arguments) {
  const Result<LoadPlan> plan = PlanLoad(arguments);
  if (!plan.ok()) {
    return FailUsage(plan.status().message());
  }
  const client::Client client = ConnectTo(arguments, static_cast<int>(arguments.Integer("connections")));
  const auto inputs = PlanInputs(client, arguments);
  if (!inputs.ok()) {
    return Fail(inputs.status());
  }
  const auto request = MakeRequest(arguments, *inputs);
  if (!request.ok()) {
    return Fail(request.status());
  }
  if (Status status = TryOnce(client, *request, *plan); !status.ok()) {
    return Fail(status);
  }
  const BenchSubject subject{arguments.operands()[0], arguments.Text("address"), arguments.Integer("connections"),
                             *inputs, request->byte_size()};
  std::cout << HeadlineText(subject, *plan) << std::flush;
  std::optional<ProgressBar> bar(std::in_place);
  const LoadResult result =
      RunLoad(client, *request, *plan, [&bar](double share, std::uint64_t calls) { bar->Show(share, calls); });
  bar.reset();
  std::cout << ReportText(subject, result);
  if (arguments.Has("json")) {
    if (Status status = WriteFile(arguments.Text("json"), ReportJson(subject, *plan, result)); !status.ok()) {
      return Fail(status);
    }
  }
  return result.failed() == 0 ? kExitOk : kExitFailed;
}

std::vector<Option> Options() {
  return {
      {"shape", OptionKind::kText, "SHAPE", "Of the inputs: 64,4096. For nms of the boxes. Default: 8,1024; 1000,4."},
      {"dtype", OptionKind::kText, "TYPE", "Of the inputs.", "FP32"},
      {"input", OptionKind::kText, "NAME=TYPE:SHAPE", "Gives the inputs one by one instead.", "", true},
      AttributeOption(),
      {"outstanding", OptionKind::kInteger, "N",
       "Calls under way, of all threads; with --rate, at most. Default: 1 a thread; 4096."},
      {"rate", OptionKind::kNumber, "R", "An open loop of R calls a second."},
      {"connections", OptionKind::kInteger, "N", "TCP connections, used in turn.", "1"},
      {"threads", OptionKind::kInteger, "N", "Threads that send and receive.", "1"},
      {"duration", OptionKind::kDuration, "TIME", "How long to measure.", "5s"},
      {"requests", OptionKind::kInteger, "N", "How many calls to measure, instead of a time."},
      {"warm_up", OptionKind::kDuration, "TIME", "How long to call before that, uncounted.", "500ms"},
      {"seed", OptionKind::kInteger, "N", "Of the random data and the arrivals.", "1"},
      {"json", OptionKind::kText, "FILE", "Writes the results as JSON."},
      {"method", OptionKind::kText, "METHOD", "Sends the same bytes to another method.", kInferMethod}};
}

}  // namespace

Command BenchCommand() {
  return {
      "bench",
      "OPERATOR",
      "measures an operator under load",
      "Sends one request of random data again and again, checks the status of every call, and prints calls/s, bytes/s\n"
      "each way and the distribution of latencies. Nothing is retried. The exit status is 1 if any call failed.\n"
      "\n"
      "Closed loop (the default): --outstanding calls are always under way. With 1, the latency of a lone caller;\n"
      "with many, the most that the server can do.\n"
      "Open loop (--rate): calls start at random moments of that mean rate, as independent users would, whether or\n"
      "not earlier ones are back, and a latency counts from when the call was due. This is what to look at for the\n"
      "latencies that users will see below full load.\n"
      "\n"
      "One thread keeps one processor busy with sending and receiving. If it is the limit, use --threads and\n"
      "--connections. On the server's machine the two compete for processors.\n"
      "\n"
      "  kernelwire bench softmax --shape 8,1024\n"
      "  kernelwire bench rms_norm --shape 64,4096 --dtype BF16 --outstanding 64 --connections 2 --threads 2\n"
      "  kernelwire bench nms --shape 8400,4 --attribute iou_threshold=0.7 --rate 500 --duration 30s\n"
      "  kernelwire bench echo --address localhost:9000 --method /kernelwire.bench.Echo/Echo --shape 256\n",
      Options(),
      Run};
}

}  // namespace kernelwire::cli

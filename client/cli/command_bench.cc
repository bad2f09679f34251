// kernelwire bench: calls/s, bytes/s and latencies of one operator under load.
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/bench_input.h"
#include "client/cli/bench_report.h"
#include "client/cli/command.h"
#include "client/cli/file.h"
#include "client/cli/load.h"
#include "client/cli/parameter_text.h"
#include "client/cli/progress_bar.h"
#include "kernelwire/pipeline.h"

namespace kernelwire::cli {
namespace {

using client::Result;
using client::Status;
using client::StatusCode;

// More than any machine has a use for is a slip of the keyboard: it must not end in a lack of memory or threads.
Status CheckCounts(const Arguments& arguments) {
  constexpr std::pair<const char*, std::int64_t> kMost[] = {
      {"outstanding", 1'000'000}, {"threads", 1024}, {"connections", 65'535}};
  for (const auto& [name, most] : kMost) {
    if (arguments.Has(name) && arguments.Integer(name) > most) {
      return Status(StatusCode::kInvalidArgument, "--" + std::string(name) + ": expected a whole number from 1 to " +
                                                      std::to_string(most) + ", got " + arguments.Text(name));
    }
  }
  return Status();
}

Result<LoadPlan> PlanLoad(const Arguments& arguments) {
  if (Status status = CheckCounts(arguments); !status.ok()) {
    return status;
  }
  LoadPlan plan;
  plan.method = arguments.Text("method");
  plan.threads = arguments.Integer("threads");
  if (arguments.Has("rate")) {
    plan.rate = arguments.Number("rate");
    if (*plan.rate < kLeastRate) {
      return Status(StatusCode::kInvalidArgument,
                    "--rate: expected at least one call in 1000 s, got " + arguments.Text("rate") + " a second");
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

Result<client::EncodedRequest> MakeRequest(const Arguments& arguments, const std::vector<NamedArray>& inputs) {
  client::InferRequest request;
  request.model = arguments.operands()[0];
  if (Status status = AddAttributes(arguments, &request); !status.ok()) {
    return status;
  }
  for (const auto& [name, array] : inputs) {
    request.inputs.push_back({name, {array.dtype, array.shape, array.bytes.data(), array.bytes.size(), {}}});
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

int RunBench(const Arguments& arguments) {
  const Result<LoadPlan> plan = PlanLoad(arguments);
  if (!plan.ok()) {
    return FailUsage(plan.status().message());
  }
  if (Status status = CheckBenchInputs(arguments); !status.ok()) {
    return FailUsage(status.message());
  }
  const client::Client client = ConnectTo(arguments, static_cast<int>(arguments.Integer("connections")));
  const auto inputs = BenchInputs(client, arguments);
  if (!inputs.ok()) {
    return Fail(inputs.status());
  }
  const auto request = MakeRequest(arguments, *inputs);
  if (!request.ok()) {
    return FailUsage(request.status().message());
  }
  if (Status status = TryOnce(client, *request, *plan); !status.ok()) {
    return Fail(status);
  }
  BenchSubject subject{
      arguments.operands()[0], arguments.Text("address"), arguments.Integer("connections"), {}, request->byte_size()};
  for (const auto& [name, array] : *inputs) {
    subject.inputs.push_back({name, array.dtype, array.shape});
  }
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
  std::vector<Option> options = BenchInputOptions();
  const std::vector<Option> others = {
      AttributeOption(),
      {"outstanding", OptionKind::kInteger, "N",
       "Calls under way, of all threads; with --rate, at most. Default: 1 a thread; 4096."},
      {"rate", OptionKind::kNumber, "R", "An open loop of R calls a second."},
      {"connections", OptionKind::kInteger, "N", "TCP connections, used in turn.", "1"},
      {"threads", OptionKind::kInteger, "N", "Threads that send and receive.", "1"},
      {"duration", OptionKind::kDuration, "TIME", "How long to measure.", "5s"},
      {"requests", OptionKind::kInteger, "N", "How many calls to measure, instead of a time."},
      {"warm_up", OptionKind::kDuration, "TIME", "How long to call before that, uncounted.", "500ms"},
      {"json", OptionKind::kText, "FILE", "Writes the results as JSON."},
      {"method", OptionKind::kText, "METHOD", "Sends the same bytes to another method.", kInferMethod}};
  options.insert(options.end(), others.begin(), others.end());
  return options;
}

}  // namespace

Command BenchCommand() {
  return {
      "bench",
      "OPERATOR",
      "measures an operator under load",
      "Sends one request again and again, checks the status of every call, and prints calls/s, bytes/s each way and\n"
      "the distribution of latencies. Nothing is retried. The exit status is 1 if any call failed.\n"
      "\n"
      "The inputs are random, or come from NumPy's .npy files: --input x=a.npy, or x=a.npy:BF16 to convert f4 first.\n"
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
      "  kernelwire bench detection_postprocess --input predictions=head.npy --attribute layout=yolov8\n"
      "  kernelwire bench echo --address localhost:9000 --method /kernelwire.bench.Echo/Echo --shape 256\n",
      Options(),
      RunBench};
}

}  // namespace kernelwire::cli

#include "server/options.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/registry.h"
#include "server/option_flags.h"
#include "server/option_problems.h"

namespace kernelwire {
namespace {

/// Delays by operator index, as the scheduler takes them.
void ReadDelays(const std::string& text, SchedulerOptions* scheduler, OptionProblems* problems) {
  const auto delays = ParseDelays(text);
  if (!delays.ok()) {
    problems->Add("max_queue_delay", std::string(delays.status().message()));
    return;
  }
  const std::vector<Operator>& operators = AllOperators();
  scheduler->max_queue_delay.assign(operators.size(), 0);
  for (const auto& [model, delay] : *delays) {
    const auto found = std::find_if(operators.begin(), operators.end(),
                                    [&name = model](const Operator& op) { return op.spec.name == name; });
    if (found == operators.end()) {
      const auto name_of = [](std::string* out, const Operator& op) { out->append(op.spec.name); };
      problems->Add("max_queue_delay", absl::StrCat("expected a model of the server (",
                                                    absl::StrJoin(operators, ", ", name_of), "), got \"", model, "\""));
      continue;
    }
    scheduler->max_queue_delay[static_cast<std::size_t>(found - operators.begin())] = absl::ToInt64Nanoseconds(delay);
  }
}

void ReadNames(Options* options, OptionProblems* problems) {
  const std::string device = absl::GetFlag(FLAGS_device);
  const DeviceChoice choices[] = {DeviceChoice::kAuto, DeviceChoice::kCuda, DeviceChoice::kHost};
  const auto choice = std::find_if(std::begin(choices), std::end(choices),
                                   [&device](DeviceChoice known) { return device == NameOf(known); });
  if (choice == std::end(choices)) {
    problems->Add("device", absl::StrCat("expected auto, cuda or host, got \"", device, "\""));
  } else {
    options->device = *choice;
  }
  if (auto gpus = ParseOrdinals(absl::GetFlag(FLAGS_devices)); gpus.ok()) {
    options->gpus = *std::move(gpus);
  } else {
    problems->Add("devices", std::string(gpus.status().message()));
  }
  if (const auto level = LogLevelByName(absl::GetFlag(FLAGS_log_level)); level.ok()) {
    options->log_level = *level;
  } else {
    problems->Add("log_level", std::string(level.status().message()));
  }
  const std::string format = absl::GetFlag(FLAGS_log_format);
  options->log_format = format == "json" ? LogFormat::kJson : LogFormat::kPlain;
  if (format != "plain" && format != "json") {
    problems->Add("log_format", absl::StrCat("expected plain or json, got \"", format, "\""));
  }
}

std::size_t Bytes(const absl::Flag<ByteSize>& flag) { return static_cast<std::size_t>(absl::GetFlag(flag).bytes); }

/// What gRPC and the options count in. Cutting less than that would make "never" of a small value.
std::chrono::milliseconds Milliseconds(const char* name, const absl::Flag<absl::Duration>& flag,
                                       OptionProblems* problems) {
  const absl::Duration value = absl::GetFlag(flag);
  if (value != absl::Trunc(value, absl::Milliseconds(1))) {
    problems->Add(name, absl::StrCat("expected whole milliseconds, got ", absl::FormatDuration(value)));
  }
  return absl::ToChronoMilliseconds(value);
}

void ReadDurations(RpcOptions* rpc, OptionProblems* problems) {
  rpc->read_timeout = Milliseconds("read_timeout", FLAGS_read_timeout, problems);
  rpc->max_connection_idle = Milliseconds("max_connection_idle", FLAGS_max_connection_idle, problems);
  rpc->max_connection_age = Milliseconds("max_connection_age", FLAGS_max_connection_age, problems);
  rpc->max_connection_age_grace = Milliseconds("max_connection_age_grace", FLAGS_max_connection_age_grace, problems);
}

void ReadRpc(RpcOptions* rpc) {
  rpc->addresses = SplitList(absl::GetFlag(FLAGS_address));
  rpc->reflection = absl::GetFlag(FLAGS_reflection);
  rpc->completion_queues = absl::GetFlag(FLAGS_completion_queues);
  rpc->max_message_bytes = Bytes(FLAGS_max_message_bytes);
  rpc->max_calls = absl::GetFlag(FLAGS_max_calls);
  rpc->max_calls_per_peer = absl::GetFlag(FLAGS_max_calls_per_peer);
  rpc->max_reading_calls = absl::GetFlag(FLAGS_max_reading_calls);
  rpc->max_streams = absl::GetFlag(FLAGS_max_streams);
  rpc->max_stream_requests = absl::GetFlag(FLAGS_max_stream_requests);
  rpc->memory_quota_bytes = Bytes(FLAGS_grpc_memory_bytes);
}

void ReadScheduler(SchedulerOptions* scheduler) {
  scheduler->batch_slab_bytes = Bytes(FLAGS_batch_bytes);
  // A negative number becomes 0, which CheckOptions refuses as well.
  scheduler->max_batch_requests = static_cast<std::size_t>(std::max(0, absl::GetFlag(FLAGS_max_batch_requests)));
  scheduler->max_batch_rows = absl::GetFlag(FLAGS_max_batch_rows);
  scheduler->max_reply_bytes = Bytes(FLAGS_max_reply_bytes);
  scheduler->max_outstanding_bytes = static_cast<std::int64_t>(Bytes(FLAGS_max_outstanding_bytes));
  scheduler->max_outstanding_requests = absl::GetFlag(FLAGS_max_outstanding_requests);
}

}  // namespace

const char* NameOf(DeviceChoice choice) {
  switch (choice) {
    case DeviceChoice::kAuto:
      return "auto";
    case DeviceChoice::kCuda:
      return "cuda";
    case DeviceChoice::kHost:
      break;
  }
  return "host";
}

Options::Options() {
  // What the default slab can hold; the part itself has no opinion.
  scheduler.max_reply_bytes = std::size_t{256} << 20;
}

absl::StatusOr<Options> OptionsFromFlags() {
  Options options;
  OptionProblems problems;
  ReadRpc(&options.rpc);
  ReadDurations(&options.rpc, &problems);
  ReadScheduler(&options.scheduler);
  ReadDelays(absl::GetFlag(FLAGS_max_queue_delay), &options.scheduler, &problems);
  ReadNames(&options, &problems);
  options.lanes = absl::GetFlag(FLAGS_lanes);
  options.staging_bytes = Bytes(FLAGS_staging_bytes);
  options.host_inline_bytes = static_cast<std::int64_t>(Bytes(FLAGS_host_inline_bytes));
  options.self_test = absl::GetFlag(FLAGS_self_test);
  options.metrics_address = absl::GetFlag(FLAGS_metrics_address);
  options.drain_delay = absl::GetFlag(FLAGS_drain_delay);
  options.drain_timeout = absl::GetFlag(FLAGS_drain_timeout);

  const absl::Status unreadable = problems.ToStatus();
  const absl::Status impossible = CheckOptions(options);
  if (unreadable.ok() && impossible.ok()) {
    return options;
  }
  const char* between = unreadable.ok() || impossible.ok() ? "" : "\n";
  return absl::InvalidArgumentError(absl::StrCat(unreadable.message(), between, impossible.message()));
}

}  // namespace kernelwire

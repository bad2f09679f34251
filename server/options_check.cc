// What options may be: each by itself, and together.
#include <chrono>
#include <climits>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/option_problems.h"
#include "server/options.h"

namespace kernelwire {
namespace {

/// A message of gRPC and Protocol Buffers has a size that an int holds.
constexpr std::int64_t kMostMessageBytes = INT_MAX;
/// What a slab holds beside one request's tensors: its table entry, and the gaps before aligned tensors.
constexpr std::int64_t kSlabOverheadBytes = std::int64_t{64} << 10;
constexpr std::int64_t kSmallestSlab = 4096;
constexpr absl::Duration kLongestQueueDelay = absl::Hours(1);
constexpr absl::Duration kLongestQueueDelayOfSelfTest = absl::Seconds(10);  // its requests wait for company, too
constexpr absl::Duration kLongestDrain = absl::Hours(24);
constexpr absl::Duration kLongestAge = absl::Hours(24 * 7);

std::string Size(std::int64_t bytes) { return AbslUnparseFlag(ByteSize{bytes}); }

bool IsHostAndPort(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  int port = -1;
  return colon != std::string::npos && colon > 0 && absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 0 &&
         port <= 65535;
}

bool IsUnixSocket(const std::string& address) {
  const auto begins_with = [&address](const std::string& scheme) {
    return address.rfind(scheme, 0) == 0 && address.size() > scheme.size();
  };
  return begins_with("unix:") || begins_with("unix-abstract:");
}

void CheckPorts(const Options& options, OptionProblems* problems) {
  if (options.rpc.addresses.empty()) {
    problems->Add("address", "expected at least one address, got none");
  }
  for (const std::string& address : options.rpc.addresses) {
    if (!IsAddress(address)) {
      problems->Add("address", absl::StrCat(kExpectedAddress, ", got \"", address, "\""));
    }
  }
  if (!options.metrics_address.empty() && !IsHostAndPort(options.metrics_address)) {
    problems->Add("metrics_address",
                  absl::StrCat("expected host:port, or nothing for no port, got \"", options.metrics_address, "\""));
  }
}

/// A slab is a power of two of bytes, so of the staging memory one request can have at most this much.
std::int64_t LargestSlab(std::int64_t staging_bytes) {
  std::int64_t slab = kSmallestSlab;
  while (slab <= staging_bytes / 2) {
    slab *= 2;
  }
  return slab;
}

void CheckDevices(const Options& options, OptionProblems* problems) {
  if (options.device == DeviceChoice::kHost && !options.gpus.empty()) {
    problems->Add("devices", absl::StrCat("expected none with --device=host, got ", absl::StrJoin(options.gpus, ",")));
  }
  problems->CheckRange("lanes", options.lanes, 0, 256);
  problems->CheckSize("host_inline_bytes", options.host_inline_bytes, 0, std::int64_t{1} << 40);
  const auto staging = static_cast<std::int64_t>(options.staging_bytes);
  problems->CheckSize("staging_bytes", staging, std::int64_t{1} << 20, std::int64_t{1} << 40);
  const auto message = static_cast<std::int64_t>(options.rpc.max_message_bytes);
  const bool message_in_range = message >= 0 && message <= kMostMessageBytes;
  const std::int64_t needed = 2 * message + kSlabOverheadBytes;
  if (message_in_range && LargestSlab(staging) < needed) {
    std::int64_t least = kSmallestSlab;
    while (least < needed) {
      least *= 2;
    }
    problems->Add("staging_bytes", absl::StrCat("expected at least ", Size(least),
                                                ", so that a request of --max_message_bytes=", Size(message),
                                                " and a result of its size fit into one slab, got ", Size(staging)));
  }
}

void CheckBatching(const Options& options, OptionProblems* problems) {
  const SchedulerOptions& scheduler = options.scheduler;
  problems->CheckSize("batch_bytes", static_cast<std::int64_t>(scheduler.batch_slab_bytes), kSmallestSlab,
                      LargestSlab(static_cast<std::int64_t>(options.staging_bytes)));
  problems->CheckRange("max_batch_requests", static_cast<std::int64_t>(scheduler.max_batch_requests), 1, 65536);
  problems->CheckRange("max_batch_rows", scheduler.max_batch_rows, 1, std::int64_t{1} << 40);
  for (const Nanos delay : scheduler.max_queue_delay) {
    problems->CheckDuration("max_queue_delay", absl::Nanoseconds(delay), absl::ZeroDuration(),
                            options.self_test ? kLongestQueueDelayOfSelfTest : kLongestQueueDelay);
  }
}

void CheckReading(const RpcOptions& rpc, OptionProblems* problems) {
  problems->CheckRange("completion_queues", rpc.completion_queues, 1, 64);
  problems->CheckRange("max_reading_calls", rpc.max_reading_calls, 1, 1 << 20);
  if (rpc.max_reading_calls < rpc.completion_queues) {
    problems->Add("max_reading_calls", absl::StrCat("expected at least --completion_queues=", rpc.completion_queues,
                                                    ", one for each, got ", rpc.max_reading_calls));
  }
  problems->CheckDuration("read_timeout", absl::FromChrono(rpc.read_timeout), absl::FromChrono(kShortestReadTimeout),
                          absl::Hours(1));
}

void CheckLimits(const Options& options, OptionProblems* problems) {
  const RpcOptions& rpc = options.rpc;
  const auto message = static_cast<std::int64_t>(rpc.max_message_bytes);
  problems->CheckSize("max_message_bytes", message, 1024, kMostMessageBytes);
  problems->CheckSize("max_reply_bytes", static_cast<std::int64_t>(options.scheduler.max_reply_bytes), 1024,
                      kMostMessageBytes);
  const std::int64_t outstanding = options.scheduler.max_outstanding_bytes;
  if (message <= kMostMessageBytes && outstanding < 2 * message) {
    problems->Add("max_outstanding_bytes",
                  absl::StrCat("expected at least ", Size(2 * message), ", so that a request of --max_message_bytes=",
                               Size(message), " and a result of its size can be admitted, got ", Size(outstanding)));
  }
  problems->CheckRange("max_outstanding_requests", options.scheduler.max_outstanding_requests, 1, 1 << 30);
  problems->CheckRange("max_calls", rpc.max_calls, 1, 1 << 20);
  problems->CheckRange("max_calls_per_peer", rpc.max_calls_per_peer, 1, 1 << 20);
  if (rpc.max_calls_per_peer > rpc.max_calls) {
    problems->Add("max_calls_per_peer",
                  absl::StrCat("expected at most --max_calls=", rpc.max_calls, ", got ", rpc.max_calls_per_peer));
  }
  problems->CheckRange("max_streams", rpc.max_streams, 1, 1 << 20);
  problems->CheckRange("max_stream_requests", rpc.max_stream_requests, 1, 1 << 20);
  const std::pair<const char*, std::chrono::milliseconds> ages[] = {
      {"max_connection_idle", rpc.max_connection_idle},
      {"max_connection_age", rpc.max_connection_age},
      {"max_connection_age_grace", rpc.max_connection_age_grace}};
  for (const auto& [flag, age] : ages) {
    problems->CheckDuration(flag, absl::FromChrono(age), absl::ZeroDuration(), kLongestAge);
  }
  problems->CheckSize("grpc_memory_bytes", static_cast<std::int64_t>(rpc.memory_quota_bytes), 0, std::int64_t{1} << 40);
  CheckReading(rpc, problems);
}

}  // namespace

bool IsAddress(const std::string& text) { return IsUnixSocket(text) || IsHostAndPort(text); }

absl::Status CheckOptions(const Options& options) {
  OptionProblems problems;
  CheckPorts(options, &problems);
  CheckDevices(options, &problems);
  CheckBatching(options, &problems);
  CheckLimits(options, &problems);
  problems.CheckDuration("drain_delay", options.drain_delay, absl::ZeroDuration(), kLongestDrain);
  problems.CheckDuration("drain_timeout", options.drain_timeout, absl::ZeroDuration(), kLongestDrain);
  return problems.ToStatus();
}

}  // namespace kernelwire

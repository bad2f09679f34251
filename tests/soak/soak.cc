// Loads a running server with a million mixed requests and says what it has kept of them: memory, threads, descriptors,
// and whether its counters agree with the answers. Exit code 0 when all is well, 1 when not.
//
//   kernelwire-soak --address=127.0.0.1:8001 --metrics_address=127.0.0.1:8002 --pid=$(pidof kernelwire-server)
//   kernelwire-soak --address=127.0.0.1:8001 --idle=6            the first call after a pause, instead
//
// The server must have served nothing before, as its counters are compared whole.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/time.h"
#include "tests/soak/idle.h"
#include "tests/soak/load.h"
#include "tests/soak/process_sample.h"
#include "tests/soak/request_counters.h"

ABSL_FLAG(std::string, address, "127.0.0.1:8001", "where the server listens");
ABSL_FLAG(std::string, metrics_address, "127.0.0.1:8002", "where it shows its metrics");
ABSL_FLAG(int, pid, 0, "its process");
ABSL_FLAG(std::int64_t, requests, 1'000'000, "requests to measure");
ABSL_FLAG(
    std::int64_t, warm_up, 200'000,
    "requests before the first sample: as many as it takes until the heap has seen most of what can be under way at "
    "one time");
ABSL_FLAG(int, samples, 10, "samples between the first and the last request");
ABSL_FLAG(std::int64_t, allowed_growth_kib, 1024, "growth of resident memory that passes");
ABSL_FLAG(std::uint64_t, seed, 1, "of what is sent in which order");
ABSL_FLAG(int, idle, 0, "measure the first call after this many pauses instead");
ABSL_FLAG(absl::Duration, idle_pause, absl::Seconds(10), "length of such a pause");

namespace kernelwire::soak {
namespace {

// gRPC adds threads of its own when all of them are busy, up to a few for each processor, and has a socket or two open
// for a moment. A leak would be thousands.
constexpr std::int64_t kAllowedThreads = 8;
constexpr std::int64_t kAllowedDescriptors = 4;

/// Until the server has put away every call: the last cancelled ones end a moment after the client has let go of them.
std::optional<RequestCounters> AwaitQuiet(const std::string& metrics_address) {
  std::optional<RequestCounters> counters = ReadRequestCounters(metrics_address);
  for (int i = 0; i < 600 && counters.has_value() && (counters->calls > 0 || counters->outstanding > 0); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    counters = ReadRequestCounters(metrics_address);
  }
  return counters;
}

void PrintRow(std::int64_t requests, const ProcessSample& sample, double rate) {
  std::printf("%9" PRId64 "  %9" PRId64 "  %9" PRId64 "  %7" PRId64 "  %11" PRId64 "  %7.0f\n", requests,
              sample.resident_kib, sample.anonymous_kib, sample.threads, sample.descriptors, rate);
  std::fflush(stdout);
}

bool ReportTally(const Tally& tally, const RequestCounters& counters) {
  std::printf("\noutcomes the client saw:");
  for (const auto& [code, count] : tally.by_code) {
    std::printf(" %s %" PRId64, code.c_str(), count);
  }
  std::printf("; given up %" PRId64 " (of these answered in time: %" PRId64 ")\nthe server counted:", tally.given_up,
              tally.given_up_ok);
  for (const auto& [code, count] : counters.by_code) {
    if (count != 0) {
      std::printf(" %s %" PRId64, code.c_str(), count);
    }
  }
  const std::string contradictions = Contradictions(tally, counters.by_code);
  std::printf("\n%s%s", contradictions.empty() ? "the counts agree\n" : "CONTRADICTION\n", contradictions.c_str());
  if (tally.wrong > 0) {
    std::printf("WRONG: %" PRId64 " outcomes; the first: %s\n", tally.wrong, tally.first_wrong.c_str());
  }
  if (counters.calls != 0 || counters.outstanding != 0) {
    std::printf("LEFT OVER: %" PRId64 " calls, %" PRId64 " requests\n", counters.calls, counters.outstanding);
  }
  return contradictions.empty() && tally.wrong == 0 && counters.calls == 0 && counters.outstanding == 0;
}

bool ReportGrowth(const ProcessSample& first, const ProcessSample& last) {
  const std::int64_t growth = last.resident_kib - first.resident_kib;
  const std::int64_t allowed = absl::GetFlag(FLAGS_allowed_growth_kib);
  const bool held = first.resident_kib > 0 && growth <= allowed && last.threads - first.threads <= kAllowedThreads &&
                    last.descriptors - first.descriptors <= kAllowedDescriptors;
  std::printf("growth after the warm-up: %" PRId64 " KiB resident (allowed: %" PRId64 "), %" PRId64 " threads, %" PRId64
              " descriptors: %s\n",
              growth, allowed, last.threads - first.threads, last.descriptors - first.descriptors,
              held ? "held" : "GROWN");
  return held;
}

bool Soak() {
  const std::string metrics_address = absl::GetFlag(FLAGS_metrics_address);
  const int pid = absl::GetFlag(FLAGS_pid);
  const std::int64_t requests = absl::GetFlag(FLAGS_requests);
  const int samples = std::max(1, absl::GetFlag(FLAGS_samples));
  std::printf("seed %" PRIu64 "\n requests   resident  anonymous  threads  descriptors  calls/s   (KiB)\n",
              absl::GetFlag(FLAGS_seed));
  RequestMix mix(absl::GetFlag(FLAGS_seed));
  Tally tally;
  Load load(absl::GetFlag(FLAGS_address), LoadOptions(), &mix, &tally);
  ProcessSample first;
  ProcessSample last;
  std::optional<RequestCounters> counters;
  for (int i = 0; i <= samples; ++i) {
    const auto began = std::chrono::steady_clock::now();
    const std::int64_t part =
        i == 0 ? absl::GetFlag(FLAGS_warm_up) : requests * i / samples - requests * (i - 1) / samples;
    load.Run(part);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    counters = AwaitQuiet(metrics_address);
    if (!counters.has_value()) {
      std::fprintf(stderr, "no metrics at %s\n", metrics_address.c_str());
      return false;
    }
    last = SampleProcess(pid);
    first = i == 0 ? last : first;
    PrintRow(tally.total(), last, static_cast<double>(part) / took.count());
  }
  const bool counted = ReportTally(tally, *counters);
  return ReportGrowth(first, last) && counted;
}

}  // namespace
}  // namespace kernelwire::soak

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const int periods = absl::GetFlag(FLAGS_idle);
  const bool good = periods > 0 ? kernelwire::soak::MeasureIdle(absl::GetFlag(FLAGS_address), periods,
                                                                absl::GetFlag(FLAGS_idle_pause))
                                : kernelwire::soak::Soak();
  return good ? 0 : 1;
}

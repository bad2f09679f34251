// A load on a server, and what became of it.
//
// Closed loop: a fixed number of calls is always outstanding; a slow server gets fewer calls. Open loop: calls start at
// random moments of a given mean rate (Poisson arrivals), whether or not earlier ones have come back, as independent
// users would; the latency of each counts from the moment it was due, so that a server that stalls is not flattered.
#ifndef KERNELWIRE_CLIENT_CLI_LOAD_H_
#define KERNELWIRE_CLIENT_CLI_LOAD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "client/cli/latency.h"
#include "kernelwire/client.h"
#include "kernelwire/infer.h"
#include "kernelwire/status.h"

namespace kernelwire::cli {

/// What a server of the Open Inference Protocol is measured with.
inline constexpr char kInferMethod[] = "/inference.GRPCInferenceService/ModelInfer";

/// Calls a second. With fewer the time to the next call of a thread might not fit in a clock's 64 bits.
inline constexpr double kLeastRate = 1e-3;

struct LoadPlan {
  std::string method;                    // "/package.Service/Method"
  std::int64_t threads = 1;              // each with its share of what follows
  std::int64_t outstanding = 1;          // closed loop: always; open loop: at most
  std::optional<double> rate;            // calls a second, >= kLeastRate: an open loop
  std::optional<std::int64_t> requests;  // so many calls; absent: for as long as `duration`
  std::chrono::nanoseconds duration = std::chrono::seconds(5);
  std::chrono::nanoseconds warm_up = std::chrono::milliseconds(500);  // calls that are made before any is counted
  client::Timeout timeout = std::chrono::seconds(10);
  std::uint64_t seed = 1;  // of the arrivals
};

/// What became of the calls that were started after the warm-up.
struct LoadResult {
  LatencyHistogram latency;                           // of the calls that succeeded
  std::map<client::StatusCode, std::uint64_t> codes;  // calls by outcome
  client::Status first_failure;                       // OK if there was none
  std::uint64_t reply_bytes = 0;
  std::chrono::nanoseconds elapsed{0};  // from the end of the warm-up to the last reply

  std::uint64_t succeeded() const;
  std::uint64_t failed() const;
};

/// Called now and then from one of the threads: the share that is done, in [0, 1], and the calls so far.
using Progress = std::function<void(double, std::uint64_t)>;

/// Runs the plan and returns when every call has ended. A failed call is counted and not repeated.
LoadResult RunLoad(const client::Client& client, const client::EncodedRequest& request, const LoadPlan& plan,
                   const Progress& progress);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_LOAD_H_

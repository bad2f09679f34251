// The outcome of a measurement, for people and as JSON.
#ifndef KERNELWIRE_CLIENT_CLI_BENCH_REPORT_H_
#define KERNELWIRE_CLIENT_CLI_BENCH_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/load.h"
#include "client/cli/random_tensor.h"

namespace kernelwire::cli {

/// What was measured.
struct BenchSubject {
  std::string operator_name;
  std::string address;
  std::int64_t connections = 1;
  std::vector<InputPlan> inputs;
  std::size_t request_bytes = 0;  // of the message
};

/// "rms_norm at localhost:8001 ...": what is about to happen.
std::string HeadlineText(const BenchSubject& subject, const LoadPlan& plan);
/// Rates, percentiles, outcomes and a histogram. GB is 10^9 bytes.
std::string ReportText(const BenchSubject& subject, const LoadResult& result);
/// The same as one JSON object; times in seconds, sizes in bytes.
std::string ReportJson(const BenchSubject& subject, const LoadPlan& plan, const LoadResult& result);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_BENCH_REPORT_H_

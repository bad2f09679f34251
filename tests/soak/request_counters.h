// The server's own count of requests, read from its /metrics.
#ifndef KERNELWIRE_TESTS_SOAK_REQUEST_COUNTERS_H_
#define KERNELWIRE_TESTS_SOAK_REQUEST_COUNTERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace kernelwire::soak {

struct RequestCounters {
  std::map<std::string, std::int64_t> by_code;  // "OK" over all operators; errors with those of no operator
  std::int64_t calls = 0;                       // alive now
  std::int64_t outstanding = 0;                 // admitted and not yet answered
};

/// `address` as the server's log has it: "127.0.0.1:port". nullopt when nobody answers there.
std::optional<RequestCounters> ReadRequestCounters(const std::string& address);

}  // namespace kernelwire::soak

#endif  // KERNELWIRE_TESTS_SOAK_REQUEST_COUNTERS_H_

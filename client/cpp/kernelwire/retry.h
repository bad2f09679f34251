// Which failures are worth repeating, and when. A pure function: time and chance are arguments.
#ifndef KERNELWIRE_CLIENT_RETRY_H_
#define KERNELWIRE_CLIENT_RETRY_H_

#include <chrono>
#include <optional>

#include "kernelwire/status.h"

namespace kernelwire::client {

/// How often and how patiently to repeat. The defaults wait at most 50 + 100 + 200 + 400 ms (plus jitter) in all.
struct RetryPolicy {
  int max_attempts = 5;  // the first one included; 1 switches repeating off
  std::chrono::nanoseconds initial_backoff = std::chrono::milliseconds(50);
  std::chrono::nanoseconds max_backoff = std::chrono::seconds(1);
  double multiplier = 2;
  double jitter = 0.2;  // each wait is scaled by a random factor in [1 - jitter, 1 + jitter]
};

/// How long to wait before the next attempt, or nullopt to give up with `failure`.
///
/// Repeated: UNAVAILABLE, since a kernel is a pure function and a failed call returned nothing; RESOURCE_EXHAUSTED only
/// when the server gave a time to come back (without one it is a size limit). The server's time is kept exactly; a
/// negative one forbids repeating. Never repeated: what would start at or past the deadline.
///
/// `attempts` made so far, >= 1; `remaining` until the deadline; `chance` uniform in [0, 1).
std::optional<std::chrono::nanoseconds> NextAttemptDelay(const RetryPolicy& policy, const Status& failure, int attempts,
                                                         std::chrono::nanoseconds remaining, double chance);

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_RETRY_H_

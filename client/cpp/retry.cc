#include "kernelwire/retry.h"

#include <algorithm>
#include <cmath>

namespace kernelwire::client {
namespace {

bool IsWorthRepeating(const Status& failure) {
  const Status::RetryAfter hint = failure.retry_after();
  if (hint.has_value() && hint->count() < 0) {
    return false;
  }
  return failure.code() == StatusCode::kUnavailable ||
         (failure.code() == StatusCode::kResourceExhausted && hint.has_value());
}

// Doubling from the first wait up to the longest, then spread, so that clients who failed together return apart.
std::chrono::nanoseconds Backoff(const RetryPolicy& policy, int attempts, double chance) {
  const double grown = static_cast<double>(policy.initial_backoff.count()) * std::pow(policy.multiplier, attempts - 1);
  const double capped = std::min(grown, static_cast<double>(policy.max_backoff.count()));
  return std::chrono::nanoseconds(std::llround(capped * (1 + policy.jitter * (2 * chance - 1))));
}

}  // namespace

std::optional<std::chrono::nanoseconds> NextAttemptDelay(const RetryPolicy& policy, const Status& failure, int attempts,
                                                         std::chrono::nanoseconds remaining, double chance) {
  if (attempts >= policy.max_attempts || !IsWorthRepeating(failure)) {
    return std::nullopt;
  }
  const Status::RetryAfter hint = failure.retry_after();
  // A hint may be any number of 64 bits: compare as milliseconds, since as nanoseconds it might overflow.
  if (hint.has_value() && *hint > std::chrono::duration_cast<std::chrono::milliseconds>(remaining)) {
    return std::nullopt;
  }
  const std::chrono::nanoseconds delay = hint.has_value() ? *hint : Backoff(policy, attempts, chance);
  if (delay >= remaining) {
    return std::nullopt;
  }
  return delay;
}

}  // namespace kernelwire::client

#include "server/batch/retry_hint.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"

namespace kernelwire {
namespace {

constexpr char kPayloadUrl[] = "kernelwire/retry-after-milliseconds";

}  // namespace

absl::Status WithRetryHint(absl::Status status, std::int64_t milliseconds) {
  status.SetPayload(kPayloadUrl, absl::Cord(std::to_string(milliseconds)));
  return status;
}

std::optional<std::int64_t> RetryHintOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  std::int64_t milliseconds = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &milliseconds)) {
    return std::nullopt;
  }
  return milliseconds;
}

}  // namespace kernelwire

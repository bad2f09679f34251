// "Try again in so many milliseconds", carried by a status from where it is known to where it is written on the wire.
#ifndef KERNELWIRE_SERVER_BATCH_RETRY_HINT_H_
#define KERNELWIRE_SERVER_BATCH_RETRY_HINT_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"

namespace kernelwire {

absl::Status WithRetryHint(absl::Status status, std::int64_t milliseconds);
std::optional<std::int64_t> RetryHintOf(const absl::Status& status);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BATCH_RETRY_HINT_H_

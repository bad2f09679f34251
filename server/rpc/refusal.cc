#include "server/rpc/refusal.h"

#include "absl/strings/str_cat.h"
#include "server/batch/retry_hint.h"

namespace kernelwire {
namespace {

constexpr std::int64_t kRetryMilliseconds = 100;

}  // namespace

absl::Status LimitReached(absl::string_view who, std::size_t limit, absl::string_view of_what) {
  return WithRetryHint(absl::ResourceExhaustedError(absl::StrCat(who, " has its limit of ", limit, " (", of_what, ")")),
                       kRetryMilliseconds);
}

}  // namespace kernelwire

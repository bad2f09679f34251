// Calls that are not let in: their handler, which answers before anything is read, and the status of most.
#ifndef KERNELWIRE_SERVER_RPC_REFUSAL_H_
#define KERNELWIRE_SERVER_RPC_REFUSAL_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/rpc/call.h"
#include "server/rpc/call_handler.h"

namespace kernelwire {

/// RESOURCE_EXHAUSTED, with a hint to try again: "the server has its limit of 3 (streams at once: --max_streams)".
absl::Status LimitReached(absl::string_view who, std::size_t limit, absl::string_view of_what);

class Refusal final : public CallHandler {
 public:
  Refusal(Call* call, absl::Status status) : call_(call), status_(std::move(status)) {}
  void Begin() override { call_->Finish(status_); }
  void MessageRead(bool /*ok*/) override {}

 private:
  Call* const call_;
  const absl::Status status_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_REFUSAL_H_

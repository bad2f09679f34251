// The handler of calls that are not let in: answers before anything is read.
#ifndef KERNELWIRE_SERVER_RPC_REFUSAL_H_
#define KERNELWIRE_SERVER_RPC_REFUSAL_H_

#include <utility>

#include "absl/status/status.h"
#include "server/rpc/call.h"
#include "server/rpc/call_handler.h"

namespace kernelwire {

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

// The handler of unary methods that are answered at once.
#ifndef KERNELWIRE_SERVER_RPC_UNARY_CALL_H_
#define KERNELWIRE_SERVER_RPC_UNARY_CALL_H_

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/rpc/call.h"
#include "server/rpc/call_handler.h"
#include "server/rpc/method_table.h"

namespace kernelwire {

/// What to answer when a unary call's message did not come. A client that is gone will not see it, and the call counts
/// as cancelled (Call::FinalCode). So does one with a message above the limit: gRPC answers it by itself, and says no
/// more than that.
absl::Status NoMessage();

class UnaryCall final : public CallHandler {
 public:
  UnaryCall(Call* call, UnaryAnswer answer) : call_(call), answer_(answer) {}
  void Begin() override { call_->ReadInTurn(&message_); }
  void MessageRead(bool ok) override;
  void Release() override;

 private:
  Call* const call_;
  const UnaryAnswer answer_;
  grpc::ByteBuffer message_;
  absl::StatusCode code_ = absl::StatusCode::kOk;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_UNARY_CALL_H_

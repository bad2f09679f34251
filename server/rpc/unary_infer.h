// The handler of ModelInfer: the hot path.
#ifndef KERNELWIRE_SERVER_RPC_UNARY_INFER_H_
#define KERNELWIRE_SERVER_RPC_UNARY_INFER_H_

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/rpc/call.h"
#include "server/rpc/call_handler.h"
#include "server/rpc/handler_factory.h"
#include "server/rpc/infer_request.h"

namespace kernelwire {

/// Reads one message, submits it, and answers from whichever thread completes it.
class UnaryInfer final : public CallHandler, public InferRequest {
 public:
  UnaryInfer(CallQueue* queue, HandlerFactory* home) : InferRequest(queue), home_(home) {}

  /// To be called before each use as a handler.
  void Serve(Call* call) { call_ = call; }

  void Begin() override { call_->ReadInTurn(&bytes_); }
  void MessageRead(bool ok) override;
  void Cancelled() override { CancelRequest(); }
  void Answered(bool ok) override;
  void Release() override;

  void Complete(const Completion& completion) override;

 private:
  void Fail(const absl::Status& status);

  HandlerFactory* const home_;
  Call* call_ = nullptr;
  grpc::ByteBuffer bytes_;
  bool has_message_ = false;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_UNARY_INFER_H_

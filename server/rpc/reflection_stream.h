// The handler of ServerReflectionInfo: an answer to each question, in order.
#ifndef KERNELWIRE_SERVER_RPC_REFLECTION_STREAM_H_
#define KERNELWIRE_SERVER_RPC_REFLECTION_STREAM_H_

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/rpc/call.h"
#include "server/rpc/call_handler.h"

namespace kernelwire {

/// Reads one question at a time; the next only when the answer has been written.
class ReflectionStream final : public CallHandler {
 public:
  explicit ReflectionStream(Call* call) : call_(call) {}

  void Begin() override { call_->Read(&bytes_); }
  void MessageRead(bool ok) override;
  void MessageWritten(bool ok) override;
  void Drain() override;
  void Release() override;

 private:
  void Finish(const absl::Status& status);

  Call* const call_;
  grpc::ByteBuffer bytes_;
  bool writing_ = false;
  bool draining_ = false;
  bool finished_ = false;
  absl::StatusCode code_ = absl::StatusCode::kOk;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_REFLECTION_STREAM_H_

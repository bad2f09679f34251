// The handler of grpc.health.v1.Health/Watch.
#ifndef KERNELWIRE_SERVER_RPC_HEALTH_WATCH_H_
#define KERNELWIRE_SERVER_RPC_HEALTH_WATCH_H_

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/rpc/call.h"
#include "server/rpc/call_handler.h"

namespace kernelwire {

/// Sends the state at once, and again after every change; changes that follow faster than they can be written are
/// folded into the last. An unknown name is SERVICE_UNKNOWN until it comes to exist. Ends with UNAVAILABLE when the
/// server stops, after the last state was sent. Holds no message but for its first, and so is not counted as a stream
/// that may be reading one: a client that checks health itself takes a refused Watch for a dead server.
class HealthWatch final : public CallHandler {
 public:
  explicit HealthWatch(Call* call) : call_(call) {}

  void Begin() override { call_->ReadInTurn(&bytes_); }
  void MessageRead(bool ok) override;
  void MessageWritten(bool ok) override;
  void Cancelled() override;
  void Drain() override;
  void HealthChanged() override { GoOn(); }
  void Release() override;

 private:
  void GoOn();
  int Current() const;
  void Finish(const absl::Status& status);

  Call* const call_;
  grpc::ByteBuffer bytes_;
  std::string service_;
  bool watching_ = false;  // the request has been read
  bool writing_ = false;
  bool draining_ = false;
  bool finished_ = false;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  int sent_ = -1;  // nothing yet
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_HEALTH_WATCH_H_

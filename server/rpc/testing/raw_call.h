// A client's call as bytes, one step at a time, for what stubs would not send.
#ifndef KERNELWIRE_SERVER_RPC_TESTING_RAW_CALL_H_
#define KERNELWIRE_SERVER_RPC_TESTING_RAW_CALL_H_

#include <memory>
#include <optional>
#include <string>

#include "google/protobuf/message.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "server/rpc/testing/rpc_fixture.h"

namespace kernelwire::testing {

inline constexpr char kModelInfer[] = "/inference.GRPCInferenceService/ModelInfer";
inline constexpr char kModelStreamInfer[] = "/inference.GRPCInferenceService/ModelStreamInfer";

/// Each function waits for its operation. One thread.
class RawCall {
 public:
  /// Starts a call of `method` ("/package.Service/Method"). Metadata and compression are set on `context` before.
  RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
          std::unique_ptr<grpc::ClientContext> context = std::make_unique<PatientContext>());
  /// Cancels and takes the status if that was not done.
  ~RawCall();

  bool Write(const std::string& bytes);
  bool Write(const google::protobuf::Message& message) { return Write(message.SerializeAsString()); }
  bool WritesDone();
  /// The next message; nothing when there are no more.
  std::optional<std::string> Read();
  /// The call's status. Messages that were not read are dropped. Once.
  grpc::Status Finish();
  void Cancel() { context_->TryCancel(); }

  const grpc::ClientContext& context() const { return *context_; }

 private:
  bool Await();

  const std::unique_ptr<grpc::ClientContext> context_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool finished_ = false;
};

/// A unary call of bytes: its status, and the reply's bytes in `reply` if that is not null.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& request, std::string* reply = nullptr);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_RPC_TESTING_RAW_CALL_H_

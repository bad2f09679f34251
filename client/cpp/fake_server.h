// A server for tests that answers as it is told, on a port that the system chooses.
#ifndef KERNELWIRE_CLIENT_FAKE_SERVER_H_
#define KERNELWIRE_CLIENT_FAKE_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "grpcpp/grpcpp.h"
#include "health.grpc.pb.h"
#include "open_inference.grpc.pb.h"

namespace kernelwire::client {

class FakeServer {
 public:
  using InferHandler = std::function<grpc::Status(grpc::ServerContext*, const inference::ModelInferRequest&,
                                                  inference::ModelInferResponse*)>;

  /// `address` "unix:..." or empty for a port of 127.0.0.1. The handler runs in gRPC's threads.
  explicit FakeServer(InferHandler infer, const std::string& address = "");
  ~FakeServer();

  const std::string& address() const { return address_; }

 private:
  class InferService;
  class HealthService;
  std::unique_ptr<InferService> infer_service_;
  std::unique_ptr<HealthService> health_service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

/// Answers with the inputs as outputs, under the same names.
grpc::Status EchoTensors(grpc::ServerContext* context, const inference::ModelInferRequest& request,
                         inference::ModelInferResponse* reply);

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_FAKE_SERVER_H_

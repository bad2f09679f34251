#include "client/cpp/fake_server.h"

#include <utility>

namespace kernelwire::client {

class FakeServer::InferService final : public inference::GRPCInferenceService::Service {
 public:
  explicit InferService(InferHandler infer) : infer_(std::move(infer)) {}

  grpc::Status ModelInfer(grpc::ServerContext* context, const inference::ModelInferRequest* request,
                          inference::ModelInferResponse* reply) override {
    return infer_(context, *request, reply);
  }
  grpc::Status ServerLive(grpc::ServerContext*, const inference::ServerLiveRequest*,
                          inference::ServerLiveResponse* reply) override {
    reply->set_live(true);
    return grpc::Status::OK;
  }
  grpc::Status ModelMetadata(grpc::ServerContext*, const inference::ModelMetadataRequest* request,
                             inference::ModelMetadataResponse* reply) override {
    reply->set_name(request->name());
    return grpc::Status::OK;
  }

 private:
  const InferHandler infer_;
};

class FakeServer::HealthService final : public grpc::health::v1::Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext*, const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* reply) override {
    reply->set_status(request->service().empty() ? grpc::health::v1::HealthCheckResponse::SERVING
                                                 : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
    return grpc::Status::OK;
  }
};

FakeServer::FakeServer(InferHandler infer, const std::string& address)
    : infer_service_(std::make_unique<InferService>(std::move(infer))),
      health_service_(std::make_unique<HealthService>()) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address.empty() ? "127.0.0.1:0" : address, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(infer_service_.get());
  builder.RegisterService(health_service_.get());
  server_ = builder.BuildAndStart();
  address_ = address.empty() ? "127.0.0.1:" + std::to_string(port) : address;
}

FakeServer::~FakeServer() {
  server_->Shutdown(std::chrono::system_clock::now());  // cancels what is left
  server_->Wait();
}

grpc::Status EchoTensors(grpc::ServerContext*, const inference::ModelInferRequest& request,
                         inference::ModelInferResponse* reply) {
  reply->set_model_name(request.model_name());
  reply->set_model_version("1");
  reply->set_id(request.id());
  for (const auto& input : request.inputs()) {
    auto* output = reply->add_outputs();
    output->set_name(input.name());
    output->set_datatype(input.datatype());
    *output->mutable_shape() = input.shape();
  }
  *reply->mutable_raw_output_contents() = request.raw_input_contents();
  return grpc::Status::OK;
}

}  // namespace kernelwire::client

#include "kernelwire/client.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "client/cpp/channel_set.h"
#include "client/cpp/infer_codec.h"
#include "client/cpp/unary_caller.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"
#include "health.pb.h"
#include "open_inference.pb.h"

namespace kernelwire::client {
namespace {

const std::string kService = "/inference.GRPCInferenceService/";

// A call whose messages are small: both go through the generated code.
template <typename Reply, typename Request>
Result<Reply> CallWithMessages(ChannelSet& channels, const RetryPolicy& policy, const std::string& method,
                               const Request& request, Timeout timeout) {
  const grpc::Slice bytes(request.SerializeAsString());
  grpc::ByteBuffer received;
  Status status =
      UnaryCaller(channels).Call(method, grpc::ByteBuffer(&bytes, 1), DeadlineAfter(timeout), policy, &received);
  if (!status.ok()) {
    return status;
  }
  Reply reply;
  grpc::ProtoBufferReader reader(&received);
  if (!reply.ParseFromZeroCopyStream(&reader)) {
    return Status(StatusCode::kInternal, "reply: not a " + Reply::descriptor()->full_name());
  }
  return reply;
}

// Tells when the transport has let go of every slice that refers to the caller's memory: the flag is set by the
// destruction of the last copy of the owner.
std::shared_ptr<const void> OwnerThatSets(std::atomic<bool>* released) {
  return std::shared_ptr<const void>(released,
                                     [released](const void*) { released->store(true, std::memory_order_release); });
}

}  // namespace

std::string Version() { return KERNELWIRE_CLIENT_VERSION; }

Client::Client(std::shared_ptr<ChannelSet> channels, RetryPolicy retry)
    : channels_(std::move(channels)), retry_(retry) {}

Client Client::Connect(const std::string& address, const ClientOptions& options) {
  return Client(std::make_shared<ChannelSet>(address, std::max(options.connections, 1)), options.retry);
}

Result<InferReply> Client::Infer(const InferRequest& request, Timeout timeout) const {
  const SteadyTime deadline = DeadlineAfter(timeout);
  std::atomic<bool> released{false};
  UnaryCaller caller(*channels_);
  grpc::ByteBuffer received;
  Status status;
  {
    Result<grpc::ByteBuffer> message = EncodeInferRequest(request, OwnerThatSets(&released));
    status =
        message.ok() ? caller.Call(kService + "ModelInfer", *message, deadline, retry_, &received) : message.status();
  }
  caller.AwaitRelease(released);
  return status.ok() ? DecodeInferReply(received) : Result<InferReply>(status);
}

Result<bool> Client::ServerLive(Timeout timeout) const {
  const auto reply = CallWithMessages<inference::ServerLiveResponse>(*channels_, retry_, kService + "ServerLive",
                                                                     inference::ServerLiveRequest(), timeout);
  return reply.ok() ? Result<bool>(reply->live()) : Result<bool>(reply.status());
}

Result<bool> Client::ServerReady(Timeout timeout) const {
  const auto reply = CallWithMessages<inference::ServerReadyResponse>(*channels_, retry_, kService + "ServerReady",
                                                                      inference::ServerReadyRequest(), timeout);
  return reply.ok() ? Result<bool>(reply->ready()) : Result<bool>(reply.status());
}

Result<bool> Client::ModelReady(const std::string& model, Timeout timeout) const {
  inference::ModelReadyRequest request;
  request.set_name(model);
  const auto reply =
      CallWithMessages<inference::ModelReadyResponse>(*channels_, retry_, kService + "ModelReady", request, timeout);
  return reply.ok() ? Result<bool>(reply->ready()) : Result<bool>(reply.status());
}

Result<Health> Client::CheckHealth(const std::string& service, Timeout timeout) const {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  const auto reply = CallWithMessages<grpc::health::v1::HealthCheckResponse>(
      *channels_, retry_, "/grpc.health.v1.Health/Check", request, timeout);
  if (!reply.ok()) {
    return reply.status();
  }
  switch (reply->status()) {
    case grpc::health::v1::HealthCheckResponse::SERVING:
      return Health::kServing;
    case grpc::health::v1::HealthCheckResponse::NOT_SERVING:
      return Health::kNotServing;
    default:
      return Health::kUnknown;
  }
}

Result<inference::ServerMetadataResponse> Client::ServerMetadata(Timeout timeout) const {
  return CallWithMessages<inference::ServerMetadataResponse>(*channels_, retry_, kService + "ServerMetadata",
                                                             inference::ServerMetadataRequest(), timeout);
}

Result<inference::ModelMetadataResponse> Client::ModelMetadata(const std::string& model, Timeout timeout) const {
  inference::ModelMetadataRequest request;
  request.set_name(model);
  return CallWithMessages<inference::ModelMetadataResponse>(*channels_, retry_, kService + "ModelMetadata", request,
                                                            timeout);
}

Result<inference::ModelConfigResponse> Client::ModelConfig(const std::string& model, Timeout timeout) const {
  inference::ModelConfigRequest request;
  request.set_name(model);
  return CallWithMessages<inference::ModelConfigResponse>(*channels_, retry_, kService + "ModelConfig", request,
                                                          timeout);
}

Result<inference::ModelStatisticsResponse> Client::ModelStatistics(const std::string& model, Timeout timeout) const {
  inference::ModelStatisticsRequest request;
  request.set_name(model);
  return CallWithMessages<inference::ModelStatisticsResponse>(*channels_, retry_, kService + "ModelStatistics", request,
                                                              timeout);
}

Result<inference::RepositoryIndexResponse> Client::RepositoryIndex(Timeout timeout) const {
  return CallWithMessages<inference::RepositoryIndexResponse>(*channels_, retry_, kService + "RepositoryIndex",
                                                              inference::RepositoryIndexRequest(), timeout);
}

}  // namespace kernelwire::client

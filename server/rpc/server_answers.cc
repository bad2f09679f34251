#include "absl/strings/str_cat.h"
#include "health.pb.h"
#include "open_inference.pb.h"
#include "server/rpc/status_encoder.h"
#include "server/rpc/typed_answer.h"
#include "server/rpc/unary_answers.h"

namespace kernelwire {
namespace {

// By the names that the protocol's documents give them. perf_analyzer asks for statistics only where it is listed.
constexpr const char* kExtensions[] = {"model_configuration", "model_repository(index)", "parameters",
                                       "schedule_policy", "statistics"};
constexpr std::size_t kMaxEchoedName = 100;

}  // namespace

absl::StatusOr<grpc::ByteBuffer> AnswerServerLive(const CallEnvironment& environment, const grpc::ByteBuffer& bytes) {
  return TypedAnswer<inference::ServerLiveRequest, inference::ServerLiveResponse>(
      bytes, [&environment](const auto&, auto* reply) {
        reply->set_live(environment.parts.health->live());
        return absl::OkStatus();
      });
}

absl::StatusOr<grpc::ByteBuffer> AnswerServerReady(const CallEnvironment& environment, const grpc::ByteBuffer& bytes) {
  return TypedAnswer<inference::ServerReadyRequest, inference::ServerReadyResponse>(
      bytes, [&environment](const auto&, auto* reply) {
        reply->set_ready(environment.parts.health->ready() && !environment.draining.load());
        return absl::OkStatus();
      });
}

absl::StatusOr<grpc::ByteBuffer> AnswerServerMetadata(const CallEnvironment& environment,
                                                      const grpc::ByteBuffer& bytes) {
  return TypedAnswer<inference::ServerMetadataRequest, inference::ServerMetadataResponse>(
      bytes, [&environment](const auto&, auto* reply) {
        reply->set_name(environment.options.server_name);
        reply->set_version(environment.options.server_version);
        for (const char* extension : kExtensions) {
          reply->add_extensions(extension);
        }
        return absl::OkStatus();
      });
}

absl::StatusOr<grpc::ByteBuffer> AnswerHealthCheck(const CallEnvironment& environment, const grpc::ByteBuffer& bytes) {
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  return TypedAnswer<HealthCheckRequest, HealthCheckResponse>(
      bytes, [&environment](const HealthCheckRequest& request, HealthCheckResponse* reply) -> absl::Status {
        const std::optional<Health> health = environment.parts.health->Get(request.service());
        if (!health.has_value()) {
          return absl::NotFoundError(
              absl::StrCat("service: no health is known for '", CutText(request.service(), kMaxEchoedName), "'"));
        }
        reply->set_status(static_cast<HealthCheckResponse::ServingStatus>(*health));
        return absl::OkStatus();
      });
}

}  // namespace kernelwire

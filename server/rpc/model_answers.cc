#include "open_inference.pb.h"
#include "server/codec/spec_encoder.h"
#include "server/rpc/typed_answer.h"
#include "server/rpc/unary_answers.h"

namespace kernelwire {

absl::StatusOr<grpc::ByteBuffer> AnswerModelReady(const CallEnvironment& environment, const grpc::ByteBuffer& bytes) {
  return TypedAnswer<inference::ModelReadyRequest, inference::ModelReadyResponse>(
      bytes, [&environment](const inference::ModelReadyRequest& request, auto* reply) {
        const bool known = environment.parts.catalog->Find(request.name(), request.version()).ok();
        reply->set_ready(known && environment.parts.health->ready() && !environment.draining.load());
        return absl::OkStatus();
      });
}

absl::StatusOr<grpc::ByteBuffer> AnswerModelMetadata(const CallEnvironment& environment,
                                                     const grpc::ByteBuffer& bytes) {
  return TypedAnswer<inference::ModelMetadataRequest, inference::ModelMetadataResponse>(
      bytes, [&environment](const inference::ModelMetadataRequest& request, auto* reply) -> absl::Status {
        const auto model = environment.parts.catalog->Find(request.name(), request.version());
        KERNELWIRE_RETURN_IF_ERROR(model.status());
        *reply = EncodeMetadata(**model);
        return absl::OkStatus();
      });
}

absl::StatusOr<grpc::ByteBuffer> AnswerModelConfig(const CallEnvironment& environment, const grpc::ByteBuffer& bytes) {
  return TypedAnswer<inference::ModelConfigRequest, inference::ModelConfigResponse>(
      bytes, [&environment](const inference::ModelConfigRequest& request, auto* reply) -> absl::Status {
        const auto model = environment.parts.catalog->Find(request.name(), request.version());
        KERNELWIRE_RETURN_IF_ERROR(model.status());
        *reply->mutable_config() = EncodeConfig(**model);
        return absl::OkStatus();
      });
}

absl::StatusOr<grpc::ByteBuffer> AnswerRepositoryIndex(const CallEnvironment& environment,
                                                       const grpc::ByteBuffer& bytes) {
  return TypedAnswer<inference::RepositoryIndexRequest, inference::RepositoryIndexResponse>(
      bytes, [&environment](const inference::RepositoryIndexRequest& request, auto* reply) {
        const bool ready = environment.parts.health->ready() && !environment.draining.load();
        if (request.ready() && !ready) {
          return absl::OkStatus();
        }
        for (const Model& model : environment.parts.catalog->models()) {
          inference::RepositoryIndexResponse::ModelIndex* entry = reply->add_models();
          entry->set_name(model.name);
          entry->set_version(model.version);
          entry->set_state(ready ? "READY" : "UNAVAILABLE");
          if (!ready) {
            entry->set_reason("the server is not ready");
          }
        }
        return absl::OkStatus();
      });
}

}  // namespace kernelwire

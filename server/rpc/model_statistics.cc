#include <cstdint>

#include "absl/strings/str_cat.h"
#include "open_inference.pb.h"
#include "server/rpc/status_encoder.h"
#include "server/rpc/typed_answer.h"
#include "server/rpc/unary_answers.h"

namespace kernelwire {
namespace {

void Encode(const OperatorStatistics::Duration& from, inference::StatisticDuration* to) {
  to->set_count(from.count);
  to->set_ns(from.nanos);
}

void EncodeBatches(const OperatorStatistics& from, inference::ModelStatistics* to) {
  for (const OperatorStatistics::PerBatchSize& size : from.batches) {
    inference::InferBatchStatistics* batch = to->add_batch_stats();
    batch->set_batch_size(size.requests_in_batch);
    Encode(size.compute_input, batch->mutable_compute_input());
    Encode(size.compute_infer, batch->mutable_compute_infer());
    Encode(size.compute_output, batch->mutable_compute_output());
  }
}

void Encode(const Model& model, const OperatorStatistics& from, inference::ModelStatistics* to) {
  to->set_name(model.name);
  to->set_version(model.version);
  to->set_last_inference(from.last_inference_millis);
  to->set_inference_count(from.inference_count);
  to->set_execution_count(from.execution_count);
  inference::InferStatistics* stats = to->mutable_inference_stats();
  Encode(from.success, stats->mutable_success());
  Encode(from.fail, stats->mutable_fail());
  Encode(from.queue, stats->mutable_queue());
  // Every request has stood in the queue, if only for no time: by this count perf_analyzer finds the version it talks
  // to.
  stats->mutable_queue()->set_count(from.success.count + from.fail.count);
  Encode(from.compute_input, stats->mutable_compute_input());
  Encode(from.compute_infer, stats->mutable_compute_infer());
  Encode(from.compute_output, stats->mutable_compute_output());
  stats->mutable_cache_hit();
  stats->mutable_cache_miss();
  EncodeBatches(from, to);
}

}  // namespace

absl::StatusOr<grpc::ByteBuffer> AnswerModelStatistics(const CallEnvironment& environment,
                                                       const grpc::ByteBuffer& bytes) {
  return TypedAnswer<inference::ModelStatisticsRequest, inference::ModelStatisticsResponse>(
      bytes, [&environment](const inference::ModelStatisticsRequest& request, auto* reply) -> absl::Status {
        const Catalog& catalog = *environment.parts.catalog;
        if (!request.name().empty()) {
          KERNELWIRE_RETURN_IF_ERROR(catalog.Find(request.name(), request.version()).status());
        }
        for (const Model& model : catalog.models()) {
          const bool asked = (request.name().empty() || request.name() == model.name) &&
                             (request.version().empty() || request.version() == model.version);
          if (asked) {
            Encode(model, environment.parts.metrics->StatisticsOf(model.op_index), reply->add_model_stats());
          }
        }
        if (reply->model_stats().empty()) {
          return absl::NotFoundError(
              absl::StrCat("version: no model has a version '", CutText(request.version(), 100), "'"));
        }
        return absl::OkStatus();
      });
}

}  // namespace kernelwire

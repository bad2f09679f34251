// The answers of the unary methods other than ModelInfer. All are UnaryAnswers: see method_table.h.
//
// Errors: INVALID_ARGUMENT for bytes that are not the method's message; NOT_FOUND for unknown models and services,
// where the comment does not say otherwise.
#ifndef KERNELWIRE_SERVER_RPC_UNARY_ANSWERS_H_
#define KERNELWIRE_SERVER_RPC_UNARY_ANSWERS_H_

#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"

namespace kernelwire {

struct CallEnvironment;

// Of the server (server_answers.cc).
absl::StatusOr<grpc::ByteBuffer> AnswerServerLive(const CallEnvironment&, const grpc::ByteBuffer&);
absl::StatusOr<grpc::ByteBuffer> AnswerServerReady(const CallEnvironment&, const grpc::ByteBuffer&);
absl::StatusOr<grpc::ByteBuffer> AnswerServerMetadata(const CallEnvironment&, const grpc::ByteBuffer&);
absl::StatusOr<grpc::ByteBuffer> AnswerHealthCheck(const CallEnvironment&, const grpc::ByteBuffer&);

// Of models (model_answers.cc). An unknown model is not ready.
absl::StatusOr<grpc::ByteBuffer> AnswerModelReady(const CallEnvironment&, const grpc::ByteBuffer&);
absl::StatusOr<grpc::ByteBuffer> AnswerModelMetadata(const CallEnvironment&, const grpc::ByteBuffer&);
absl::StatusOr<grpc::ByteBuffer> AnswerModelConfig(const CallEnvironment&, const grpc::ByteBuffer&);
absl::StatusOr<grpc::ByteBuffer> AnswerRepositoryIndex(const CallEnvironment&, const grpc::ByteBuffer&);

// model_statistics.cc
absl::StatusOr<grpc::ByteBuffer> AnswerModelStatistics(const CallEnvironment&, const grpc::ByteBuffer&);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_UNARY_ANSWERS_H_

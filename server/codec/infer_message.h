// One ModelInferRequest: from the slices of a gRPC message to a planned operator request, without copying a payload.
//
// `Parse` takes the message apart (request_fields.h): where each tensor's bytes lie in the slices, and the small rest,
// which goes to the generated parser. `Bind` resolves the model and checks names, types, shapes, sizes and parameters.
// `CopyInput` then copies one input, once, to where it will be computed on.
#ifndef KERNELWIRE_SERVER_CODEC_INFER_MESSAGE_H_
#define KERNELWIRE_SERVER_CODEC_INFER_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "kernels/core/attributes.h"
#include "kernels/core/plan.h"
#include "open_inference.pb.h"
#include "server/catalog/catalog.h"
#include "server/codec/request_fields.h"
#include "server/codec/request_parameters.h"

namespace kernelwire {

/// Not thread-safe. Reusable: Clear keeps the memory, so that a pooled call decodes without allocating; what an
/// unusually large header took is given back.
class InferMessage {
 public:
  /// Takes the slices of `message` (references, not copies), in place of what was here before.
  /// Errors: INVALID_ARGUMENT for bytes that are no ModelInferRequest, and for more than kMaxHeaderBytes of names,
  /// shapes and parameters; then header() and id() have what came whole before that, or nothing if it does not parse.
  absl::Status Parse(const grpc::ByteBuffer& message);

  /// Resolves and checks against the catalogue, which outlives what is bound. Once after each Parse that was OK. Errors
  /// as CONTRACT.md and DESIGN.md 9 say: NOT_FOUND, INVALID_ARGUMENT naming the field, what was expected and what came;
  /// UNIMPLEMENTED for shared memory. After an error only header(), model() and id() may be used.
  absl::Status Bind(const Catalog& catalog);

  /// The message without raw_input_contents, without the inputs' contents, and without what goes beyond kMaxInputs
  /// inputs and kMaxOutputs outputs.
  const inference::ModelInferRequest& header() const { return header_; }
  const std::string& id() const { return header_.id(); }
  const Model* model() const { return model_; }  // null until Bind found it
  const Plan& plan() const { return plan_; }
  const PlanRequest& plan_request() const { return plan_request_; }  // points to attributes in this object
  std::uint32_t priority() const { return parameters_.priority; }
  std::optional<std::int64_t> timeout_micros() const { return parameters_.timeout_micros; }  // > 0
  /// Bytes of an input, by its index in the spec; 0 when absent.
  std::size_t input_bytes(int index) const { return sources_[static_cast<std::size_t>(index)].bytes; }
  /// The outputs of the reply, in its order, by their indices in the spec.
  absl::Span<const std::uint8_t> outputs() const { return {outputs_.data(), output_count_}; }

  /// Copies the input's bytes to `destination` (input_bytes(index) of them), typed contents converted to the tensor's
  /// type. Does nothing for an absent input. Errors: INVALID_ARGUMENT for a typed value that the type cannot hold.
  absl::Status CopyInput(int index, void* destination) const;

  /// Whether all inputs came as raw bytes, of which any stretch can be copied by itself.
  bool all_raw() const;
  /// Copies bytes [offset, offset + bytes) of an input. Requires: all_raw(), and that the input has them.
  void CopyRaw(int index, std::size_t offset, std::size_t bytes, void* destination) const;

  /// Lets go of the slices, which nothing but CopyInput and CopyRaw need: they may not be called again.
  void LetGoOfInputs() { slices_.clear(); }
  /// The same, and forgets the request.
  void Clear();

 private:
  /// Where the bytes of an input of the spec come from.
  struct Source {
    bool typed = false;  // `range` is an InferTensorContents; else the tensor's bytes
    std::size_t bytes = 0;
    ByteRange range;
  };

  absl::Status BindInputs();
  absl::Status BindInput(const inference::ModelInferRequest::InferInputTensor& input, std::size_t index);
  absl::Status BindOutputs();
  absl::Status BindBytes();
  absl::Status BindRaw(std::size_t index, const ByteRange& payload);
  absl::Status BindTyped(std::size_t index, const ByteRange& contents);

  const OperatorSpec& spec() const { return model_->op->spec; }

  std::vector<grpc::Slice> slices_;
  RequestFields fields_;
  inference::ModelInferRequest header_;

  const Model* model_ = nullptr;
  RequestParameters parameters_;
  PlanRequest plan_request_;
  Plan plan_;
  std::array<std::uint8_t, kMaxInputs> spec_index_{};  // by position in the message's inputs
  std::array<Source, kMaxInputs> sources_;             // by index in the spec
  std::array<std::uint8_t, kMaxOutputs> outputs_{};
  std::size_t output_count_ = 0;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CODEC_INFER_MESSAGE_H_

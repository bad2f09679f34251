// One ModelInferRequest: from the slices of a gRPC message to a planned operator request, without copying a payload.
//
// `Parse` walks the message's top-level fields, remembers where each raw_input_contents payload lies in the slices, and
// gives everything else to the generated parser. `Bind` resolves the model and checks names, types, shapes, sizes and
// parameters. `CopyInput` then copies one input, once, to where it will be computed on.
#ifndef KERNELWIRE_SERVER_CODEC_INFER_MESSAGE_H_
#define KERNELWIRE_SERVER_CODEC_INFER_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "kernels/core/attributes.h"
#include "kernels/core/plan.h"
#include "open_inference.pb.h"
#include "server/catalog/catalog.h"

namespace kernelwire {

/// Not thread-safe. Reusable: Clear keeps the memory, so that a pooled call decodes without allocating.
class InferMessage {
 public:
  /// Takes the slices of `message` (references, not copies). Errors: INVALID_ARGUMENT for bytes that are no message.
  absl::Status Parse(const grpc::ByteBuffer& message);

  /// Resolves and checks against the catalogue. Errors as CONTRACT.md and DESIGN.md 9 say: NOT_FOUND,
  /// INVALID_ARGUMENT naming the field, what was expected and what came; UNIMPLEMENTED for shared memory.
  /// After an error only header(), model() and id() may be used.
  absl::Status Bind(const Catalog& catalog);

  const inference::ModelInferRequest& header() const { return header_; }
  const std::string& id() const { return header_.id(); }
  const Model* model() const { return model_; }  // null until Bind found it
  const Plan& plan() const { return plan_; }
  const PlanRequest& plan_request() const { return plan_request_; }  // points to attributes in this object
  std::uint32_t priority() const { return priority_; }
  std::optional<std::int64_t> timeout_micros() const { return timeout_micros_; }
  /// Bytes of an input, by its index in the spec; 0 when absent.
  std::size_t input_bytes(int index) const { return sources_[static_cast<std::size_t>(index)].bytes; }

  /// Copies the input's bytes to `destination` (input_bytes(index) of them), typed contents converted to the tensor's
  /// type. Errors: INVALID_ARGUMENT for a typed value that the type cannot hold.
  absl::Status CopyInput(int index, void* destination) const;

  void Clear();

 private:
  struct PayloadRange {
    std::size_t offset = 0;  // in the message
    std::size_t bytes = 0;
  };
  struct Source {
    bool present = false;
    std::size_t bytes = 0;
    PayloadRange raw;                                   // when `typed` is null
    const inference::InferTensorContents* typed = nullptr;
  };

  absl::Status FindFields();
  absl::Status BindInputs();
  absl::Status BindOutputs();
  absl::Status BindParameters();
  void CopyRange(PayloadRange range, void* destination) const;

  std::vector<grpc::Slice> slices_;
  std::vector<PayloadRange> payloads_;
  std::string header_bytes_;
  inference::ModelInferRequest header_;

  const Model* model_ = nullptr;
  Attributes attributes_;
  PlanRequest plan_request_;
  Plan plan_;
  std::array<Source, kMaxInputs> sources_;
  std::uint32_t priority_ = 0;
  std::optional<std::int64_t> timeout_micros_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CODEC_INFER_MESSAGE_H_

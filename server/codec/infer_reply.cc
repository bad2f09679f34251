#include "server/codec/infer_reply.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "google/protobuf/io/coded_stream.h"
#include "grpc/slice.h"
#include "grpcpp/support/slice.h"
#include "open_inference.pb.h"

namespace kernelwire {
namespace {

using google::protobuf::io::CodedOutputStream;
using inference::ModelInferResponse;

// Tags of the two fields that are written by hand; both are length-delimited (open_inference.proto).
constexpr std::uint8_t kRawOutputContentsTag = 6 << 3 | 2;
constexpr std::uint8_t kStreamInferResponseTag = 2 << 3 | 2;

/// Tag, length and `bytes` bytes.
std::size_t FieldBytes(std::size_t bytes) { return 1 + CodedOutputStream::VarintSize64(bytes) + bytes; }

bool IsLarge(std::size_t bytes) { return bytes > kCopiedPayloadBytes; }

/// For each part of the result whether what is large of it stays in its slab.
using StayingParts = absl::InlinedVector<bool, 1>;

StayingParts FindStayingParts(const InferMessage& request, const Completion& completion) {
  StayingParts stay;
  for (const CompletedPart& part : completion.parts) {
    const bool has_large = std::any_of(request.outputs().begin(), request.outputs().end(),
                                       [&part](std::uint8_t index) { return IsLarge(part.bytes[index]); });
    stay.push_back(has_large && part.slab->MayWaitForReaders());
  }
  return stay;
}

/// The part of the reply that the generated serializer writes. `DescOf(i)` is the description of output i of the spec.
/// Reused by each thread, so that its strings are allocated once.
template <typename DescOf>
const ModelInferResponse& MakeHeader(const InferMessage& request, DescOf desc_of) {
  thread_local ModelInferResponse header;
  header.Clear();
  header.set_model_name(request.model()->name);
  header.set_model_version(request.model()->version);
  header.set_id(request.id());
  const std::vector<TensorSpec>& specs = request.model()->op->spec.outputs;
  for (const std::uint8_t index : request.outputs()) {
    const TensorDesc& desc = desc_of(index);
    ModelInferResponse::InferOutputTensor* const output = header.add_outputs();
    output->set_name(specs[index].name);
    output->set_datatype(NameOf(desc.dtype));
    for (const std::int64_t extent : desc.shape) {
      output->add_shape(extent);
    }
  }
  return header;
}

/// Puts slices of a reply together. What is written in place goes, in stretches, into one block of exactly the right
/// size; between the stretches stand the payloads that stay in the slab.
class ReplySlices {
 public:
  /// `written_bytes`: of all that will be written in place.
  explicit ReplySlices(std::size_t written_bytes)
      : block_(grpc_slice_malloc(written_bytes)), at_(GRPC_SLICE_START_PTR(block_)) {}
  ~ReplySlices() { grpc_slice_unref(block_); }
  ReplySlices(const ReplySlices&) = delete;
  ReplySlices& operator=(const ReplySlices&) = delete;

  void WriteHeader(const ModelInferResponse& header) { at_ = header.SerializeWithCachedSizesToArray(at_); }

  void WriteFieldStart(std::uint8_t tag, std::size_t bytes) {
    *at_++ = tag;
    at_ = CodedOutputStream::WriteVarint64ToArray(bytes, at_);
  }

  void WriteBytes(const void* data, std::size_t bytes) {
    if (bytes > 0) {  // an empty output may have no memory
      std::memcpy(at_, data, bytes);
      at_ += bytes;
    }
  }

  /// Bytes that stay in the slab, which is held until gRPC has sent them.
  void PointTo(void* data, std::size_t bytes, Slab* slab) {
    EndStretch();
    slab->AddReference();
    slices_.emplace_back(
        data, bytes, [](void* held) { static_cast<Slab*>(held)->Release(); }, slab);
  }

  grpc::ByteBuffer Finish() {
    EndStretch();
    return grpc::ByteBuffer(slices_.data(), slices_.size());
  }

 private:
  void EndStretch() {
    const auto end = static_cast<std::size_t>(at_ - GRPC_SLICE_START_PTR(block_));
    if (end > stretch_begin_) {
      slices_.emplace_back(grpc_slice_sub(block_, stretch_begin_, end), grpc::Slice::STEAL_REF);
      stretch_begin_ = end;
    }
  }

  grpc_slice block_;
  std::uint8_t* at_;
  std::size_t stretch_begin_ = 0;
  absl::InlinedVector<grpc::Slice, 2 * kMaxOutputs + 1> slices_;
};

/// The reply by itself, or inside a ModelStreamInferResponse.
grpc::ByteBuffer Encode(const InferMessage& request, const Completion& completion, bool in_stream) {
  const ModelInferResponse& header =
      MakeHeader(request, [&](std::size_t index) -> const TensorDesc& { return completion.outputs[index]; });
  const StayingParts stay = FindStayingParts(request, completion);
  const auto stays = [&](std::size_t part, std::size_t index) {
    return stay[part] && IsLarge(completion.parts[part].bytes[index]);
  };
  std::array<std::size_t, kMaxOutputs> payload_bytes{};
  std::size_t total = header.ByteSizeLong();
  std::size_t staying = 0;  // bytes that are not written in place
  for (const std::uint8_t index : request.outputs()) {
    for (std::size_t p = 0; p < completion.parts.size(); ++p) {
      payload_bytes[index] += completion.parts[p].bytes[index];
      staying += stays(p, index) ? completion.parts[p].bytes[index] : 0;
    }
    total += FieldBytes(payload_bytes[index]);
  }
  const std::size_t in_place = total - staying;
  ReplySlices reply(in_place + (in_stream ? FieldBytes(total) - total : 0));
  if (in_stream) {
    reply.WriteFieldStart(kStreamInferResponseTag, total);
  }
  reply.WriteHeader(header);
  for (const std::uint8_t index : request.outputs()) {
    reply.WriteFieldStart(kRawOutputContentsTag, payload_bytes[index]);
    for (std::size_t p = 0; p < completion.parts.size(); ++p) {
      const CompletedPart& part = completion.parts[p];
      if (stays(p, index)) {
        reply.PointTo(part.data[index], part.bytes[index], part.slab);
      } else {
        reply.WriteBytes(part.data[index], part.bytes[index]);
      }
    }
  }
  return reply.Finish();
}

/// The beginning of `text`, of at most kMaxErrorMessageBytes and not cut inside a UTF-8 character.
std::string CutMessage(absl::string_view text) {
  std::size_t length = std::min(text.size(), kMaxErrorMessageBytes);
  while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0u) == 0x80u) {
    --length;
  }
  return std::string(text.substr(0, length));
}

}  // namespace

grpc::ByteBuffer EncodeInferReply(const InferMessage& request, const Completion& completion) {
  return Encode(request, completion, /*in_stream=*/false);
}

grpc::ByteBuffer EncodeStreamReply(const InferMessage& request, const Completion& completion) {
  return Encode(request, completion, /*in_stream=*/true);
}

grpc::ByteBuffer EncodeStreamError(const std::string& id, const absl::Status& status) {
  inference::ModelStreamInferResponse response;
  // An empty text would say that all went well.
  response.set_error_message(status.message().empty() ? absl::StatusCodeToString(status.code())
                                                      : CutMessage(status.message()));
  response.mutable_infer_response()->set_id(id);
  const std::size_t bytes = response.ByteSizeLong();
  grpc_slice block = grpc_slice_malloc(bytes);
  response.SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(block));
  const grpc::Slice slice(block, grpc::Slice::STEAL_REF);
  return grpc::ByteBuffer(&slice, 1);
}

std::size_t LargestReplyBytes(const InferMessage& request) {
  const std::array<OutputPlan, kMaxOutputs>& outputs = request.plan().outputs;
  const ModelInferResponse& header =
      MakeHeader(request, [&](std::size_t index) -> const TensorDesc& { return outputs[index].desc; });
  // Planned sizes may be absurd, each below 2^63: their sum stays there rather than come round to a small number.
  constexpr std::size_t kLargest = std::size_t{1} << 63;
  std::size_t total = header.ByteSizeLong();
  for (const std::uint8_t index : request.outputs()) {
    total = std::min(kLargest, total + FieldBytes(outputs[index].bytes));
  }
  return total;
}

}  // namespace kernelwire

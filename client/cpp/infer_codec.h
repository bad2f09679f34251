// InferRequest to the bytes of a ModelInferRequest, and those of a ModelInferResponse to InferReply.
//
// The generated code handles the small fields. Payloads never pass through it, since a protobuf `bytes` field would
// cost a copy each way: they are put beside its output, and found beside its input, by their place in the wire format.
#ifndef KERNELWIRE_CLIENT_INFER_CODEC_H_
#define KERNELWIRE_CLIENT_INFER_CODEC_H_

#include <cstddef>
#include <memory>

#include "grpcpp/support/byte_buffer.h"
#include "kernelwire/infer.h"

namespace kernelwire::client {

/// A payload up to this size is copied beside the small fields, which costs less than a slice of its own.
inline constexpr std::size_t kCopiedPayloadBytes = 8192;

/// Larger payloads become slices over the caller's memory, each holding a copy of the tensor's owner, or of `borrowed`
/// for a tensor without one; where there is neither, they are copied.
/// Errors: INVALID_ARGUMENT naming the input, what was expected and what came, also for the input with which the
/// message would exceed 2^31 - 1 bytes. No payload has been read then.
Result<grpc::ByteBuffer> EncodeInferRequest(const InferRequest& request, const std::shared_ptr<const void>& borrowed);

/// The outputs refer to the message's slices. Errors: INTERNAL for bytes that are no such message, or whose payloads do
/// not fit their shapes; UNIMPLEMENTED for outputs that do not come as raw bytes.
Result<InferReply> DecodeInferReply(const grpc::ByteBuffer& message);

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_INFER_CODEC_H_

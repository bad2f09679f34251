// A finished request as the slices of a ModelInferResponse: a small header, and payloads that stay where they are.
#ifndef KERNELWIRE_SERVER_CODEC_INFER_REPLY_H_
#define KERNELWIRE_SERVER_CODEC_INFER_REPLY_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/batch/request.h"
#include "server/codec/infer_message.h"

namespace kernelwire {

/// Payloads up to this many bytes are copied into the header's slice: that costs less than the reference count of a
/// slice of their own, and gives the slab back at once.
inline constexpr std::size_t kCopiedPayloadBytes = 8192;

/// The longest error text in a stream; longer ones are cut between characters.
inline constexpr std::size_t kMaxErrorMessageBytes = 1024;

/// The reply to `request`: outputs in the order in which the client listed them, otherwise in the spec's. Larger
/// payloads are slices over the slabs of `completion.parts`, each holding a reference until gRPC lets go of it; or
/// copies, where too much of the staging waits for clients to read (Slab::MayWaitForReaders).
/// Requires: `request` is bound, completion.status is OK. Thread-safe for different requests.
grpc::ByteBuffer EncodeInferReply(const InferMessage& request, const Completion& completion);

/// The same as an element of a ModelStreamInfer reply, and an error in that stream (its request's id is kept).
grpc::ByteBuffer EncodeStreamReply(const InferMessage& request, const Completion& completion);
grpc::ByteBuffer EncodeStreamError(const std::string& id, const absl::Status& status);

/// The exact size that EncodeInferReply will have, from the planned (largest) outputs; at most 2^63.
std::size_t LargestReplyBytes(const InferMessage& request);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CODEC_INFER_REPLY_H_

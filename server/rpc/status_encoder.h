// How an error of ours leaves on the wire.
#ifndef KERNELWIRE_SERVER_RPC_STATUS_ENCODER_H_
#define KERNELWIRE_SERVER_RPC_STATUS_ENCODER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"

namespace kernelwire {

/// At most `limit` bytes of `text`, cut between characters of UTF-8, with "..." where something was left out.
/// Requires: limit >= 3.
std::string CutText(std::string_view text, std::size_t limit);

/// The same code (the numbers are equal) and the message, cut to kMaxErrorMessageBytes: whatever name a request
/// carries, the reply's headers stay within 8 KiB, also when every byte is written as %XX. A retry hint (see
/// retry_hint.h) becomes the trailer grpc-retry-pushback-ms of `context`, which client libraries obey, and a
/// google.rpc.RetryInfo in the details, which programs read. Call it before the call's status is sent.
grpc::Status EncodeStatus(const absl::Status& status, grpc::ServerContextBase* context);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_STATUS_ENCODER_H_

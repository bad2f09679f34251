// Asks a running server for its health, as an orchestrator would.
#ifndef KERNELWIRE_SERVER_RPC_PROBE_H_
#define KERNELWIRE_SERVER_RPC_PROBE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace kernelwire {

/// grpc.health.v1.Health/Check of the whole server at `address` (anything that gRPC can dial), without TLS or proxy.
/// Errors: UNAVAILABLE when it says anything but SERVING; the call's own error, DEADLINE_EXCEEDED after `timeout`.
absl::Status Probe(const std::string& address, absl::Duration timeout);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_PROBE_H_

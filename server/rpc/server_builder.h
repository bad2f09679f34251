// The settings of gRPC's own server. Why each: beside its value.
#ifndef KERNELWIRE_SERVER_RPC_SERVER_BUILDER_H_
#define KERNELWIRE_SERVER_RPC_SERVER_BUILDER_H_

#include <vector>

#include "absl/status/status.h"
#include "grpcpp/server_builder.h"
#include "server/rpc/rpc_server.h"

namespace kernelwire {

/// Errors: INVALID_ARGUMENT that names the option, its range and its value.
absl::Status CheckRpcOptions(const RpcOptions& options);

/// Sets limits, timeouts and ports. `ports` gets the bound ports when the builder builds (0: could not be bound), and
/// must stay until then.
void Configure(const RpcOptions& options, grpc::ServerBuilder* builder, std::vector<int>* ports);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_SERVER_BUILDER_H_

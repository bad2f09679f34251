// gRPC's own log, written as ours.
#ifndef KERNELWIRE_SERVER_RPC_GRPC_LOG_H_
#define KERNELWIRE_SERVER_RPC_GRPC_LOG_H_

namespace kernelwire {

/// From now on what gRPC and Protocol Buffers log in this process goes to spdlog's default logger, so that every line
/// has one form. What GRPC_VERBOSITY lets through is kept: errors, unless it says more. Before gRPC is used.
void RedirectGrpcLog();

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_GRPC_LOG_H_

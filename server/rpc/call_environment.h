// What all calls of one server share.
#ifndef KERNELWIRE_SERVER_RPC_CALL_ENVIRONMENT_H_
#define KERNELWIRE_SERVER_RPC_CALL_ENVIRONMENT_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "grpcpp/generic/async_generic_service.h"
#include "server/rpc/method_table.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/stream_places.h"

namespace kernelwire {

struct CallEnvironment {
  CallEnvironment(const RpcOptions& rpc_options, const RpcParts& rpc_parts)
      : options(rpc_options),
        parts(rpc_parts),
        methods(rpc_options.reflection),
        streams(rpc_options.max_streams, &PeerCounts::Peer::streams, "streams at once: --max_streams"),
        watches(std::max(1, rpc_options.max_calls / 4), &PeerCounts::Peer::watches,
                "health watches at once: a quarter of --max_calls") {}

  const RpcOptions options;
  const RpcParts parts;
  const MethodTable methods;
  grpc::AsyncGenericService service;

  std::atomic<bool> draining{false};
  // Counted by us, since gRPC's own limit of streams is only advice to the client.
  std::atomic<int> live_calls{0};
  std::atomic<int> live_refused{0};  // of live_calls: being told that they are not let in
  StreamPlaces streams;              // ModelStreamInfer and reflection
  StreamPlaces watches;
  /// Calls that came while draining, for seeing whether clients still come.
  std::atomic<std::uint64_t> late_calls{0};
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_CALL_ENVIRONMENT_H_

#include "client/cpp/channel_set.h"

#include <regex>

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace kernelwire::client {
namespace {

// Whether an address names the machine it is used on. (gRPC itself knows this of Unix sockets.)
bool IsLoopback(const std::string& address) {
  static const std::regex kLoopback(R"((dns:(///)?|ipv4:)?(localhost|127(\.\d+){3}|\[::1\])(:\w*)?)",
                                    std::regex::ECMAScript | std::regex::icase);
  return std::regex_match(address, kLoopback);
}

std::shared_ptr<grpc::Channel> NewChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // the server's limits count, not the library's 4 MiB
  arguments.SetMaxSendMessageSize(-1);
  // The library repeats calls up to 256 KiB by itself, by rules of its own; ours are in retry.h.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Channels to one address would share one connection otherwise.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A server that restarts is found again within a fraction of a second, not after up to two minutes: one attempt to
  // connect at least so often, provided that somebody polls (AwaitReconnection).
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  // Pings slower than the most frequent that a stock server tolerates (one in 5 minutes). Having them at all also makes
  // the library set TCP_USER_TIMEOUT, which ends a connection whose peer takes no bytes for 10 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 310'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // To a proxy that the environment names (http_proxy and its like), such an address would mean the proxy's own
  // machine.
  if (IsLoopback(address)) {
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  }
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

ChannelSet::ChannelSet(const std::string& address, int connections) {
  for (int i = 0; i < connections; ++i) {
    channels_.push_back(NewChannel(address));
  }
}

}  // namespace kernelwire::client

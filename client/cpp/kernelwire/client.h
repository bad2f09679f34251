// A client of a kernelwire server, or of any server of the Open Inference Protocol.
//
//   using namespace std::chrono_literals;
//   auto client = kernelwire::client::Client::Connect("localhost:8001");
//   auto y = kernelwire::client::Softmax(client, View(values, {rows, width}), {}, 100ms);   // kernelwire/operators.h
//   if (!y.ok()) std::cerr << y.status().ToString() << '\n';
//
// Every call needs a timeout: it covers all attempts, and the server drops work that cannot make it. There is no
// default, because none is right for both a 40 us softmax and a 64 MiB batch.
#ifndef KERNELWIRE_CLIENT_CLIENT_H_
#define KERNELWIRE_CLIENT_CLIENT_H_

#include <chrono>
#include <memory>
#include <string>

#include "kernelwire/infer.h"
#include "kernelwire/retry.h"
#include "kernelwire/status.h"

namespace inference {  // generated messages: include "open_inference.pb.h" where one of the calls below is used
class ModelConfigResponse;
class ModelMetadataResponse;
class ModelStatisticsResponse;
class RepositoryIndexResponse;
class ServerMetadataResponse;
}  // namespace inference

namespace kernelwire::client {

class ChannelSet;

using Timeout = std::chrono::nanoseconds;

struct ClientOptions {
  /// TCP (or Unix) connections, used in turn. One serves small calls best; large tensors gain from two to four.
  int connections = 1;
  RetryPolicy retry;
};

/// Answer of the standard health service.
enum class Health { kUnknown, kServing, kNotServing };

/// "0.1.0": of this library.
std::string Version();

/// Thread-safe; copies share the connections. A call runs in the thread that makes it, which polls the network itself:
/// no other thread is woken, which saves about 80 us a call.
///
/// Memory given to a call is sent from where it lies and is free again when the call returns, whatever the outcome.
///
/// A server that went away and comes back under its address is found again within a fraction of a second: while there
/// is no connection, a call waits for one before it fails, up to 20 ms but never more than half of its time, and the
/// waits between attempts see to it as well.
///
/// One limit to deadlines is gRPC's own: if the peer stops reading in the middle of a request that is larger than the
/// sockets' buffers, a call ends only with its connection, which TCP gives up after 10 to 20 s and a Unix socket when
/// the peer ends.
class Client {
 public:
  /// `address`: "host:port", "unix:/path/to/socket", or any name gRPC resolves. Returns at once; the first call
  /// connects, and an address that nobody answers gives UNAVAILABLE there. An HTTP proxy that the environment names
  /// (http_proxy and no_proxy, as gRPC reads them) is gone through to other machines, never to this one: localhost,
  /// 127.*, [::1], unix.
  static Client Connect(const std::string& address, const ClientOptions& options = {});

  /// Runs a model. Inputs are sent from where they lie, not copied; outputs are copied once, or viewed.
  /// Errors: the server's own, its message whole; INVALID_ARGUMENT before sending if a shape and its memory disagree,
  /// or the request would exceed 2^31 - 1 bytes, which is what a message holds;
  /// INTERNAL for a reply that is no such message.
  Result<InferReply> Infer(const InferRequest& request, Timeout timeout) const;

  Result<bool> ServerLive(Timeout timeout) const;
  Result<bool> ServerReady(Timeout timeout) const;
  Result<bool> ModelReady(const std::string& model, Timeout timeout) const;
  /// `service` empty: the server as a whole. NOT_FOUND for a name that the server does not know.
  Result<Health> CheckHealth(const std::string& service, Timeout timeout) const;

  Result<inference::ServerMetadataResponse> ServerMetadata(Timeout timeout) const;
  Result<inference::ModelMetadataResponse> ModelMetadata(const std::string& model, Timeout timeout) const;
  Result<inference::ModelConfigResponse> ModelConfig(const std::string& model, Timeout timeout) const;
  /// `model` empty: all models.
  Result<inference::ModelStatisticsResponse> ModelStatistics(const std::string& model, Timeout timeout) const;
  Result<inference::RepositoryIndexResponse> RepositoryIndex(Timeout timeout) const;

 private:
  friend class Pipeline;
  Client(std::shared_ptr<ChannelSet> channels, RetryPolicy retry);

  std::shared_ptr<ChannelSet> channels_;
  RetryPolicy retry_;
};

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_CLIENT_H_

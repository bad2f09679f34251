// A client that no gRPC library would be: frames of HTTP/2 (RFC 9113) written by hand.
#ifndef KERNELWIRE_SERVER_RPC_TESTING_HOSTILE_PEER_H_
#define KERNELWIRE_SERVER_RPC_TESTING_HOSTILE_PEER_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace kernelwire::testing {

/// The beginning of a call; nothing follows. `stream` is odd and larger than those before, `method` has up to 127
/// bytes.
std::string OpenCallFrame(std::uint32_t stream,
                          const std::string& method = "/inference.GRPCInferenceService/ModelInfer");
/// The call's end: the client takes no interest in it any more.
std::string ResetFrame(std::uint32_t stream);

/// A connection to a port of this machine. Never acknowledges the server's settings, so that gRPC does not hold it to
/// the limit of streams, and reads nothing but in AwaitServer. One thread.
class HostilePeer {
 public:
  explicit HostilePeer(int port);
  ~HostilePeer();
  HostilePeer(const HostilePeer&) = delete;
  HostilePeer& operator=(const HostilePeer&) = delete;

  void Send(const std::string& bytes);
  /// Returns when the server has taken in all frames that were sent.
  void AwaitServer();

 private:
  std::string Receive(std::size_t bytes) const;

  const int socket_;
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_RPC_TESTING_HOSTILE_PEER_H_

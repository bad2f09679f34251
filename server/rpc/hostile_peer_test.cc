// Clients that no gRPC library would be: frames of HTTP/2 (RFC 9113) written by hand.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "server/rpc/testing/rpc_fixture.h"
#include "server/rpc/testing/twice_operator.h"

namespace kernelwire::testing {
namespace {

constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kResetStream = 3;
constexpr std::uint8_t kSettings = 4;
constexpr std::uint8_t kPing = 6;
constexpr std::uint8_t kEndHeaders = 4;
constexpr std::uint8_t kAcknowledged = 1;
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr char kCancel[] = {0, 0, 0, 8};

std::string Frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, const std::string& payload) {
  const auto byte = [](std::size_t value) { return static_cast<char>(value & 0xFFu); };
  const std::string header = {byte(payload.size() >> 16u), byte(payload.size() >> 8u), byte(payload.size()),
                              static_cast<char>(type),     static_cast<char>(flags),   byte(stream >> 24u),
                              byte(stream >> 16u),         byte(stream >> 8u),         byte(stream)};
  return header + payload;
}

/// A header field as HPACK's plainest form (RFC 7541, 6.2.2): literal, new name, no Huffman code.
std::string Field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

/// The beginning of a call of ModelInfer; nothing follows.
std::string OpenCall(std::uint32_t stream) {
  return Frame(kHeaders, kEndHeaders, stream,
               Field(":method", "POST") + Field(":scheme", "http") + Field(":authority", "test") +
                   Field(":path", "/inference.GRPCInferenceService/ModelInfer") + Field("te", "trailers") +
                   Field("content-type", "application/grpc"));
}

/// Never acknowledges the server's settings: gRPC does not hold it to the limit of streams.
class HostilePeer {
 public:
  explicit HostilePeer(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    Send(kPreface + Frame(kSettings, 0, 0, ""));
  }
  ~HostilePeer() { ::close(socket_); }
  HostilePeer(const HostilePeer&) = delete;
  HostilePeer& operator=(const HostilePeer&) = delete;

  void Send(const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t now = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      ASSERT_GT(now, 0);
      sent += static_cast<std::size_t>(now);
    }
  }

  /// Returns when the server has taken in all frames that were sent.
  void AwaitServer() {
    Send(Frame(kPing, 0, 0, std::string(8, 'p')));
    for (;;) {
      const std::string header = Receive(9);
      ASSERT_EQ(header.size(), 9u) << "the server closed the connection";
      const auto byte = [&header](std::size_t index) { return static_cast<std::size_t>(header[index]) & 0xFFu; };
      Receive(byte(0) << 16u | byte(1) << 8u | byte(2));
      if (byte(3) == kPing && byte(4) == kAcknowledged) {
        return;
      }
    }
  }

 private:
  std::string Receive(std::size_t bytes) const {
    std::string received(bytes, '\0');
    const ssize_t got = bytes == 0 ? 0 : ::recv(socket_, received.data(), bytes, MSG_WAITALL);
    received.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return received;
  }

  const int socket_;
};

class HostilePeerTest : public RpcFixture {
 protected:
  void ExpectServed() {
    PatientContext context;
    inference::ModelInferResponse response;
    const grpc::Status status = inference().ModelInfer(&context, TwiceRequest({1}), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
};

TEST_F(HostilePeerTest, OneConnectionGetsNoMoreCallsThanItsLimit) {
  options.completion_queues = 1;
  options.max_calls_per_peer = 3;
  Start();
  {
    HostilePeer peer(server->ports()[0]);
    for (std::uint32_t i = 0; i < 100; ++i) {
      peer.Send(OpenCall(2 * i + 1));
    }
    peer.AwaitServer();
    ExpectServed();  // comes after them in the queue
    Await([this] { return server->live_calls() == 3; }, "three calls let in, the others refused");
  }
  ExpectNothingLeft();
}

TEST_F(HostilePeerTest, OpenedAndResetCallsLeaveNothingBehind) {
  Start();
  {
    HostilePeer peer(server->ports()[0]);
    for (std::uint32_t i = 0; i < 5000; ++i) {
      peer.Send(OpenCall(2 * i + 1) + Frame(kResetStream, 0, 2 * i + 1, std::string(kCancel, sizeof(kCancel))));
    }
    ExpectServed();
  }
  ExpectNothingLeft();
}

TEST_F(HostilePeerTest, BrokenConnectionEndsItsCalls) {
  Start();
  {
    HostilePeer peer(server->ports()[0]);
    peer.Send(OpenCall(1) + OpenCall(3));
    Await([this] { return server->live_calls() == 2; }, "its calls");
    peer.Send(std::string(64, '\xFF'));  // no frame at all
  }
  ExpectNothingLeft();
  ExpectServed();
}

}  // namespace
}  // namespace kernelwire::testing

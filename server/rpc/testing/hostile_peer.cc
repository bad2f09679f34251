#include "server/rpc/testing/hostile_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace kernelwire::testing {
namespace {

constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kResetStream = 3;
constexpr std::uint8_t kSettings = 4;
constexpr std::uint8_t kPing = 6;
constexpr std::uint8_t kEndHeaders = 4;
constexpr std::uint8_t kAcknowledged = 1;
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr char kCancel[] = {0, 0, 0, 8};  // the code of the reset

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

}  // namespace

std::string OpenCallFrame(std::uint32_t stream, const std::string& method) {
  return Frame(kHeaders, kEndHeaders, stream,
               Field(":method", "POST") + Field(":scheme", "http") + Field(":authority", "test") +
                   Field(":path", method) + Field("te", "trailers") + Field("content-type", "application/grpc"));
}

std::string ResetFrame(std::uint32_t stream) {
  return Frame(kResetStream, 0, stream, std::string(kCancel, sizeof(kCancel)));
}

HostilePeer::HostilePeer(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  Send(kPreface + Frame(kSettings, 0, 0, ""));
}

HostilePeer::~HostilePeer() { ::close(socket_); }

void HostilePeer::Send(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    ASSERT_GT(now, 0);
    sent += static_cast<std::size_t>(now);
  }
}

void HostilePeer::AwaitServer() {
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

std::string HostilePeer::Receive(std::size_t bytes) const {
  std::string received(bytes, '\0');
  const ssize_t got = bytes == 0 ? 0 : ::recv(socket_, received.data(), bytes, MSG_WAITALL);
  received.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return received;
}

}  // namespace kernelwire::testing

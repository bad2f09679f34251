// A peer that opens its flow-control windows wide and then reads nothing: the request's bytes stay behind in the
// client's transport after the call has failed. What happens to the caller's memory then is promised in client.h.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernelwire/client.h"

namespace kernelwire::client {
namespace {

using namespace std::chrono_literals;

// HTTP/2 frames: SETTINGS with INITIAL_WINDOW_SIZE = 2^31 - 1, and a WINDOW_UPDATE that does the same for the
// connection.
constexpr std::uint8_t kWideOpen[] = {0,    0, 6, 4, 0, 0, 0, 0, 0, 0, 4,    0x7f, 0xff, 0xff,
                                      0xff, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xfe, 0,    0};

class SilentPeer {
 public:
  SilentPeer() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int small = 4096;
    setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Greet(); });
  }
  ~SilentPeer() { HangUp(); }

  // Stops listening and closes every connection.
  void HangUp() {
    if (thread_.joinable()) {
      shutdown(listener_, SHUT_RDWR);
      thread_.join();
      for (const int connection : connections_) {
        close(connection);
      }
      close(listener_);
    }
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  void Greet() {
    for (int connection = 0; (connection = accept(listener_, nullptr, nullptr)) >= 0;) {
      EXPECT_EQ(send(connection, kWideOpen, sizeof(kWideOpen), MSG_NOSIGNAL), static_cast<ssize_t>(sizeof(kWideOpen)));
      connections_.push_back(connection);
    }
  }

  int listener_;
  int port_ = 0;
  std::vector<int> connections_;
  std::thread thread_;
};

constexpr std::int64_t kElements = 16 << 20;  // 64 MiB: far more than the sockets hold

InferRequest RequestOver(const std::vector<float>& values) {
  InferRequest request;
  request.model = "m";
  request.inputs = {{"x", View(values, {kElements})}};
  return request;
}

TEST(SilentPeer, BorrowedMemoryIsFreeWhenTheCallReturns) {
  SilentPeer peer;
  const Client client = Client::Connect(peer.address());
  auto values = std::make_unique<std::vector<float>>(kElements);
  std::thread end([&peer] {
    std::this_thread::sleep_for(600ms);  // well after the deadline; the test holds in either order
    peer.HangUp();
  });
  const Status status = client.Infer(RequestOver(*values), 200ms).status();
  values.reset();  // a later read of these bytes is what the address sanitizer would report
  EXPECT_FALSE(status.ok());
  end.join();
}

}  // namespace
}  // namespace kernelwire::client

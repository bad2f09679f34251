// A server that goes away and comes back under its old address, as its clients see it. The peer is made of sockets
// alone: a server of gRPC's in this process would poll the clients' sockets as well, and hide that they do not.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client/cpp/test_values.h"
#include "gtest/gtest.h"
#include "kernelwire/pipeline.h"

namespace kernelwire::client {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

// In HPACK: ":status: 200" and "content-type: ..." by their numbers in its table, "grpc-status: 12" by name.
constexpr std::string_view kUnimplemented =
    "\x88\x0f\x10\x10"
    "application/grpc"
    "\0\x0b"
    "grpc-status"
    "\x02"
    "12"sv;

using FrameHead = std::array<std::uint8_t, 9>;  // of HTTP/2: length of 3 bytes, type, flags, stream of 4 bytes

bool ReadAll(int connection, void* to, std::size_t size) {
  return recv(connection, to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

// Serves one connection after the other: answers every call UNIMPLEMENTED, which is an answer.
class BarePeer {
 public:
  // `port` 0: one that the system chooses.
  explicit BarePeer(std::uint16_t port) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~BarePeer() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
      shutdown(listener_, SHUT_RDWR);
      shutdown(connection_, SHUT_RDWR);
    }
    thread_.join();
    close(listener_);
  }
  std::uint16_t port() const { return port_; }

 private:
  void Serve() {
    for (int accepted = 0; (accepted = accept(listener_, nullptr, nullptr)) >= 0;) {
      if (Keep(accepted)) {
        Answer(accepted);
      }
      Keep(-1);
      close(accepted);
    }
  }

  // What the destructor shuts down. False if it has already.
  bool Keep(int connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    connection_ = connection;
    return !stopped_;
  }

  static void Answer(int connection) {
    constexpr std::uint8_t kHeaders = 1;
    constexpr std::uint8_t kSettings = 4;
    std::array<char, 24> preface;
    if (!ReadAll(connection, preface.data(), preface.size())) {
      return;
    }
    Send(connection, {0, 0, 0, kSettings, 0, 0, 0, 0, 0}, "");
    FrameHead head;
    while (ReadAll(connection, head.data(), head.size())) {
      std::vector<char> payload(std::size_t{head[0]} << 16 | std::size_t{head[1]} << 8 | head[2]);
      if (!payload.empty() && !ReadAll(connection, payload.data(), payload.size())) {
        return;
      }
      if (head[3] == kHeaders) {
        constexpr std::uint8_t kEndOfStreamAndHeaders = 5;
        Send(connection, {0, 0, 0, kHeaders, kEndOfStreamAndHeaders, head[5], head[6], head[7], head[8]},
             kUnimplemented);
      }
    }
  }

  static void Send(int connection, FrameHead head, std::string_view payload) {
    head[2] = static_cast<std::uint8_t>(payload.size());
    const std::string frame = std::string(head.begin(), head.end()) + std::string(payload);
    send(connection, frame.data(), frame.size(), MSG_NOSIGNAL);
  }

  const int listener_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  bool stopped_ = false;
  int connection_ = -1;
  std::thread thread_;
};

class Restart : public ::testing::Test {
 protected:
  // `call` is answered, fails while nobody listens, and is answered again before gRPC's own poller, which looks every
  // 5 s, could have had a part in it.
  void ExpectFoundAgain(const std::function<Status()>& call) {
    ASSERT_EQ(call().ToString(), "UNIMPLEMENTED: ");
    peer_.reset();
    for (int lost = 0; lost < 3; ++lost) {  // the connection, one that is refused, and a call that is not even tried
      ASSERT_EQ(call().code(), StatusCode::kUnavailable);
    }
    peer_ = std::make_unique<BarePeer>(port_);
    const auto give_up = std::chrono::steady_clock::now() + 4s;
    Status status = call();
    while (status.code() == StatusCode::kUnavailable && std::chrono::steady_clock::now() < give_up) {
      status = call();
    }
    EXPECT_EQ(status.ToString(), "UNIMPLEMENTED: ");
  }

  Client ConnectWithAttempts(int attempts) const {
    ClientOptions options;
    options.retry.max_attempts = attempts;
    return Client::Connect("127.0.0.1:" + std::to_string(port_), options);
  }

 private:
  std::unique_ptr<BarePeer> peer_ = std::make_unique<BarePeer>(0);
  const std::uint16_t port_ = peer_->port();
};

TEST_F(Restart, IsNoticedBetweenAttempts) {
  const Client client = ConnectWithAttempts(RetryPolicy().max_attempts);
  ExpectFoundAgain([&client] { return client.ServerLive(kLong).status(); });
}

TEST_F(Restart, IsNoticedByCallsOfOneAttempt) {
  const Client client = ConnectWithAttempts(1);
  ExpectFoundAgain([&client] { return client.ServerLive(kLong).status(); });
}

// Starts calls one after the other and asks for their ends with this wait.
Status CallInPipeline(const EncodedRequest& request, Pipeline* pipeline, std::chrono::nanoseconds wait) {
  pipeline->Start(request, kLong, 0);
  auto done = pipeline->Next(wait);
  while (!done.has_value()) {
    done = pipeline->Next(wait);
  }
  return done->status();
}

TEST_F(Restart, IsNoticedByAPipeline) {
  const EncodedRequest request = *EncodedRequest::From(InferRequest());
  Pipeline pipeline(ConnectWithAttempts(1));
  ExpectFoundAgain([&pipeline, &request] { return CallInPipeline(request, &pipeline, kLong); });
}

TEST_F(Restart, IsNoticedByAPipelineThatOnlyLooks) {
  const EncodedRequest request = *EncodedRequest::From(InferRequest());
  Pipeline pipeline(ConnectWithAttempts(1));
  ExpectFoundAgain([&pipeline, &request] { return CallInPipeline(request, &pipeline, 0ns); });
}

}  // namespace
}  // namespace kernelwire::client

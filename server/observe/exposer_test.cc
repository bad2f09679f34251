#include "server/observe/exposer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <deque>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/observe/metrics.h"

namespace kernelwire {
namespace {

using ::testing::HasSubstr;

/// A connection to a port of this machine. It does not wait for an answer without end.
class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const timeval patience{20, 0};
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int descriptor() const { return socket_; }

 private:
  const int socket_;
};

/// What an HTTP GET of `path` returns, head and body.
std::string Get(int port, const std::string& path) {
  const Connection connection(port);
  const std::string request = absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(send(connection.descriptor(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string reply;
  char buffer[4096];
  for (ssize_t got = 0; (got = recv(connection.descriptor(), buffer, sizeof(buffer), 0)) > 0;) {
    reply.append(buffer, static_cast<std::size_t>(got));
  }
  return reply;
}

TEST(MetricsExposer, ServesTheMetricsOnAPortOfTheSystemsChoice) {
  const Metrics metrics({"softmax"});
  const auto exposer = MetricsExposer::Start("127.0.0.1:0", metrics.collectable());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  EXPECT_GT((*exposer)->port(), 0);
  EXPECT_EQ((*exposer)->address(), absl::StrCat("127.0.0.1:", (*exposer)->port()));
  const std::string reply = Get((*exposer)->port(), "/metrics");
  EXPECT_THAT(reply, HasSubstr("200 OK"));
  EXPECT_THAT(reply, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(reply, HasSubstr("kernelwire_request_duration_seconds_count{operator=\"softmax\",code=\"OK\"} 0"));
}

TEST(MetricsExposer, ServesNothingElse) {
  const Metrics metrics({});
  const auto exposer = MetricsExposer::Start("127.0.0.1:0", metrics.collectable());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  EXPECT_THAT(Get((*exposer)->port(), "/etc/passwd"), HasSubstr("404"));
}

TEST(MetricsExposer, ServesBesideConnectionsThatSayNothing) {
  const Metrics metrics({});
  const auto exposer = MetricsExposer::Start("127.0.0.1:0", metrics.collectable());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  std::deque<Connection> silent;
  for (int i = 0; i < 8; ++i) {  // one for each thread
    silent.emplace_back((*exposer)->port());
  }
  EXPECT_THAT(Get((*exposer)->port(), "/metrics"), HasSubstr("200 OK"));
}

TEST(MetricsExposer, SaysWhyAnAddressIsRefused) {
  const Metrics metrics({});
  for (const char* address : {"", "8002", ":8002", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000",
                              "127.0.0.1:1,127.0.0.1:2", "999.1.1.1:0", "1.2.3:0"}) {
    const auto exposer = MetricsExposer::Start(address, metrics.collectable());
    EXPECT_EQ(exposer.status().code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(std::string(exposer.status().message()), HasSubstr("--metrics_address")) << address;
  }
}

TEST(MetricsExposer, SaysThatAPortIsTaken) {
  const Metrics metrics({});
  const auto first = MetricsExposer::Start("127.0.0.1:0", metrics.collectable());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = MetricsExposer::Start((*first)->address(), metrics.collectable());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr((*first)->address()));
}

}  // namespace
}  // namespace kernelwire

// How a stop ends when a client does not take part in it.
#include "server/server.h"

#include <csignal>
#include <memory>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/rpc/testing/hostile_peer.h"

namespace kernelwire::testing {
namespace {

Options QuickOptions() {
  Options options;
  options.rpc.addresses = {"127.0.0.1:0"};
  options.metrics_address.clear();
  options.device = DeviceChoice::kHost;
  options.staging_bytes = std::size_t{256} << 20;
  options.self_test = false;
  options.drain_delay = absl::ZeroDuration();
  options.drain_timeout = absl::Milliseconds(200);
  return options;
}

TEST(ServerTest, StopInOrderEndsWellWhenAConnectionOutlivesTheDrain) {
  std::signal(SIGPIPE, SIG_IGN);
  auto started = Server::Create(QuickOptions());
  ASSERT_TRUE(started.ok()) << started.status();
  const std::unique_ptr<Server> server = *std::move(started);
  HostilePeer peer(server->ports()[0]);
  peer.Send(OpenCallFrame(1, "/grpc.health.v1.Health/Watch"));  // a call that the stop ends at once
  peer.AwaitServer();  // and reads nothing from now on: gRPC waits in vain for it to say goodbye
  server->RequestStop();
  EXPECT_EQ(server->Wait(), ExitCode::kOk);
}

}  // namespace
}  // namespace kernelwire::testing

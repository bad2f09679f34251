// Clients that no gRPC library would be.
#include "server/rpc/testing/hostile_peer.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "server/rpc/testing/rpc_fixture.h"
#include "server/rpc/testing/twice_operator.h"

namespace kernelwire::testing {
namespace {

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
      peer.Send(OpenCallFrame(2 * i + 1));
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
      peer.Send(OpenCallFrame(2 * i + 1) + ResetFrame(2 * i + 1));
    }
    ExpectServed();
  }
  ExpectNothingLeft();
}

TEST_F(HostilePeerTest, BrokenConnectionEndsItsCalls) {
  Start();
  {
    HostilePeer peer(server->ports()[0]);
    peer.Send(OpenCallFrame(1) + OpenCallFrame(3));
    Await([this] { return server->live_calls() == 2; }, "its calls");
    peer.Send(std::string(64, '\xFF'));  // no frame at all
  }
  ExpectNothingLeft();
  ExpectServed();
}

TEST_F(HostilePeerTest, NoCallIsCutOffWhenAConnectionOutlivesTheGrace) {
  Start();
  HostilePeer peer(server->ports()[0]);
  peer.AwaitServer();  // and reads nothing from now on: gRPC waits in vain for it to say goodbye
  PatientContext context;
  const auto watch = health_stub().Watch(&context, {});
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(server->Shutdown(std::chrono::milliseconds(200)), 0);
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);  // told in order
}

}  // namespace
}  // namespace kernelwire::testing

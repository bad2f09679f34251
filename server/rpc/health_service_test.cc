// grpc.health.v1.Health over the wire.
#include <string>

#include "gtest/gtest.h"
#include "health.pb.h"
#include "server/rpc/testing/raw_call.h"
#include "server/rpc/testing/rpc_fixture.h"

namespace kernelwire::testing {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class HealthServiceTest : public RpcFixture {
 protected:
  static HealthCheckRequest About(const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    return request;
  }
};

TEST_F(HealthServiceTest, CheckSaysTheState) {
  Start();
  for (const std::string service : {"", "inference.GRPCInferenceService", "readiness", "liveness"}) {
    PatientContext context;
    HealthCheckResponse response;
    ASSERT_TRUE(health_stub().Check(&context, About(service), &response).ok()) << service;
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING) << service;
  }
  health.SetReady(false);
  PatientContext context;
  HealthCheckResponse response;
  ASSERT_TRUE(health_stub().Check(&context, About(""), &response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthServiceTest, CheckOfAnUnknownNameIsNotFound) {
  Start();
  PatientContext context;
  HealthCheckResponse response;
  EXPECT_EQ(health_stub().Check(&context, About("nobody"), &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(HealthServiceTest, WatchTellsOfChanges) {
  Start();
  PatientContext context;
  const auto watch = health_stub().Watch(&context, About(""));
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  health.Set("gpu/0", Health::kServing);  // somebody else's change says nothing here
  health.SetReady(false);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  health.SetReady(true);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  context.TryCancel();
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
  ExpectNothingLeft();
}

TEST_F(HealthServiceTest, WatchWithoutAnAnswerIsCounted) {
  Start();
  RawCall call(channel(), "/grpc.health.v1.Health/Watch");
  call.WritesDone();
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  ExpectNothingLeft();
  EXPECT_EQ(CountedErrors("INVALID_ARGUMENT"), 1);
}

TEST_F(HealthServiceTest, WatchOfAnUnknownNameWaitsForIt) {
  Start();
  PatientContext context;
  const auto watch = health_stub().Watch(&context, About("gpu/3"));
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  health.Set("gpu/3", Health::kServing);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
}

TEST_F(HealthServiceTest, WatchersOfEveryQueueAreTold) {
  options.completion_queues = 4;
  Start();
  std::vector<std::unique_ptr<RawCall>> watchers;
  for (int i = 0; i < 16; ++i) {
    watchers.push_back(std::make_unique<RawCall>(Connect(), "/grpc.health.v1.Health/Watch"));
    ASSERT_TRUE(watchers.back()->Write(About("")));
    ASSERT_TRUE(watchers.back()->Read().has_value());
  }
  health.SetReady(false);
  for (const auto& watcher : watchers) {
    HealthCheckResponse response;
    ASSERT_TRUE(response.ParseFromString(watcher->Read().value_or("none")));
    EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  }
}

}  // namespace
}  // namespace kernelwire::testing

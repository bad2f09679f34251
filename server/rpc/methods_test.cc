// Every method that is not inference, over the wire.
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "health.pb.h"
#include "open_inference.pb.h"
#include "server/rpc/method_table.h"
#include "server/rpc/testing/raw_call.h"
#include "server/rpc/testing/rpc_fixture.h"
#include "server/rpc/testing/twice_operator.h"

namespace kernelwire::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using MethodsTest = RpcFixture;

constexpr char kInference[] = "/inference.GRPCInferenceService/";

TEST(MethodTableTest, KnowsEveryMethodOfTheProtocol) {
  const MethodTable table(/*reflection=*/true);
  const auto* inference = inference::ModelInferRequest::descriptor()->file()->service(0);
  const auto* health = grpc::health::v1::HealthCheckRequest::descriptor()->file()->service(0);
  for (const auto* service : {inference, health}) {
    for (int i = 0; i < service->method_count(); ++i) {
      const std::string path = "/" + service->full_name() + "/" + service->method(i)->name();
      const Method* method = table.Find(path);
      ASSERT_NE(method, nullptr) << path;
      if (method->kind != MethodKind::kNotServed) {
        EXPECT_EQ(method->streaming(), service->method(i)->server_streaming()) << path;
      }
    }
  }
  EXPECT_EQ(table.Find("ModelInfer"), nullptr);
  EXPECT_EQ(table.Find(""), nullptr);
}

TEST_F(MethodsTest, UnknownMethodIsNamedAndCut) {
  Start();
  const grpc::Status status = CallRaw(channel(), "/inference.GRPCInferenceService/NoSuch", "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("/inference.GRPCInferenceService/NoSuch"));
  const grpc::Status longer = CallRaw(channel(), "/" + std::string(4000, 'x'), "");
  EXPECT_EQ(longer.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_LT(longer.error_message().size(), 300u);
  ExpectNothingLeft();
}

TEST_F(MethodsTest, UnservedMethodsSayWhatIsMissing) {
  Start();
  for (const std::string name :
       {"RepositoryModelLoad", "RepositoryModelUnload", "SystemSharedMemoryStatus", "SystemSharedMemoryRegister",
        "SystemSharedMemoryUnregister", "CudaSharedMemoryStatus", "CudaSharedMemoryRegister",
        "CudaSharedMemoryUnregister", "TraceSetting", "LogSettings"}) {
    const grpc::Status status = CallRaw(channel(), kInference + name, "");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << name;
    EXPECT_THAT(status.error_message(), HasSubstr(name + ": ")) << name;
  }
}

TEST_F(MethodsTest, BytesThatAreNoMessageAreInvalid) {
  Start();
  const std::string garbage("\x0A\xFF\xFF", 3);
  for (const std::string name : {"ServerLive", "ModelReady", "ModelMetadata", "ModelStatistics", "RepositoryIndex"}) {
    const grpc::Status status = CallRaw(channel(), kInference + name, garbage);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << name;
    EXPECT_THAT(status.error_message(), HasSubstr("inference." + name + "Request")) << name;
  }
}

TEST_F(MethodsTest, LargeMessageIsRefusedUnparsed) {
  Start();
  constexpr std::size_t kLimit = 131072;
  std::string unknown_fields;
  while (unknown_fields.size() < kLimit) {
    unknown_fields += std::string("\x7A\x00", 2);
  }
  EXPECT_TRUE(CallRaw(channel(), std::string(kInference) + "ServerLive", unknown_fields).ok());
  unknown_fields += std::string("\x7A\x00", 2);
  for (const std::string method :
       {"/inference.GRPCInferenceService/ServerLive", "/inference.GRPCInferenceService/ModelStatistics",
        "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"}) {
    RawCall call(channel(), method);
    call.Write(unknown_fields);
    const grpc::Status status = call.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("of at most 131072 bytes, got 131074")) << method;
    EXPECT_EQ(call.context().GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 0u) << method;
  }
  ExpectNothingLeft();
}

TEST_F(MethodsTest, CallWithoutMessageIsInvalid) {
  Start();
  for (const std::string name : {"ServerLive", "ModelInfer"}) {
    RawCall call(channel(), kInference + name);
    call.WritesDone();
    const grpc::Status status = call.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << name;
    EXPECT_THAT(status.error_message(), HasSubstr("expected one message")) << name;
  }
  ExpectNothingLeft();
}

TEST_F(MethodsTest, LivenessAndReadinessFollowTheHealth) {
  Start();
  const auto ask = [this] {
    PatientContext live_context, ready_context, model_context;
    inference::ServerLiveResponse live;
    inference::ServerReadyResponse ready;
    inference::ModelReadyResponse model;
    inference::ModelReadyRequest model_request;
    model_request.set_name("twice");
    EXPECT_TRUE(inference().ServerLive(&live_context, {}, &live).ok());
    EXPECT_TRUE(inference().ServerReady(&ready_context, {}, &ready).ok());
    EXPECT_TRUE(inference().ModelReady(&model_context, model_request, &model).ok());
    return std::string(live.live() ? "L" : "-") + (ready.ready() ? "R" : "-") + (model.ready() ? "M" : "-");
  };
  EXPECT_EQ(ask(), "LRM");
  health.SetReady(false);
  EXPECT_EQ(ask(), "L--");
  health.Set("liveness", Health::kNotServing);
  EXPECT_EQ(ask(), "---");
}

TEST_F(MethodsTest, UnknownModelIsNotReadyAndElsewhereNotFound) {
  Start();
  const struct { const char *name, *version; } unknown[] = {{"thrice", ""}, {"", ""}, {"twice", "2"}};
  for (const auto& model : unknown) {
    PatientContext contexts[4];
    inference::ModelReadyRequest ready_request;
    ready_request.set_name(model.name);
    ready_request.set_version(model.version);
    inference::ModelReadyResponse ready;
    EXPECT_TRUE(inference().ModelReady(&contexts[0], ready_request, &ready).ok());
    EXPECT_FALSE(ready.ready());

    inference::ModelMetadataRequest metadata_request;
    metadata_request.set_name(model.name);
    metadata_request.set_version(model.version);
    inference::ModelMetadataResponse metadata;
    EXPECT_EQ(inference().ModelMetadata(&contexts[1], metadata_request, &metadata).error_code(),
              grpc::StatusCode::NOT_FOUND);

    inference::ModelConfigRequest config_request;
    config_request.set_name(model.name);
    config_request.set_version(model.version);
    inference::ModelConfigResponse config;
    EXPECT_EQ(inference().ModelConfig(&contexts[2], config_request, &config).error_code(), grpc::StatusCode::NOT_FOUND);

    if (*model.name != '\0') {  // without a name, statistics are those of all models
      inference::ModelStatisticsRequest statistics_request;
      statistics_request.set_name(model.name);
      statistics_request.set_version(model.version);
      inference::ModelStatisticsResponse statistics;
      EXPECT_EQ(inference().ModelStatistics(&contexts[3], statistics_request, &statistics).error_code(),
                grpc::StatusCode::NOT_FOUND);
    }
  }
}

TEST_F(MethodsTest, MetadataOfServerAndModel) {
  Start();
  PatientContext server_context, model_context, config_context, index_context;
  inference::ServerMetadataResponse of_server;
  ASSERT_TRUE(inference().ServerMetadata(&server_context, {}, &of_server).ok());
  EXPECT_EQ(of_server.name(), "kernelwire");
  EXPECT_EQ(of_server.version(), "1.2.3");
  EXPECT_THAT(of_server.extensions(), ::testing::IsSupersetOf({"statistics", "model_configuration"}));

  inference::ModelMetadataRequest model_request;
  model_request.set_name("twice");
  inference::ModelMetadataResponse of_model;
  ASSERT_TRUE(inference().ModelMetadata(&model_context, model_request, &of_model).ok());
  EXPECT_EQ(of_model.name(), "twice");
  EXPECT_THAT(of_model.versions(), ElementsAre("1"));
  ASSERT_EQ(of_model.inputs_size(), 1);
  EXPECT_EQ(of_model.inputs(0).name(), "x");

  inference::ModelConfigRequest config_request;
  config_request.set_name("twice");
  inference::ModelConfigResponse config;
  ASSERT_TRUE(inference().ModelConfig(&config_context, config_request, &config).ok());
  EXPECT_EQ(config.config().name(), "twice");

  inference::RepositoryIndexResponse index;
  ASSERT_TRUE(inference().RepositoryIndex(&index_context, {}, &index).ok());
  ASSERT_EQ(index.models_size(), 1);
  EXPECT_EQ(index.models(0).name(), "twice");
  EXPECT_EQ(index.models(0).version(), "1");
  EXPECT_EQ(index.models(0).state(), "READY");
}

TEST_F(MethodsTest, IndexOfReadyModelsIsEmptyWhileTheServerIsNot) {
  Start();
  health.SetReady(false);
  for (const bool ready_only : {true, false}) {
    PatientContext context;
    inference::RepositoryIndexRequest request;
    request.set_ready(ready_only);
    inference::RepositoryIndexResponse index;
    ASSERT_TRUE(inference().RepositoryIndex(&context, request, &index).ok());
    EXPECT_EQ(index.models_size(), ready_only ? 0 : 1);
  }
}

TEST_F(MethodsTest, StatisticsCountEveryRequestToAKnownModelOnce) {
  Start();
  const auto infer = [this](const inference::ModelInferRequest& request) {
    PatientContext context;
    inference::ModelInferResponse response;
    return inference().ModelInfer(&context, request, &response).error_code();
  };
  EXPECT_EQ(infer(TwiceRequest({1})), grpc::StatusCode::OK);
  EXPECT_EQ(infer(TwiceRequest({1, 2})), grpc::StatusCode::OK);
  inference::ModelInferRequest bad = TwiceRequest({1});
  bad.mutable_inputs(0)->set_datatype("INT8");
  EXPECT_EQ(infer(bad), grpc::StatusCode::INVALID_ARGUMENT);
  inference::ModelInferRequest other_version = TwiceRequest({1});
  other_version.set_model_version("7");
  EXPECT_EQ(infer(other_version), grpc::StatusCode::NOT_FOUND);
  inference::ModelInferRequest other_model = TwiceRequest({1});
  other_model.set_model_name("thrice");
  EXPECT_EQ(infer(other_model), grpc::StatusCode::NOT_FOUND);

  Await([this] { return Statistics().queue().count() == 4; }, "the count of all four");
  const inference::InferStatistics statistics = Statistics();
  EXPECT_EQ(statistics.success().count(), 2u);
  EXPECT_GT(statistics.success().ns(), 0u);
  EXPECT_EQ(statistics.fail().count(), 2u);
  EXPECT_EQ(statistics.queue().count(), 4u);
  EXPECT_EQ(statistics.compute_infer().count(), 2u);
}

}  // namespace
}  // namespace kernelwire::testing

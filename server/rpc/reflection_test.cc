// Server reflection: the answers, and both of its services over the wire.
#include "server/rpc/reflection.h"

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "server/rpc/testing/raw_call.h"
#include "server/rpc/testing/rpc_fixture.h"

namespace kernelwire::testing {
namespace {

using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using ::testing::UnorderedElementsAre;

using ReflectionTest = RpcFixture;

std::vector<std::string> FilesOf(const ServerReflectionResponse& response) {
  std::vector<std::string> names;
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    EXPECT_TRUE(file.ParseFromString(bytes));
    names.push_back(file.name());
  }
  return names;
}

TEST(ReflectionAnswerTest, ListsTheServices) {
  ServerReflectionRequest request;
  request.set_host("here");
  request.set_list_services("");
  const ServerReflectionResponse response = AnswerReflection(request);
  EXPECT_EQ(response.valid_host(), "here");
  EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
  std::vector<std::string> names;
  for (const auto& service : response.list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names,
              UnorderedElementsAre("inference.GRPCInferenceService", "grpc.health.v1.Health",
                                   "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"));
}

TEST(ReflectionAnswerTest, GivesFilesWithWhatTheyImportOnce) {
  for (const std::string symbol : {"inference.GRPCInferenceService", "inference.GRPCInferenceService.ModelInfer",
                                   "inference.ModelInferRequest", "inference.ModelInferRequest.model_name"}) {
    ServerReflectionRequest request;
    request.set_file_containing_symbol(symbol);
    EXPECT_THAT(FilesOf(AnswerReflection(request)), UnorderedElementsAre("open_inference.proto", "model_config.proto"))
        << symbol;
  }
  ServerReflectionRequest by_name;
  by_name.set_file_by_filename("model_config.proto");
  EXPECT_THAT(FilesOf(AnswerReflection(by_name)), UnorderedElementsAre("model_config.proto"));
}

TEST(ReflectionAnswerTest, UnknownNamesAreErrorsInTheAnswer) {
  ServerReflectionRequest symbol, file, extension, numbers, nothing;
  symbol.set_file_containing_symbol("no.such.Thing");
  file.set_file_by_filename("no_such.proto");
  extension.mutable_file_containing_extension()->set_containing_type("inference.ModelInferRequest");
  extension.mutable_file_containing_extension()->set_extension_number(1000);
  numbers.set_all_extension_numbers_of_type("no.such.Thing");
  for (const auto* request : {&symbol, &file, &extension, &numbers}) {
    EXPECT_EQ(AnswerReflection(*request).error_response().error_code(), 5) << request->ShortDebugString();
  }
  EXPECT_EQ(AnswerReflection(nothing).error_response().error_code(), 3);
}

TEST(ReflectionAnswerTest, MessagesHaveNoExtensions) {
  ServerReflectionRequest request;
  request.set_all_extension_numbers_of_type("inference.ModelInferRequest");
  const ServerReflectionResponse response = AnswerReflection(request);
  EXPECT_EQ(response.all_extension_numbers_response().base_type_name(), "inference.ModelInferRequest");
  EXPECT_EQ(response.all_extension_numbers_response().extension_number_size(), 0);
}

TEST_F(ReflectionTest, AnswersOverTheWireUnderBothNames) {
  Start();
  for (const std::string package : {"v1", "v1alpha"}) {
    RawCall call(channel(), "/grpc.reflection." + package + ".ServerReflection/ServerReflectionInfo");
    ServerReflectionRequest request;
    request.set_file_containing_symbol("grpc.health.v1.Health");
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(call.Write(request));
      ServerReflectionResponse response;
      ASSERT_TRUE(response.ParseFromString(call.Read().value_or("none")));
      EXPECT_THAT(FilesOf(response), UnorderedElementsAre("health.proto"));
    }
    ASSERT_TRUE(call.WritesDone());
    EXPECT_TRUE(call.Finish().ok());
  }
  ExpectNothingLeft();
}

TEST_F(ReflectionTest, BytesThatAreNoQuestionEndTheStream) {
  Start();
  RawCall call(channel(), "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
  call.Write(std::string("\x0A\xFF\xFF", 3));
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ReflectionTest, CanBeSwitchedOff) {
  options.reflection = false;
  Start();
  RawCall call(channel(), "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
  const grpc::Status status = call.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("--reflection"));
}

}  // namespace
}  // namespace kernelwire::testing

// Bad requests: each gets the right code and a message that names the field; the server stays as healthy as before.
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/malformed_requests.h"
#include "tests/end_to_end/wire_case.h"
#include "tests/harness/in_process_server.h"

namespace kernelwire::testing {
namespace {

using ::testing::HasSubstr;

class Malformed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = InProcessServer::Start().release(); }
  static void TearDownTestSuite() { delete server_; }

  void ExpectHealthy() {
    inference::ModelInferResponse reply;
    const auto context = Deadline();
    const grpc::Status status = Connect(server_->address())->ModelInfer(context.get(), SoftmaxRequest(3, 7), &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(server_->WaitUntilIdle());
  }

  /// Sends bytes as a ModelInfer message.
  grpc::Status SendBytes(const std::string& bytes) {
    const auto channel = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    grpc::GenericStub stub(channel);
    grpc::CompletionQueue queue;
    const auto context = Deadline();
    const grpc::Slice slice(bytes);
    const auto call = stub.PrepareUnaryCall(context.get(), "/inference.GRPCInferenceService/ModelInfer",
                                            grpc::ByteBuffer(&slice, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    call->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status;
  }

  static InProcessServer* server_;
};

InProcessServer* Malformed::server_ = nullptr;

TEST_F(Malformed, RequestsAreRefusedByNameOfTheField) {
  const auto stub = Connect(server_->address());
  const std::vector<MalformedRequest> all = MalformedRequests();
  EXPECT_GE(all.size(), 200u);
  for (const MalformedRequest& bad : all) {
    inference::ModelInferResponse reply;
    const auto context = Deadline();
    const grpc::Status status = stub->ModelInfer(context.get(), bad.request, &reply);
    EXPECT_EQ(status.error_code(), bad.code) << bad.name << ": " << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(bad.mentions)) << bad.name;
    EXPECT_LE(status.error_message().size(), 1024u) << bad.name;
  }
  std::cout << all.size() << " bad requests\n";
  ExpectHealthy();
}

TEST_F(Malformed, RequestsInAStreamAreAnsweredAndTheStreamGoesOn) {
  const auto stub = Connect(server_->address());
  const std::vector<MalformedRequest> all = MalformedRequests();
  const auto context = Deadline();
  const auto stream = stub->ModelStreamInfer(context.get());
  inference::ModelStreamInferResponse reply;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto request = all[i].request;
    request.set_id(std::to_string(i));
    ASSERT_TRUE(stream->Write(request)) << all[i].name;
    ASSERT_TRUE(stream->Read(&reply)) << all[i].name;
    EXPECT_EQ(reply.infer_response().id(), request.id());
    EXPECT_THAT(reply.error_message(), HasSubstr(all[i].mentions)) << all[i].name;
  }
  ASSERT_TRUE(stream->Write(SoftmaxRequest(2, 2)));
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_EQ(reply.error_message(), "");
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_TRUE(stream->Finish().ok());
  ExpectHealthy();
}

TEST_F(Malformed, TruncatedMessagesAreRefusedAtEveryLength) {
  const std::string whole = SoftmaxRequest(1, 3).SerializeAsString();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const grpc::Status status = SendBytes(whole.substr(0, length));
    // An empty message is one: of a request that names no model.
    const bool refused =
        status.error_code() == grpc::StatusCode::INVALID_ARGUMENT || status.error_code() == grpc::StatusCode::NOT_FOUND;
    EXPECT_TRUE(refused) << length << ": " << status.error_code() << " " << status.error_message();
  }
  EXPECT_TRUE(SendBytes(whole).ok());
  ExpectHealthy();
}

TEST_F(Malformed, NoiseIsRefused) {
  std::uint32_t state = 1;
  for (int i = 0; i < 200; ++i) {
    std::string noise(static_cast<std::size_t>(i), '\0');
    for (char& byte : noise) {
      state = state * 1664525u + 1013904223u;
      byte = static_cast<char>(state >> 24);
    }
    EXPECT_FALSE(SendBytes(noise).ok()) << i;
  }
  ExpectHealthy();
}

TEST_F(Malformed, OtherMethodsRefuseBadNames) {
  const auto stub = Connect(server_->address());
  for (const std::string& name : {std::string(), std::string("nothing"), std::string(100'000, 'n')}) {
    inference::ModelMetadataRequest request;
    request.set_name(name);
    inference::ModelMetadataResponse reply;
    const auto context = Deadline();
    const grpc::Status status = stub->ModelMetadata(context.get(), request, &reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_LE(status.error_message().size(), 1024u);
  }
  ExpectHealthy();
}

}  // namespace
}  // namespace kernelwire::testing

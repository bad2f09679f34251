// The hand-written half of the codec against the generated one.
#include "client/cpp/infer_codec.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "client/cpp/test_values.h"
#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"
#include "open_inference.pb.h"

namespace kernelwire::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string BytesOf(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// The bytes as a message of slices of `piece` bytes each.
grpc::ByteBuffer MessageOf(const std::string& bytes, std::size_t piece) {
  std::vector<grpc::Slice> slices;
  for (std::size_t begin = 0; begin < bytes.size(); begin += piece) {
    slices.emplace_back(bytes.substr(begin, piece));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TEST(EncodeInferRequest, ReadsBackAsTheGeneratedMessage) {
  const std::vector<float> large = Counting(100'000);
  const std::vector<std::int32_t> small = {1, 2, 3};
  InferRequest request;
  request.model = "softmax";
  request.version = "1";
  request.id = "seven";
  request.inputs = {{"small", View(small, {3})}, {"large", View(large, {100, 1000})}, {"last", View(small, {1, 3})}};
  request.parameters = {{"axis", std::int64_t{-1}}, {"epsilon", 0.5}, {"keepdims", true}, {"axes", std::string("0,2")}};
  request.outputs = {"y", "z"};
  const Result<grpc::ByteBuffer> message = EncodeInferRequest(request, nullptr);
  ASSERT_TRUE(message.ok()) << message.status().ToString();

  inference::ModelInferRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(BytesOf(*message)));
  EXPECT_EQ(parsed.model_name(), "softmax");
  EXPECT_EQ(parsed.model_version(), "1");
  EXPECT_EQ(parsed.id(), "seven");
  ASSERT_EQ(parsed.inputs_size(), 3);
  EXPECT_EQ(parsed.inputs(1).datatype(), "FP32");
  EXPECT_THAT(parsed.inputs(1).shape(), ElementsAre(100, 1000));
  EXPECT_EQ(parsed.parameters().at("axis").int64_param(), -1);
  EXPECT_EQ(parsed.parameters().at("epsilon").double_param(), 0.5);
  EXPECT_TRUE(parsed.parameters().at("keepdims").bool_param());
  EXPECT_EQ(parsed.parameters().at("axes").string_param(), "0,2");
  ASSERT_EQ(parsed.outputs_size(), 2);
  EXPECT_EQ(parsed.outputs(1).name(), "z");
  ASSERT_EQ(parsed.raw_input_contents_size(), 3);
  EXPECT_EQ(parsed.raw_input_contents(1),
            std::string(reinterpret_cast<const char*>(large.data()), large.size() * sizeof(float)));
  EXPECT_EQ(parsed.raw_input_contents(2).size(), 12u);
}

TEST(EncodeInferRequest, RefersToBorrowedMemoryAndReleasesIt) {
  const std::vector<float> large = Counting(100'000);
  const auto owner = std::make_shared<int>();
  {
    const Result<grpc::ByteBuffer> message =
        EncodeInferRequest({"m", "", "", {{"x", View(large, {100'000})}}, {}, {}}, owner);
    ASSERT_TRUE(message.ok());
    EXPECT_EQ(owner.use_count(), 2);
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(message->Dump(&slices).ok());
    EXPECT_EQ(static_cast<const void*>(slices.back().begin()), static_cast<const void*>(large.data()));
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(EncodeInferRequest, RefusesShapesThatDoNotFit) {
  const std::vector<float> values = Counting(6);
  const auto message_for = [&values](std::vector<std::int64_t> shape) {
    return EncodeInferRequest({"m", "", "", {{"x", View(values, std::move(shape))}}, {}, {}}, nullptr)
        .status()
        .message();
  };
  EXPECT_EQ(message_for({2, 3}), "");
  EXPECT_EQ(message_for({2, 4}), "input 'x': shape [2, 4] of FP32 takes 32 bytes, got 24");
  EXPECT_THAT(message_for({-2, -3}), HasSubstr("input 'x': shape [-2, -3] has a negative size"));
  EXPECT_THAT(message_for({std::int64_t{1} << 40, std::int64_t{1} << 40}), HasSubstr("too many elements"));
  InferRequest null{"m", "", "", {{"x", {DataType::kFp32, {2}, nullptr, 8, nullptr}}}, {}, {}};
  EXPECT_EQ(EncodeInferRequest(null, nullptr).status().message(), "input 'x': expected 8 bytes, got a null pointer");
}

TEST(EncodeInferRequest, RefusesMoreThanAMessageHolds) {
  const std::vector<std::uint8_t> byte = {1};  // of a tensor that says that it is larger, and is not read
  const auto owner = std::make_shared<int>();
  const auto message_of = [&byte, &owner](std::vector<std::int64_t> sizes) {
    InferRequest request;
    for (const std::int64_t size : sizes) {
      request.inputs.push_back({"x", {DataType::kUint8, {size}, byte.data(), static_cast<std::size_t>(size), nullptr}});
    }
    return EncodeInferRequest(request, owner);
  };
  constexpr std::int64_t kMost = 2147483647;
  constexpr std::int64_t kLarge = 1 << 30;
  const auto around = static_cast<std::int64_t>(message_of({kLarge})->Length()) - kLarge;
  EXPECT_EQ(message_of({kMost - around})->Length(), static_cast<std::size_t>(kMost));
  EXPECT_EQ(message_of({kMost - around + 1}).status().ToString(),
            "INVALID_ARGUMENT: input 'x': " + std::to_string(kMost - around + 1) + " bytes after " +
                std::to_string(around) + " do not fit in a message, which holds at most 2147483647");
  EXPECT_EQ(message_of({std::int64_t{1} << 32}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(message_of({std::numeric_limits<std::int64_t>::max()}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of({kLarge, kLarge}).status().message(), HasSubstr("input 'x': 1073741824 bytes after 10737418"));
}

std::string ReplyBytes() {
  inference::ModelInferResponse reply;
  reply.set_model_name("nms");
  reply.set_model_version("1");
  reply.set_id("42");
  (*reply.mutable_parameters())["anything"].set_double_param(1.5);
  const auto add = [&reply](const char* name, const char* datatype, std::vector<std::int64_t> shape,
                            const std::string& payload) {
    auto* output = reply.add_outputs();
    output->set_name(name);
    output->set_datatype(datatype);
    output->mutable_shape()->Add(shape.begin(), shape.end());
    reply.add_raw_output_contents(payload);
  };
  const std::vector<float> scores = Counting(1000);
  add("scores", "FP32", {10, 100}, std::string(reinterpret_cast<const char*>(scores.data()), 4000));
  add("empty", "INT64", {0, 3}, "");
  add("flag", "BOOL", {}, std::string(1, '\1'));
  return reply.SerializeAsString();
}

TEST(DecodeInferReply, ReadsAnyCutIntoSlices) {
  const std::string bytes = ReplyBytes();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
    Result<InferReply> reply = DecodeInferReply(MessageOf(bytes, piece));
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    EXPECT_EQ(reply->model, "nms");
    EXPECT_EQ(reply->id, "42");
    ASSERT_EQ(reply->outputs.size(), 3u);
    EXPECT_EQ(reply->outputs[0].ToVector<float>(), Counting(1000));
    EXPECT_EQ(reply->Find("empty")->byte_size(), 0u);
    EXPECT_NE(reply->Find("empty")->data(), nullptr);
    EXPECT_EQ(*reply->Find("flag")->data(), 1);
    EXPECT_EQ(reply->Find("other"), nullptr);
    // data() gathers, and the tensor then outlives its reply.
    OutputTensor scores = reply->outputs[0];
    *reply = InferReply();
    float last = 0;
    std::memcpy(&last, scores.data() + 999 * sizeof(float), sizeof(last));
    EXPECT_EQ(last, 999.0f);
  }
}

TEST(DecodeInferReply, RefusesPayloadsThatDoNotFit) {
  inference::ModelInferResponse reply;
  auto* output = reply.add_outputs();
  output->set_name("y");
  output->set_datatype("FP32");
  output->add_shape(3);
  const auto status = [&reply] { return DecodeInferReply(MessageOf(reply.SerializeAsString(), 64)).status(); };
  EXPECT_EQ(status().code(), StatusCode::kUnimplemented);
  reply.add_raw_output_contents("12345678");
  EXPECT_EQ(status().message(), "reply: output 'y': shape [3] of FP32 does not fit its 8 bytes");
  output->set_datatype("FP8");
  EXPECT_EQ(status().message(), "reply: output 'y': datatype 'FP8' is not one of kernelwire's");
}

TEST(DecodeInferReply, SurvivesDamage) {
  const google::protobuf::LogSilencer silence;  // the parser reports each piece of broken UTF-8
  const std::string whole = ReplyBytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    DecodeInferReply(MessageOf(whole.substr(0, length), 100)).ok();  // any status will do; no crash, no bad read
  }
  constexpr unsigned kSeed = 20240607;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::mt19937 random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (int flips = 0; flips < 4; ++flips) {
      damaged[random() % std::min<std::size_t>(damaged.size(), 200)] = static_cast<char>(random());
    }
    DecodeInferReply(MessageOf(damaged, 1 + random() % 64)).ok();
  }
}

}  // namespace
}  // namespace kernelwire::client

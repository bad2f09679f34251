// What the typed calls put on the wire, and what they make of the replies.
#include "kernelwire/operators.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "client/cpp/fake_server.h"
#include "gtest/gtest.h"

namespace kernelwire::client {
namespace {

using namespace std::chrono_literals;

constexpr Timeout kLong = 60s;

template <typename T>
void AddOutput(inference::ModelInferResponse* reply, const char* name, const char* datatype,
               const std::vector<std::int64_t>& shape, const std::vector<T>& values) {
  auto* output = reply->add_outputs();
  output->set_name(name);
  output->set_datatype(datatype);
  output->mutable_shape()->Add(shape.begin(), shape.end());
  reply->add_raw_output_contents(values.data(), values.size() * sizeof(T));
}

// Keeps the request and answers what it was told.
struct Recorder {
  inference::ModelInferRequest request;
  inference::ModelInferResponse reply;
  FakeServer server{[this](auto*, const inference::ModelInferRequest& got, inference::ModelInferResponse* answer) {
    request = got;
    *answer = reply;
    return grpc::Status::OK;
  }};
  Client client = Client::Connect(server.address());
};

TEST(RmsNorm, SendsInputsAndOptions) {
  Recorder fake;
  AddOutput<float>(&fake.reply, "y", "FP32", {2, 2}, {1, 2, 3, 4});
  const std::vector<float> x = {1, 2, 3, 4};
  const std::vector<float> weight = {1, 1};
  RmsNormOptions options;
  options.epsilon = 1e-6;
  options.output_type = DataType::kFp32;
  const auto y = RmsNorm(fake.client, View(x, {2, 2}), View(weight, {2}), options, kLong);
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  EXPECT_EQ(y->ToVector<float>(), x);
  EXPECT_EQ(fake.request.model_name(), "rms_norm");
  ASSERT_EQ(fake.request.inputs_size(), 2);
  EXPECT_EQ(fake.request.inputs(1).name(), "weight");
  EXPECT_EQ(fake.request.parameters_size(), 2);
  EXPECT_EQ(fake.request.parameters().at("epsilon").double_param(), 1e-6);
  EXPECT_EQ(fake.request.parameters().at("output_type").string_param(), "FP32");
}

TEST(Softmax, SendsAxisOrAll) {
  Recorder fake;
  AddOutput<float>(&fake.reply, "y", "FP32", {1}, {1});
  const std::vector<float> x = {1};
  SoftmaxOptions options;
  options.axis = 0;
  options.algorithm = SoftmaxAlgorithm::kOnline;
  ASSERT_TRUE(Softmax(fake.client, View(x, {1}), options, kLong).ok());
  EXPECT_EQ(fake.request.parameters().at("axis").int64_param(), 0);
  EXPECT_EQ(fake.request.parameters().at("algorithm").string_param(), "online");
  options.all_axes = true;
  ASSERT_TRUE(Softmax(fake.client, View(x, {1}), options, kLong).ok());
  EXPECT_EQ(fake.request.parameters().at("axis").string_param(), "all");
  ASSERT_TRUE(Softmax(fake.client, View(x, {1}), {}, kLong).ok());
  EXPECT_EQ(fake.request.parameters_size(), 0);
}

TEST(Softmax, SaysWhenTheOutputIsMissing) {
  Recorder fake;
  AddOutput<float>(&fake.reply, "z", "FP32", {1}, {1});
  const std::vector<float> x = {1};
  EXPECT_EQ(Softmax(fake.client, View(x, {1}), {}, kLong).status().ToString(),
            "INTERNAL: reply of 'softmax': output 'y' is missing or of another type");
}

TEST(Nms, CutsThePaddingOff) {
  Recorder fake;
  AddOutput<std::int64_t>(&fake.reply, "indices", "INT64", {3, 2}, {4, 1, 2, -1, -1, -1});
  AddOutput<std::int32_t>(&fake.reply, "count", "INT32", {3}, {2, 1, 0});
  AddOutput<float>(&fake.reply, "scores", "FP32", {3, 2}, {0.9f, 0.5f, 0.7f, 0, 0, 0});
  const std::vector<float> boxes(std::size_t{3} * 5 * 4);
  const std::vector<float> scores(std::size_t{3} * 5);
  const std::vector<std::int32_t> counts = {5, 4, 0};
  NmsOptions options;
  options.iou_threshold = 0.7;
  options.box_coding = BoxCoding::kCxcywh;
  options.soft_nms = SoftNms::kGaussian;
  options.max_output = 2;
  const auto kept =
      Nms(fake.client, {View(boxes, {3, 5, 4}), View(scores, {3, 5}), {}, View(counts, {3})}, options, kLong);
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  ASSERT_EQ(kept->size(), 3u);
  EXPECT_EQ((*kept)[0].indices, (std::vector<std::int64_t>{4, 1}));
  EXPECT_EQ((*kept)[1].scores, (std::vector<float>{0.7f}));
  EXPECT_TRUE((*kept)[2].indices.empty());
  EXPECT_EQ(fake.request.inputs(2).name(), "counts");
  EXPECT_EQ(fake.request.parameters().at("box_coding").string_param(), "cxcywh");
  EXPECT_EQ(fake.request.parameters().at("soft_nms").string_param(), "gaussian");
  EXPECT_EQ(fake.request.parameters().at("max_output").int64_param(), 2);
  EXPECT_EQ(fake.request.parameters().count("rotated"), 0u);
}

TEST(Nms, RefusesCountsThatDoNotFit) {
  Recorder fake;
  AddOutput<std::int64_t>(&fake.reply, "indices", "INT64", {2}, {1, 0});
  AddOutput<std::int32_t>(&fake.reply, "count", "INT32", {1}, {3});
  AddOutput<float>(&fake.reply, "scores", "FP32", {2}, {0.9f, 0.5f});
  const std::vector<float> boxes(8);
  const std::vector<float> scores(2);
  EXPECT_EQ(Nms(fake.client, {View(boxes, {2, 4}), View(scores, {2}), {}, {}}, {}, kLong).status().ToString(),
            "INTERNAL: reply of 'nms': output 'count' does not fit 'indices' and 'scores'");
}

}  // namespace
}  // namespace kernelwire::client

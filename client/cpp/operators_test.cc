// What the typed calls of norms, softmax and reductions put on the wire, and what they make of the replies.
#include "kernelwire/operators.h"

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "client/cpp/operator_call.h"
#include "client/cpp/recording_server.h"
#include "client/cpp/test_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::client {
namespace {

using testing::ElementsAre;

const std::vector<float> kX = {1, 2, 3, 4};

TEST(ListText, ReadsBackAsTheSameNumbers) {
  EXPECT_EQ(ListText(std::vector<std::int64_t>{0, -1, 1 << 30}), "0,-1,1073741824");
  EXPECT_EQ(ListText(std::vector<double>{1, -0.5, 1e-7}), "1,-0.5,1e-07");
  EXPECT_EQ(std::stod(ListText(std::vector<double>{1.0 / 3})), 1.0 / 3);
  const double extremes = -std::numeric_limits<double>::max();
  EXPECT_EQ(std::stod(ListText(std::vector<double>{extremes})), extremes);
  EXPECT_EQ(ListText(std::vector<double>{}), "");
}

TEST(RmsNorm, SendsInputsAndOptions) {
  RecordingServer fake;
  fake.AddOutput<float>("y", {2, 2}, {1, 2, 3, 4});
  const std::vector<float> weight = {1, 1};
  NormOptions options;
  options.epsilon = 1e-6;
  options.output_type = DataType::kFp32;
  const auto y = RmsNorm(fake.client, View(kX, {2, 2}), View(weight, {2}), options, kLong);
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  EXPECT_EQ(y->ToVector<float>(), kX);
  EXPECT_EQ(fake.request.model_name(), "rms_norm");
  EXPECT_THAT(fake.InputNames(), ElementsAre("x", "weight"));
  EXPECT_EQ(fake.request.parameters_size(), 2);
  EXPECT_EQ(fake.request.parameters().at("epsilon").double_param(), 1e-6);
  EXPECT_EQ(fake.Text("output_type"), "FP32");
}

TEST(LayerNorm, AsksForTheStatisticsOnlyWhereTheyAreWanted) {
  RecordingServer fake;
  fake.AddOutput<float>("mean", {2, 1}, {1.5f, 3.5f});
  fake.AddOutput<float>("inv_std_dev", {2, 1}, {2, 3});
  fake.AddOutput<float>("y", {2, 2}, kX);
  NormOptions options;
  options.axis = 1;
  ASSERT_TRUE(LayerNorm(fake.client, View(kX, {2, 2}), {}, View(kX, {4}), options, kLong).ok());
  EXPECT_THAT(fake.InputNames(), ElementsAre("x", "bias"));
  EXPECT_THAT(fake.OutputNames(), ElementsAre("y"));
  EXPECT_EQ(fake.request.parameters().at("axis").int64_param(), 1);
  const auto result = LayerNormWithStatistics(fake.client, View(kX, {2, 2}), View(kX, {4}), {}, {}, kLong);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_THAT(fake.InputNames(), ElementsAre("x", "weight"));
  EXPECT_THAT(fake.OutputNames(), ElementsAre("y", "mean", "inv_std_dev"));
  EXPECT_EQ(result->y.ToVector<float>(), kX);
  EXPECT_THAT(result->mean.ToVector<float>(), ElementsAre(1.5f, 3.5f));
  EXPECT_THAT(result->inv_std_dev.ToVector<float>(), ElementsAre(2, 3));
}

TEST(AddRmsNorm, GivesBothOutputs) {
  RecordingServer fake;
  fake.AddOutput<float>("residual", {2}, {5, 6});
  fake.AddOutput<float>("y", {2}, {7, 8});
  const std::vector<float> half = {1, 2};
  const auto result = AddRmsNorm(fake.client, View(half, {2}), View(half, {2}), {}, {}, kLong);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(fake.request.model_name(), "add_rms_norm");
  EXPECT_THAT(fake.InputNames(), ElementsAre("a", "b"));
  EXPECT_THAT(result->y.ToVector<float>(), ElementsAre(7, 8));
  EXPECT_THAT(result->residual.ToVector<float>(), ElementsAre(5, 6));
}

TEST(Softmax, SendsAxisOrAll) {
  RecordingServer fake;
  fake.AddOutput<float>("y", {4}, kX);
  SoftmaxOptions options;
  options.axis = 0;
  options.algorithm = SoftmaxAlgorithm::kOnline;
  ASSERT_TRUE(Softmax(fake.client, View(kX, {4}), options, kLong).ok());
  EXPECT_EQ(fake.request.parameters().at("axis").int64_param(), 0);
  EXPECT_EQ(fake.Text("algorithm"), "online");
  options.all_axes = true;
  ASSERT_TRUE(LogSoftmax(fake.client, View(kX, {4}), options, kLong).ok());
  EXPECT_EQ(fake.request.model_name(), "log_softmax");
  EXPECT_EQ(fake.Text("axis"), "all");
  ASSERT_TRUE(Softmax(fake.client, View(kX, {4}), {}, kLong).ok());
  EXPECT_EQ(fake.request.model_name(), "softmax");
  EXPECT_EQ(fake.request.parameters_size(), 0);
}

TEST(Softmax, SaysWhenTheOutputIsMissing) {
  RecordingServer fake;
  fake.AddOutput<float>("z", {4}, kX);
  EXPECT_EQ(Softmax(fake.client, View(kX, {4}), {}, kLong).status().ToString(),
            "INTERNAL: reply of 'softmax': output 'y' is missing or of another type");
}

TEST(Reductions, SendAxesAsAList) {
  RecordingServer fake;
  fake.AddOutput<std::int64_t>("y", {1, 2}, {3, 4});
  ReductionOptions options;
  options.axes = {0, -2};
  options.keepdims = true;
  options.accumulator = DataType::kInt64;
  options.output_type = DataType::kInt64;
  const std::vector<std::int32_t> x = {1, 2, 3, 4};
  const auto y = Sum(fake.client, View(x, {1, 2, 2}), options, kLong);
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  EXPECT_THAT(y->ToVector<std::int64_t>(), ElementsAre(3, 4));
  EXPECT_EQ(fake.Text("axes"), "0,-2");
  EXPECT_TRUE(fake.request.parameters().at("keepdims").bool_param());
  EXPECT_EQ(fake.Text("accumulator"), "INT64");
  EXPECT_EQ(fake.Text("output_type"), "INT64");
  ASSERT_TRUE(Sum(fake.client, View(x, {4}), {}, kLong).ok());
  EXPECT_EQ(fake.request.parameters_size(), 0);
}

TEST(Dot, SendsBothRows) {
  RecordingServer fake;
  fake.AddOutput<float>("y", {}, {30});
  DotOptions options;
  options.accumulator = DataType::kFp64;
  const auto y = Dot(fake.client, View(kX, {4}), View(kX, {4}), options, kLong);
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  EXPECT_THAT(y->ToVector<float>(), ElementsAre(30));
  EXPECT_THAT(fake.InputNames(), ElementsAre("a", "b"));
  EXPECT_EQ(fake.Text("accumulator"), "FP64");
}

}  // namespace
}  // namespace kernelwire::client

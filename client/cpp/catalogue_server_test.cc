// The typed calls against a whole server: small questions whose answers anybody can check.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/cpp/test_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernelwire/operators.h"
#include "kernelwire/pipeline.h"
#include "tests/harness/in_process_server.h"

namespace kernelwire::client {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;
using Floats = std::vector<float>;

class Catalogue : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = kernelwire::testing::InProcessServer::Start(); }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override { ASSERT_NE(server_, nullptr); }

  static Client Connect() { return Client::Connect(server_->address()); }

 private:
  static std::unique_ptr<kernelwire::testing::InProcessServer> server_;
};

std::unique_ptr<kernelwire::testing::InProcessServer> Catalogue::server_;

void ExpectNear(const Result<OutputTensor>& y, const std::vector<std::int64_t>& shape, const Floats& expected) {
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  EXPECT_EQ(y->shape(), shape);
  ASSERT_EQ(y->dtype(), DataType::kFp32);
  EXPECT_THAT(y->ToVector<float>(), Pointwise(FloatNear(2e-6f), expected));
}

TEST_F(Catalogue, Norms) {
  const Client client = Connect();
  const Floats x = {3, 4, 5, -5};
  const Floats weight = {1, 2};
  NormOptions options;
  options.axis = 1;
  options.epsilon = 1e-12;
  options.output_type = DataType::kFp32;
  ExpectNear(RmsNorm(client, View(x, {2, 2}), View(weight, {2}), options, kLong), {2, 2},
             {0.84852814f, 2.2627417f, 1, -2});
  ExpectNear(LayerNorm(client, View(x, {2, 2}), {}, View(weight, {2}), options, kLong), {2, 2}, {0, 3, 2, 1});
  const auto whole = LayerNormWithStatistics(client, View(x, {2, 2}), View(weight, {2}), {}, options, kLong);
  ASSERT_TRUE(whole.ok()) << whole.status().ToString();
  ExpectNear(whole->y, {2, 2}, {-1, 2, 1, -2});
  ExpectNear(whole->mean, {2, 1}, {3.5f, 0});
  ExpectNear(whole->inv_std_dev, {2, 1}, {2, 0.2f});
  const Floats a = {1, 5, 9, -2};
  const Floats b = {2, -1, -4, -3};
  const auto sum = AddRmsNorm(client, View(a, {2, 2}), View(b, {2, 2}), View(weight, {2}), options, kLong);
  ASSERT_TRUE(sum.ok()) << sum.status().ToString();
  ExpectNear(sum->residual, {2, 2}, x);
  ExpectNear(sum->y, {2, 2}, {0.84852814f, 2.2627417f, 1, -2});
}

TEST_F(Catalogue, Softmaxes) {
  const Client client = Connect();
  const float log2 = std::log(2.0f);
  const Floats x = {0, log2, 0};
  for (const auto algorithm : {SoftmaxAlgorithm::kAuto, SoftmaxAlgorithm::kSafe, SoftmaxAlgorithm::kOnline}) {
    SoftmaxOptions options;
    options.axis = 0;
    options.algorithm = algorithm;
    options.output_type = DataType::kFp32;
    ExpectNear(Softmax(client, View(x, {3, 1}), options, kLong), {3, 1}, {0.25f, 0.5f, 0.25f});
    options.all_axes = true;
    ExpectNear(LogSoftmax(client, View(x, {1, 3}), options, kLong), {1, 3}, {-2 * log2, -log2, -2 * log2});
  }
}

TEST_F(Catalogue, Reductions) {
  const Client client = Connect();
  const Floats values = {1, -3, 2, 4};
  const TensorView x = View(values, {2, 2});
  ReductionOptions rows;
  rows.axes = {-1};
  rows.accumulator = DataType::kFp64;
  rows.output_type = DataType::kFp32;
  ExpectNear(Sum(client, x, rows, kLong), {2}, {-2, 6});
  ExpectNear(Prod(client, x, rows, kLong), {2}, {-3, 8});
  ExpectNear(Mean(client, x, rows, kLong), {2}, {-1, 3});
  ExpectNear(Max(client, x, rows, kLong), {2}, {1, 4});
  ExpectNear(Min(client, x, rows, kLong), {2}, {-3, 2});
  ExpectNear(L2Norm(client, x, rows, kLong), {2}, {3.1622777f, 4.4721360f});
  ExpectNear(Logsumexp(client, x, rows, kLong), {2}, {1.0181499f, 4.1269280f});
  ReductionOptions whole;
  whole.axes = {0, 1};
  whole.keepdims = true;
  ExpectNear(Sum(client, x, whole, kLong), {1, 1}, {4});
  ExpectNear(Sum(client, x, {}, kLong), {}, {4});
  ReductionOptions places;
  places.output_type = DataType::kInt32;
  const auto largest = Argmax(client, x, places, kLong);
  const auto smallest = Argmin(client, x, {}, kLong);
  ASSERT_TRUE(largest.ok() && smallest.ok()) << largest.status().ToString() << smallest.status().ToString();
  EXPECT_THAT(largest->ToVector<std::int32_t>(), ElementsAre(3));
  EXPECT_THAT(smallest->ToVector<std::int64_t>(), ElementsAre(1));
}

TEST_F(Catalogue, ReductionsOfFp8AndOfIntegersThatDoNotFit) {
  const Client client = Connect();
  const std::vector<std::uint8_t> ones = {0x38, 0x38, 0xb8};  // 1, 1, -1 as E4M3
  const TensorView x = {DataType::kFp8E4m3, {3}, ones.data(), ones.size(), nullptr};
  ExpectNear(Sum(client, x, {}, kLong), {}, {1});
  const std::vector<std::int64_t> large = {std::int64_t{1} << 62, std::int64_t{1} << 62};
  const Status status = Sum(client, View(large, {2}), {}, kLong).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange) << status.ToString();
}

TEST_F(Catalogue, Dots) {
  const Client client = Connect();
  const Floats a = {1, 2, 3, 4};
  const Floats b = {4, -5, 6, 0.5f};
  ExpectNear(Dot(client, View(a, {2, 2}), View(b, {2, 2}), {DataType::kFp64, DataType::kFp32}, kLong), {2}, {-6, 20});
}

TEST_F(Catalogue, SuppressesBoxes) {
  const Floats boxes = {0, 0, 10, 10, 1, 1, 10, 10, 20, 20, 10, 10};
  const Floats scores = {0.5f, 0.75f, 0.25f};
  const std::vector<std::int32_t> classes = {7, 7, 7};
  NmsOptions options;
  options.box_coding = BoxCoding::kXywh;
  options.iou_threshold = 0.5;
  options.score_threshold = 0.125;
  options.max_per_class = 2;
  const auto kept = Nms(Connect(), {View(boxes, {3, 4}), View(scores, {3}), View(classes, {3}), {}}, options, kLong);
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_THAT((*kept)[0].indices, ElementsAre(1, 2));
  EXPECT_THAT((*kept)[0].scores, ElementsAre(0.75f, 0.25f));
}

// Four boxes of two classes: the second overlaps the first by 81/119 and goes; the third does too but is of the other
// class; the fourth is below the threshold. Rows: centres x and y, widths, heights, scores of both classes.
const Floats kHead = {5,  6,  6,  45, 5,     6,    6,      45,      10,    10, 10,     10,
                      10, 10, 10, 10, 0.75f, 0.5f, 0.125f, 0.0625f, 0.25f, 0,  0.875f, 0.125f};

DetectionInputs Head() {
  DetectionInputs inputs;
  inputs.predictions = View(kHead, {6, 4});
  return inputs;
}

DetectionOptions HeadOptions() {
  DetectionOptions options;
  options.layout = DetectionLayout::kYolov8;
  return options;
}

TEST_F(Catalogue, FindsDetectionsInPredictions) {
  DetectionOptions options = HeadOptions();
  options.letterbox = Letterbox{2, 0, 1};
  options.clip = ClipWindow{0.25, 0, 5, 20};
  const auto found = DetectionPostprocess(Connect(), Head(), options, kLong);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->size(), 1u);
  const Detections& image = (*found)[0];
  EXPECT_THAT(image.boxes, ElementsAre(ElementsAre(0.5f, 0, 5, 5), ElementsAre(0.25f, 0, 5, 4.5f)));
  EXPECT_THAT(image.scores, ElementsAre(0.875f, 0.75f));
  EXPECT_THAT(image.classes, ElementsAre(1, 0));
  EXPECT_THAT(image.indices, ElementsAre(2, 0));
}

TEST_F(Catalogue, DetectionOptionsChooseWhatCounts) {
  const Client client = Connect();
  const auto indices = [&client](const DetectionOptions& options) {
    const auto found = DetectionPostprocess(client, Head(), options, kLong);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() ? found->at(0).indices : std::vector<std::int64_t>{-1};
  };
  DetectionOptions options = HeadOptions();
  options.class_agnostic = true;
  EXPECT_THAT(indices(options), ElementsAre(2));
  options = HeadOptions();
  options.classes = {0};
  EXPECT_THAT(indices(options), ElementsAre(0));
  options = HeadOptions();
  options.background_class = 0;
  EXPECT_THAT(indices(options), ElementsAre(2));
  options = HeadOptions();
  options.iou_threshold = 0.75;
  EXPECT_THAT(indices(options), ElementsAre(2, 0, 1));
  options.max_per_class = 1;
  EXPECT_THAT(indices(options), ElementsAre(2, 0));
  options.max_output = 1;
  EXPECT_THAT(indices(options), ElementsAre(2));
  options = HeadOptions();
  options.multi_label = true;
  options.score_threshold = 0.1;
  EXPECT_THAT(indices(options), ElementsAre(2, 0, 3));  // box 0 of class 1 falls to box 2, box 2 of class 0 to box 0
  options = HeadOptions();
  options.top_k = 1;
  EXPECT_THAT(indices(options), ElementsAre(2));
  options = HeadOptions();
  options.score_activation = ScoreActivation::kSigmoid;
  options.score_threshold = 0.7;
  EXPECT_THAT(indices(options), ElementsAre(2));
  options.score_threshold = 0.9;
  EXPECT_THAT(indices(options), IsEmpty());
}

TEST_F(Catalogue, FindsDetectionsInDeltasToAnchorsOfSeveralImages) {
  const Floats anchors = {10, 10, 4, 8, 50, 50, 10, 10};
  const Floats deltas = {0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0};
  const Floats scores = {0.5f, 0.75f, 0.5f, 0.75f};
  const std::vector<std::int32_t> counts = {2, 1};
  DetectionInputs inputs;
  inputs.boxes = View(deltas, {2, 2, 4});
  inputs.scores = View(scores, {2, 2, 1});
  inputs.anchors = View(anchors, {2, 4});
  inputs.counts = View(counts, {2});
  DetectionOptions options;
  options.anchor_scales = {10, 10, 5, 5};
  const auto found = DetectionPostprocess(Connect(), inputs, options, kLong);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_THAT((*found)[0].indices, ElementsAre(1, 0));
  EXPECT_THAT((*found)[0].boxes, ElementsAre(ElementsAre(45, 45, 55, 55), ElementsAre(8, 6, 12, 14)));
  EXPECT_THAT((*found)[1].indices, ElementsAre(0));
  EXPECT_THAT((*found)[1].boxes, ElementsAre(ElementsAre(10, 6, 14, 14)));  // moved by 5 / 10 of a width of 4
}

TEST_F(Catalogue, DetectionsOfAPipeline) {
  const auto request = EncodedRequest::From(DetectionRequest(Head(), HeadOptions()));
  ASSERT_TRUE(request.ok()) << request.status().ToString();
  Pipeline pipeline(Connect());
  for (std::uint64_t i = 0; i < 16; ++i) {
    pipeline.Start(*request, kLong, i);
  }
  int answers = 0;
  while (const auto done = pipeline.Next(kLong)) {
    auto reply = done->Decode();
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    const auto found = DetectionsOf(*reply);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_THAT(found->at(0).indices, ElementsAre(2, 0));
    ++answers;
  }
  EXPECT_EQ(answers, 16);
}

TEST_F(Catalogue, ErrorsNameTheAttribute) {
  const Status status = DetectionPostprocess(Connect(), Head(), {}, kLong).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("attribute 'layout'"));
}

}  // namespace
}  // namespace kernelwire::client

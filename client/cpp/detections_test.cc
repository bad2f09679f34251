// What Nms and DetectionPostprocess put on the wire, and how they cut the replies.
#include "kernelwire/detections.h"

#include <chrono>
#include <string>
#include <vector>

#include "client/cpp/recording_server.h"
#include "client/cpp/test_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Nms, CutsThePaddingOff) {
  RecordingServer fake;
  fake.AddOutput<std::int64_t>("indices", {3, 2}, {4, 1, 2, -1, -1, -1});
  fake.AddOutput<std::int32_t>("count", {3}, {2, 1, 0});
  fake.AddOutput<float>("scores", {3, 2}, {0.9f, 0.5f, 0.7f, 0, 0, 0});
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
  EXPECT_THAT((*kept)[0].indices, ElementsAre(4, 1));
  EXPECT_THAT((*kept)[1].scores, ElementsAre(0.7f));
  EXPECT_THAT((*kept)[2].indices, IsEmpty());
  EXPECT_THAT(fake.InputNames(), ElementsAre("boxes", "scores", "counts"));
  EXPECT_EQ(fake.Text("box_coding"), "cxcywh");
  EXPECT_EQ(fake.Text("soft_nms"), "gaussian");
  EXPECT_EQ(fake.request.parameters().at("max_output").int64_param(), 2);
  EXPECT_EQ(fake.request.parameters().count("rotated"), 0u);
}

TEST(Nms, RefusesCountsThatDoNotFit) {
  RecordingServer fake;
  fake.AddOutput<std::int64_t>("indices", {2}, {1, 0});
  fake.AddOutput<std::int32_t>("count", {1}, {3});
  fake.AddOutput<float>("scores", {2}, {0.9f, 0.5f});
  const std::vector<float> boxes(8);
  const std::vector<float> scores(2);
  EXPECT_EQ(Nms(fake.client, {View(boxes, {2, 4}), View(scores, {2}), {}, {}}, {}, kLong).status().ToString(),
            "INTERNAL: reply of 'nms': output 'count' does not fit the other outputs");
}

// A reply for two images of two rows each, the second with `second` detections.
void AddDetections(std::int32_t second, RecordingServer* fake) {
  fake->AddOutput<std::int32_t>("num_detections", {2, 1}, {2, second});
  fake->AddOutput<float>("boxes", {2, 2, 4}, {0, 1, 10, 21, 5, 5, 6, 6, 7, 8, 9, 10, 0, 0, 0, 0});
  fake->AddOutput<float>("scores", {2, 2}, {0.75f, 0.5f, 0.25f, 0});
  fake->AddOutput<std::int32_t>("classes", {2, 2}, {3, 1, 2, -1});
  fake->AddOutput<std::int64_t>("indices", {2, 2}, {40, 7, 11, -1});
}

const std::vector<float> kPredictions(std::size_t{2} * 8 * 50);

DetectionInputs Predictions() {
  DetectionInputs inputs;
  inputs.predictions = View(kPredictions, {2, 8, 50});
  return inputs;
}

TEST(DetectionPostprocess, CutsThePaddingOff) {
  RecordingServer fake;
  AddDetections(1, &fake);
  const auto found = DetectionPostprocess(fake.client, Predictions(), {}, kLong);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_THAT((*found)[0].boxes, ElementsAre(ElementsAre(0, 1, 10, 21), ElementsAre(5, 5, 6, 6)));
  EXPECT_THAT((*found)[0].scores, ElementsAre(0.75f, 0.5f));
  EXPECT_THAT((*found)[1].boxes, ElementsAre(ElementsAre(7, 8, 9, 10)));
  EXPECT_THAT((*found)[1].classes, ElementsAre(2));
  EXPECT_THAT((*found)[1].indices, ElementsAre(11));
}

TEST(DetectionPostprocess, OfNoImagesIsNothing) {
  RecordingServer fake;
  fake.AddOutput<std::int32_t>("num_detections", {0, 1}, {});
  fake.AddOutput<float>("boxes", {0, 300, 4}, {});
  fake.AddOutput<float>("scores", {0, 300}, {});
  fake.AddOutput<std::int32_t>("classes", {0, 300}, {});
  fake.AddOutput<std::int64_t>("indices", {0, 300}, {});
  const auto found = DetectionPostprocess(fake.client, Predictions(), {}, kLong);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_THAT(*found, IsEmpty());
}

TEST(DetectionPostprocess, SendsWhatWasGivenAndNothingElse) {
  RecordingServer fake;
  AddDetections(1, &fake);
  ASSERT_TRUE(DetectionPostprocess(fake.client, Predictions(), {}, kLong).ok());
  EXPECT_EQ(fake.request.parameters_size(), 0);
  EXPECT_THAT(fake.InputNames(), ElementsAre("predictions"));
  DetectionOptions options;
  options.layout = DetectionLayout::kYolov5;
  options.score_activation = ScoreActivation::kSigmoid;
  options.classes = {0, 2, 3};
  options.multi_label = true;
  options.score_threshold = 0.001;
  options.letterbox = Letterbox{0.5, 0, 80};
  options.clip = ClipWindow{0, 0, 1919.5, 1080};
  ASSERT_TRUE(DetectionPostprocess(fake.client, Predictions(), options, kLong).ok());
  EXPECT_EQ(fake.request.parameters_size(), 7);
  EXPECT_EQ(fake.Text("layout"), "yolov5");
  EXPECT_EQ(fake.Text("score_activation"), "sigmoid");
  EXPECT_EQ(fake.Text("classes"), "0,2,3");
  EXPECT_TRUE(fake.request.parameters().at("multi_label").bool_param());
  EXPECT_EQ(fake.request.parameters().at("score_threshold").double_param(), 0.001);
  EXPECT_EQ(fake.Text("letterbox"), "0.5,0,80");
  EXPECT_EQ(fake.Text("clip"), "0,0,1919.5,1080");
}

TEST(DetectionPostprocess, RefusesRepliesThatDoNotFit) {
  RecordingServer fake;
  const auto refusal = [&fake] {
    return DetectionPostprocess(fake.client, Predictions(), {}, kLong).status().ToString();
  };
  for (const std::int32_t second : {3, -1}) {
    fake.reply.Clear();
    AddDetections(second, &fake);
    EXPECT_EQ(refusal(),
              "INTERNAL: reply of 'detection_postprocess': output 'num_detections' does not fit the other outputs");
  }
  fake.reply.Clear();
  AddDetections(1, &fake);
  fake.reply.mutable_outputs()->DeleteSubrange(4, 1);
  fake.reply.mutable_raw_output_contents()->DeleteSubrange(4, 1);
  EXPECT_EQ(refusal(), "INTERNAL: reply of 'detection_postprocess': output 'indices' is missing or of another type");
  fake.AddOutput<std::int32_t>("indices", {2, 2}, {40, 7, 11, -1});
  EXPECT_EQ(refusal(), "INTERNAL: reply of 'detection_postprocess': output 'indices' is missing or of another type");
}

}  // namespace
}  // namespace kernelwire::client

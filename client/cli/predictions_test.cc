#include "client/cli/predictions.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

template <typename T>
client::OutputTensor Output(const std::string& name, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  const auto bytes = std::make_shared<std::vector<std::uint8_t>>(values.size() * sizeof(T));
  std::memcpy(bytes->data(), values.data(), bytes->size());
  return {name, client::DataTypeOf<T>::value, std::move(shape), {{bytes->data(), bytes->size()}}, bytes};
}

// Two images, two rows each.
client::InferReply Reply(std::int32_t second_count) {
  client::InferReply reply;
  reply.outputs = {
      Output<std::int32_t>("num_detections", {2, 1}, {2, second_count}),
      Output<float>("boxes", {2, 2, 4}, {0, 1, 10, 21, 5, 5, 6, 6, 7, 8, 9, 10, 0, 0, 0, 0}),
      Output<float>("scores", {2, 2}, {0.75f, 0.5f, 0.25f, 0}),
      Output<std::int32_t>("classes", {2, 2}, {3, 1, 2, -1}),
      Output<std::int64_t>("indices", {2, 2}, {40, 7, 11, -1}),
  };
  return reply;
}

const Array kPredictions{client::DataType::kFp32, {2, 9, 100}, {}};

TEST(DetectionsOf, TakesTheRowsThatCount) {
  client::InferReply reply = Reply(1);
  const auto detections = DetectionsOf(kPredictions, "yolov8", reply);
  ASSERT_TRUE(detections.ok()) << detections.status().ToString();
  ASSERT_EQ(detections->images.size(), 2u);
  EXPECT_EQ(detections->images[0].total, 100);
  EXPECT_THAT(detections->images[0].boxes[0], ElementsAre(0, 1, 10, 21));
  EXPECT_THAT(detections->images[0].sources, ElementsAre(40, 7));
  EXPECT_THAT(detections->images[1].classes, ElementsAre(2));
  EXPECT_THAT(FormatKept(*detections, KeepAll(*detections)),
              HasSubstr(R"({"bbox":[0.0,1.0,10.0,20.0],"category_id":3,"image_id":0,"score":0.75})"));
}

TEST(DetectionsOf, RefusesWhatDoesNotFit) {
  client::InferReply reply = Reply(3);
  EXPECT_THAT(DetectionsOf(kPredictions, "yolov8", reply).status().message(), HasSubstr("'num_detections'"));
  reply = Reply(1);
  reply.outputs.pop_back();
  EXPECT_THAT(DetectionsOf(kPredictions, "yolov8", reply).status().message(), HasSubstr("missing"));
}

TEST(PredictionAttributes, AreTheOptionsThatWereGiven) {
  std::vector<Option> options = PredictionOptions();
  options.push_back({"max_output", OptionKind::kInteger, "N", ""});
  options.push_back({"class_agnostic", OptionKind::kSwitch, "", ""});
  const auto arguments =
      Arguments::Parse(options, {"--layout=yolov5", "--multi_label", "--max_output", "9", "--letterbox=1,2,3"});
  ASSERT_TRUE(arguments.ok()) << arguments.status().ToString();
  EXPECT_THAT(PredictionAttributes(*arguments),
              ElementsAre(Pair("layout", client::ParameterValue(std::string("yolov5"))),
                          Pair("multi_label", client::ParameterValue(true)),
                          Pair("letterbox", client::ParameterValue(std::string("1,2,3"))),
                          Pair("max_output", client::ParameterValue(std::int64_t{9}))));
  EXPECT_THAT(GivenPredictionOptions(*arguments), ElementsAre("layout", "multi_label", "letterbox"));
}

}  // namespace
}  // namespace kernelwire::cli

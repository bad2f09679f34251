// What is particular to detection_postprocess: what is refused and how, what shares a launch, and many candidates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/tolerance.h"

namespace kernelwire {
namespace {

using testing::AllDeviceRunners;
using ::testing::AllOf;
using testing::DeviceRunner;
using ::testing::ElementsAre;
using testing::ExpectedOutput;
using testing::FromDoubles;
using ::testing::HasSubstr;
using ::testing::IsNan;
using testing::OperatorCase;
using testing::ToDoubles;

enum Input { kPredictions, kBoxes, kScores, kAnchors, kCounts };

const Operator& Postprocess() { return *FindOperator("detection_postprocess"); }

std::vector<ExpectedOutput> Expected(const OperatorCase& test_case) {
  static const testing::Oracle oracle = testing::DetectionPostprocessCases().oracle;
  return oracle(test_case);
}

void ExpectOracle(const OperatorCase& test_case) {
  const std::vector<ExpectedOutput> expected = Expected(test_case);
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(Postprocess(), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(Disagreement(expected[i], (*outputs)[i]), "") << runner->name() << ", " << test_case.name << ", " << i;
    }
  }
}

// ---- many candidates -----------------------------------------------------------------------------------------

/// As YOLO puts it out: [4 + classes, boxes], sizes of 8 to 40 over a square of `extent`; all scores in [0, 1).
OperatorCase Planes(std::int64_t boxes, std::int64_t classes, double extent, std::uint64_t seed,
                    AttributeList attributes) {
  std::mt19937_64 bits(seed);
  const auto roll = [&bits] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  std::vector<double> values;
  for (std::int64_t i = 0; i < 2 * boxes; ++i) {
    values.push_back(roll() * extent);
  }
  for (std::int64_t i = 0; i < 2 * boxes; ++i) {
    values.push_back(8 + 32 * roll());
  }
  for (std::int64_t i = 0; i < classes * boxes; ++i) {
    values.push_back(roll());
  }
  OperatorCase made;
  made.name = "planes_" + std::to_string(boxes) + "_seed_" + std::to_string(seed);
  made.inputs.resize(5);
  made.inputs[kPredictions] = FromDoubles(DataType::kFp32, {4 + classes, boxes}, values);
  made.attributes = std::move(attributes);
  made.attributes.emplace_back("layout", std::string("yolov8"));
  return made;
}

// Far beyond what a block sorts, and beyond the caps of 2000 to 30 000 candidates that others have.
TEST(DetectionPostprocessTest, TakesEveryLabelOfAnImage) {
  ExpectOracle(Planes(2100, 20, 300, 201, {{"multi_label", true}, {"max_output", std::int64_t{500}}}));
}

TEST(DetectionPostprocessTest, KeepsManyBoxesOfOneGroup) {
  ExpectOracle(Planes(8400, 3, 2000, 202, {{"class_agnostic", true}, {"max_output", std::int64_t{8400}}}));
}

TEST(DetectionPostprocessTest, CountsClassesInsideOneGroup) {
  ExpectOracle(
      Planes(5000, 6, 900, 203,
             {{"class_agnostic", true}, {"max_per_class", std::int64_t{120}}, {"max_output", std::int64_t{600}}}));
}

// What other tiles of boxes would count is in memory that nobody has cleared.
TEST(DetectionPostprocessTest, CountsWhatIsKeptOfFewCandidates) {
  for (const double threshold : {0.99, 0.9999, 1.0}) {
    ExpectOracle(
        Planes(8400, 6, 900, 210,
               {{"class_agnostic", true}, {"max_per_class", std::int64_t{3}}, {"score_threshold", threshold}}));
  }
}

TEST(DetectionPostprocessTest, ClassesOfNoBoxTakeNeitherMemoryNorTime) {
  OperatorCase made;
  made.name = "no_boxes";
  made.inputs.resize(5);
  made.inputs[kPredictions] = FromDoubles(DataType::kFp32, {4 + (std::int64_t{1} << 30), 0}, {});
  made.attributes = {{"layout", std::string("yolov8")}};
  ExpectOracle(made);
}

// Classes beside each other in the order of scores, over several rounds, and some of them at their limit.
TEST(DetectionPostprocessTest, KeepsManyBoxesOfSeveralClasses) {
  const AttributeList many = {{"max_output", std::int64_t{5000}}};
  AttributeList limited = many;
  limited.emplace_back("max_per_class", std::int64_t{333});
  ExpectOracle(Planes(6000, 7, 1200, 205, many));
  ExpectOracle(Planes(6000, 7, 1200, 206, limited));
  ExpectOracle(Planes(900, 3, 1200, 207, limited));
  limited.emplace_back("multi_label", true);
  ExpectOracle(Planes(1500, 5, 400, 208, limited));
  ExpectOracle(Planes(1025, 1, 5000, 209, many));
}

OperatorCase Separate(const std::vector<double>& boxes, const std::vector<double>& scores, AttributeList attributes) {
  const auto count = static_cast<std::int64_t>(scores.size());
  OperatorCase made;
  made.inputs.resize(5);
  made.inputs[kBoxes] = FromDoubles(DataType::kFp32, {count, 4}, boxes);
  made.inputs[kScores] = FromDoubles(DataType::kFp32, {count, 1}, scores);
  made.attributes = std::move(attributes);
  return made;
}

// Corners are put in order, and a NaN of either has no order: both have it then.
TEST(DetectionPostprocessTest, ANanOfACornerReachesTheImage) {
  const OperatorCase test_case = Separate({1, 2, 3, NAN, 1, NAN, 3, 4, NAN, 6, 7, 8}, {0.9, 0.8, 0.7},
                                          {{"box_coding", std::string("yxyx")}, {"max_output", std::int64_t{3}}});
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(Postprocess(), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(ToDoubles((*outputs)[1]),
                ElementsAre(IsNan(), 1, IsNan(), 3, IsNan(), 1, IsNan(), 3, 6, IsNan(), 8, IsNan()))
        << runner->name();
  }
}

// A sigmoid that is no normal number is greater than 0, and those of lesser numbers are less.
TEST(DetectionPostprocessTest, ASigmoidIsNotFlushedToZero) {
  const OperatorCase test_case = Separate(
      {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}, {-100, -89, -110, -86},
      {{"score_activation", std::string("sigmoid")}, {"score_threshold", 0.0}, {"max_output", std::int64_t{4}}});
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(Postprocess(), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(ToDoubles((*outputs)[4]), ElementsAre(3, 1, 0, -1)) << runner->name();
    EXPECT_NEAR(ToDoubles((*outputs)[2])[1], std::exp(-89.0), 3e-45) << runner->name();
  }
}

// ---- planning ------------------------------------------------------------------------------------------------

struct Inputs {
  PlanRequest request;
  Inputs& Add(int input, const Shape& shape, DataType type = DataType::kFp32) {
    request.inputs[static_cast<std::size_t>(input)] = TensorDesc{type, shape};
    return *this;
  }
};

absl::StatusOr<Plan> PlanOf(PlanRequest request, const AttributeList& given) {
  const absl::StatusOr<Attributes> attributes = Attributes::Parse(Postprocess().spec.attributes, given);
  if (!attributes.ok()) {
    return attributes.status();
  }
  request.attributes = &*attributes;
  return PlanRequestFor(Postprocess(), request);
}

std::string PlanError(const Inputs& inputs, const AttributeList& given) {
  const auto plan = PlanOf(inputs.request, given);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

const AttributeList kYolov8 = {{"layout", std::string("yolov8")}};
const AttributeList kYolov5 = {{"layout", std::string("yolov5")}};

TEST(DetectionPostprocessTest, RefusesInputsThatDoNotFitTogether) {
  EXPECT_EQ(PlanError(Inputs(), {}),
            "input 'boxes': expected 'predictions', or both 'boxes' and 'scores', but it was not given");
  EXPECT_EQ(PlanError(Inputs().Add(kBoxes, {3, 4}), {}),
            "input 'scores': expected 'predictions', or both 'boxes' and 'scores', but it was not given");
  EXPECT_EQ(PlanError(Inputs().Add(kPredictions, {6, 8}).Add(kScores, {8, 2}), kYolov8),
            "input 'scores': expected none beside 'predictions', got one of shape [8,2]");
  EXPECT_EQ(PlanError(Inputs().Add(kPredictions, {6, 8}), {}),
            "attribute 'layout': required beside the input 'predictions' (yolov5 or yolov8), but it was not given");
  EXPECT_EQ(PlanError(Inputs().Add(kBoxes, {3, 4}).Add(kScores, {3, 2}), kYolov5),
            "attribute 'layout': expected only beside the input 'predictions', got 'yolov5' without it");
  EXPECT_EQ(PlanError(Inputs().Add(kPredictions, {4, 8}), kYolov8),
            "input 'predictions': expected shape [4+classes,n] or [images,4+classes,n] with at least one class, got "
            "[4,8]");
  EXPECT_EQ(PlanError(Inputs().Add(kPredictions, {8, 5}), kYolov5),
            "input 'predictions': expected shape [n,5+classes] or [images,n,5+classes] with at least one class, got "
            "[8,5]");
  EXPECT_EQ(PlanError(Inputs().Add(kBoxes, {3, 4}).Add(kScores, {4, 2}), {}),
            "input 'boxes': expected shape [4,4] or [4,2,4] beside scores of shape [4,2], got [3,4]");
  EXPECT_THAT(PlanError(Inputs().Add(kBoxes, {3, 4}).Add(kScores, {3}), {}),
              HasSubstr("input 'scores': expected shape [n,classes] or [images,n,classes]"));
  EXPECT_THAT(PlanError(Inputs().Add(kBoxes, {3, 4}).Add(kScores, {3, 2}).Add(kAnchors, {2, 4}), {}),
              AllOf(HasSubstr("input 'anchors': expected shape [3,4]"), HasSubstr("got [2,4]")));
  EXPECT_EQ(PlanError(Inputs().Add(kBoxes, {3, 4}).Add(kScores, {3, 2}).Add(kCounts, {1}, DataType::kInt32), {}),
            "input 'counts': expected only beside inputs with an image dimension, got it without one");
  EXPECT_EQ(PlanError(Inputs().Add(kPredictions, {2, 6, 8}).Add(kCounts, {3}, DataType::kInt32), kYolov8),
            "input 'counts': expected shape [2] (one count for each of the images), got [3]");
}

TEST(DetectionPostprocessTest, RefusesOutputsBeyondAnyMachine) {
  constexpr std::int64_t kImages = std::int64_t{1} << 30;
  EXPECT_THAT(PlanError(Inputs().Add(kPredictions, {kImages, 6, 0}),
                        {{"layout", std::string("yolov8")}, {"max_output", std::int64_t{1} << 30}}),
              HasSubstr("output 'boxes': expected a shape whose bytes are at most 2^56"));
}

TEST(DetectionPostprocessTest, RefusesAttributesThatMakeNoSense) {
  const Inputs inputs = Inputs().Add(kBoxes, {3, 4}).Add(kScores, {3, 2});
  EXPECT_EQ(PlanError(inputs, {{"background_class", std::int64_t{2}}}),
            "attribute 'background_class': expected one of the 2 classes from 0 on, got 2");
  EXPECT_EQ(PlanError(inputs, {{"classes", std::string("0,2")}}),
            "attribute 'classes': expected classes from 0 to 1, got 2");
  EXPECT_EQ(PlanError(Inputs().Add(kBoxes, {3, 4}).Add(kScores, {3, 5000}), {{"classes", std::string("2048")}}),
            "attribute 'classes': expected classes from 0 to 2047, got 2048");
  EXPECT_EQ(PlanError(inputs, {{"letterbox", std::string("0,1,1")}}),
            "attribute 'letterbox': expected a scale greater than 0, got 0");
  EXPECT_EQ(PlanError(inputs, {{"clip", std::string("0,10,5,9")}}),
            "attribute 'clip': expected x1,y1,x2,y2 with x1 <= x2 and y1 <= y2, got 0,10,5,9");
  EXPECT_EQ(PlanError(inputs, {{"anchor_scales", std::string("1,1,1,1")}}),
            "attribute 'anchor_scales': expected only beside the input 'anchors', got one without it");
  Inputs anchored = inputs;
  anchored.Add(kAnchors, {3, 4});
  EXPECT_EQ(PlanError(anchored, {{"box_coding", std::string("xyxy")}}),
            "attribute 'box_coding': expected none beside the input 'anchors', got one beside it");
  for (const std::string name : {"top_k", "max_output", "max_per_class"}) {
    EXPECT_THAT(PlanError(inputs, {{name, std::int64_t{0}}}), HasSubstr("'" + name + "'"));
  }
  EXPECT_THAT(PlanError(inputs, {{"clip", std::string("1,2,3")}}), HasSubstr("'clip'"));
}

TEST(DetectionPostprocessTest, RefusesCountsBeyondTheBoxes) {
  OperatorCase test_case = Planes(8, 2, 100, 204, {});
  test_case.inputs[kPredictions].desc.shape = {1, 6, 8};
  test_case.inputs[kCounts] = FromDoubles(DataType::kInt32, {1}, {9});
  EXPECT_EQ(AllDeviceRunners().front()->Run(Postprocess(), test_case).status().message(),
            "input 'counts': expected 0 to 8 (the boxes of an image), got 9 at [0]");
}

TEST(DetectionPostprocessTest, ImagesOfUnlikeSizesShareALaunch) {
  const auto key = [](const Inputs& inputs, AttributeList given) {
    given.insert(given.end(), kYolov8.begin(), kYolov8.end());
    return PlanOf(inputs.request, given).value().key;
  };
  const Inputs one = Inputs().Add(kPredictions, {84, 8400});
  EXPECT_TRUE(key(one, {}) == key(Inputs().Add(kPredictions, {3, 84, 100}), {}));
  // Photographs differ in size, so what maps back to them is a request's own.
  EXPECT_TRUE(key(one, {}) == key(one, {{"letterbox", std::string("0.5,0,80")}, {"clip", std::string("0,0,9,9")}}));
  EXPECT_FALSE(key(one, {}) == key(Inputs().Add(kPredictions, {85, 8400}), {}));
  EXPECT_FALSE(key(one, {}) == key(one, {{"multi_label", true}}));
  EXPECT_FALSE(key(one, {}) == key(one, {{"classes", std::string("1")}}));
  EXPECT_FALSE(key(one, {{"classes", std::string("2")}}) == key(one, {{"classes", std::string("1")}}));
  EXPECT_FALSE(key(one, {}) == key(one, {{"score_threshold", 0.5}}));
}

TEST(DetectionPostprocessTest, MemoryGrowsWithWhatMayBecomeACandidate) {
  const auto bytes = [](std::int64_t boxes, bool multi_label) {
    AttributeList given = kYolov8;
    given.emplace_back("multi_label", multi_label);
    return static_cast<std::int64_t>(
        PlanOf(Inputs().Add(kPredictions, {84, boxes}).request, given).value().workspace_bytes);
  };
  for (const std::int64_t boxes : {1, 1024, 1025, 8400, 1 << 20}) {
    constexpr std::int64_t kWindow = 85 << 10;  // overlaps and boxes of a round
    EXPECT_LE(bytes(boxes, false), 48 * (boxes + 1024) + kWindow) << boxes;
    EXPECT_LE(bytes(boxes, true), 44 * (80 * boxes + 1024) + kWindow) << boxes;
  }
}

TEST(DetectionPostprocessTest, ARequestCanBeCutBetweenImages) {
  const Plan plan = PlanOf(Inputs().Add(kPredictions, {4, 84, 100}).request, kYolov8).value();
  EXPECT_EQ(plan.rows, 4);
  EXPECT_EQ(plan.input_row_bytes[kPredictions], 84 * 100 * 4);
  EXPECT_EQ(plan.outputs[1].row_bytes, 300 * 16);
}

}  // namespace
}  // namespace kernelwire

// How nms plans: what is refused and how, what shares a launch, and how much memory it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/nms/nms_test_case.h"
#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"

namespace kernelwire {
namespace {

using testing::AllDeviceRunners;
using ::testing::AllOf;
using testing::FromDoubles;
using ::testing::HasSubstr;
using testing::OperatorCase;
using testing::nms::MakeCase;

const Operator& Nms() { return *FindOperator("nms"); }

PlanRequest Request(const Shape& boxes, const Shape& scores) {
  PlanRequest request;
  request.inputs[0] = TensorDesc{DataType::kFp32, boxes};
  request.inputs[1] = TensorDesc{DataType::kFp32, scores};
  return request;
}

std::string PlanError(PlanRequest request, const AttributeList& given = {}) {
  const Attributes attributes = Attributes::Parse(Nms().spec.attributes, given).value();
  request.attributes = &attributes;
  const auto plan = PlanRequestFor(Nms(), request);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

TEST(NmsPlanTest, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(PlanError(Request({3}, {3})), "input 'boxes': expected shape [n,4] or [images,n,4], got [3]");
  EXPECT_EQ(PlanError(Request({3, 5}, {3})), "input 'boxes': expected shape [n,4] or [images,n,4], got [3,5]");
  EXPECT_EQ(PlanError(Request({1, 1, 3, 4}, {3})),
            "input 'boxes': expected shape [n,4] or [images,n,4], got [1,1,3,4]");
  EXPECT_EQ(PlanError(Request({3, 4}, {4})),
            "input 'scores': expected shape [3] (one score for each of the boxes), got [4]");
  EXPECT_EQ(PlanError(Request({2, 3, 4}, {6})),
            "input 'scores': expected shape [2,3] (one score for each of the boxes), got [6]");
  EXPECT_THAT(PlanError(Request({std::int64_t{1} << 31, 4}, {std::int64_t{1} << 31})),
              AllOf(HasSubstr("input 'boxes': expected at most 1073741824"), HasSubstr("[2147483648,4]")));
  EXPECT_EQ(PlanError(Request({3, 4}, {3}), {{"rotated", true}}),
            "input 'boxes': expected shape [n,5] or [images,n,5], got [3,4]");
  EXPECT_EQ(PlanError(Request({3, 5}, {3}), {{"rotated", true}, {"box_coding", std::string("xyxy")}}),
            "attribute 'box_coding': expected none beside 'rotated', got 'xyxy'");
  PlanRequest classes = Request({3, 4}, {3});
  classes.inputs[2] = TensorDesc{DataType::kInt32, {3, 1}};
  EXPECT_EQ(PlanError(classes), "input 'classes': expected shape [3] (one class for each of the boxes), got [3,1]");
  classes.inputs[2] = TensorDesc{DataType::kFp32, {3}};
  EXPECT_EQ(PlanError(classes), "input 'classes': expected INT32 or INT64, got FP32");
  PlanRequest counts = Request({2, 3, 4}, {2, 3});
  counts.inputs[3] = TensorDesc{DataType::kInt32, {3}};
  EXPECT_EQ(PlanError(counts), "input 'counts': expected shape [2] (one count for each of the images), got [3]");
  counts = Request({3, 4}, {3});
  counts.inputs[3] = TensorDesc{DataType::kInt32, {1}};
  EXPECT_EQ(PlanError(counts),
            "input 'counts': expected only beside boxes of shape [images,n,4], got boxes of shape [3,4]");
}

TEST(NmsPlanTest, RefusesAttributesOutOfRange) {
  const auto error = [](const std::string& name, AttributeValue value) {
    return Attributes::Parse(Nms().spec.attributes, {{name, std::move(value)}}).status();
  };
  for (const std::string name : {"top_k", "max_output", "max_per_class"}) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}}) {
      EXPECT_EQ(error(name, value).code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(error(name, value).message()), HasSubstr("'" + name + "'"));
    }
  }
  EXPECT_THAT(std::string(error("iou_threshold", 1.5).message()), HasSubstr("'iou_threshold'"));
  EXPECT_THAT(std::string(error("iou_threshold", -0.5).message()), HasSubstr("'iou_threshold'"));
  EXPECT_THAT(std::string(error("score_threshold", std::nan("")).message()), HasSubstr("'score_threshold'"));
  EXPECT_THAT(std::string(error("box_coding", std::string("corners")).message()),
              HasSubstr("xyxy, yxyx, xywh, cxcywh"));
}

/// The error of a request whose values are wrong.
std::string CheckError(const OperatorCase& test_case) {
  const auto outputs = AllDeviceRunners().front()->Run(Nms(), test_case);
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(outputs.status().message());
}

TEST(NmsPlanTest, RefusesValuesThatDoNotFit) {
  OperatorCase test_case =
      MakeCase("values", std::vector<double>(24), std::vector<double>(6), {0, 0, 0, 0, 2147483648, 0});
  EXPECT_EQ(CheckError(test_case), "input 'classes': expected -2147483648 to 2147483647, got 2147483648 at [4]");
  test_case.inputs[0].desc.shape = {2, 3, 4};
  test_case.inputs[1].desc.shape = test_case.inputs[2].desc.shape = {2, 3};
  EXPECT_EQ(CheckError(test_case), "input 'classes': expected -2147483648 to 2147483647, got 2147483648 at [1,1]");
  test_case.inputs[3] = FromDoubles(DataType::kInt32, {2}, {3, 4});
  EXPECT_EQ(CheckError(test_case), "input 'counts': expected 0 to 3 (the boxes of an image), got 4 at [1]");
  test_case.inputs[3] = FromDoubles(DataType::kInt32, {2}, {-1, 0});
  EXPECT_EQ(CheckError(test_case), "input 'counts': expected 0 to 3 (the boxes of an image), got -1 at [0]");
  test_case.inputs[3] = FromDoubles(DataType::kInt32, {2}, {3, 1});  // what is wrong lies in the padding
  EXPECT_TRUE(AllDeviceRunners().front()->Run(Nms(), test_case).ok());
}

BatchKey KeyOf(PlanRequest request, const AttributeList& given) {
  const Attributes attributes = Attributes::Parse(Nms().spec.attributes, given).value();
  request.attributes = &attributes;
  return PlanRequestFor(Nms(), request).value().key;
}

TEST(NmsPlanTest, RequestsOfAnySizeShareALaunch) {
  const BatchKey key = KeyOf(Request({3, 4}, {3}), {});
  EXPECT_TRUE(key == KeyOf(Request({100000, 4}, {100000}), {}));
  EXPECT_TRUE(key == KeyOf(Request({5, 17, 4}, {5, 17}), {}));
  EXPECT_TRUE(key == KeyOf(Request({3, 4}, {3}), {{"iou_threshold", 0.5}}));
  PlanRequest counted = Request({5, 17, 4}, {5, 17});
  counted.inputs[3] = TensorDesc{DataType::kInt32, {5}};
  counted.wanted_outputs = 1;
  EXPECT_TRUE(key == KeyOf(counted, {}));
}

TEST(NmsPlanTest, WhatAKernelTakesOnceSeparatesLaunches) {
  const PlanRequest request = Request({3, 4}, {3});
  const BatchKey key = KeyOf(request, {});
  EXPECT_FALSE(key == KeyOf(request, {{"iou_threshold", 0.25}}));
  EXPECT_FALSE(key == KeyOf(request, {{"score_threshold", 0.0}}));
  EXPECT_FALSE(key == KeyOf(request, {{"box_coding", std::string("xywh")}}));
  EXPECT_FALSE(key == KeyOf(request, {{"top_k", std::int64_t{2}}}));
  EXPECT_FALSE(key == KeyOf(request, {{"max_output", std::int64_t{2}}}));
  EXPECT_FALSE(key == KeyOf(request, {{"max_per_class", std::int64_t{2}}}));
  EXPECT_FALSE(key == KeyOf(request, {{"soft_nms", std::string("linear")}}));
  EXPECT_TRUE(key == KeyOf(request, {{"sigma", 0.25}}));  // only the gaussian reads it
  PlanRequest other = request;
  other.inputs[2] = TensorDesc{DataType::kInt32, {3}};
  EXPECT_FALSE(key == KeyOf(other, {}));
  other = request;
  other.inputs[1]->dtype = DataType::kBf16;
  EXPECT_FALSE(key == KeyOf(other, {}));
}

/// Each choice goes over all candidates: a request of a few megabytes could keep a device for hours.
TEST(NmsPlanTest, RefusesSoftNmsThatWouldTakeForEver) {
  const AttributeList soft = {{"soft_nms", std::string("gaussian")}};
  EXPECT_EQ(PlanError(Request({600000, 4}, {600000}), soft),
            "input 'boxes': expected beside 'soft_nms' at most 68719476736 comparisons an image, candidates ('top_k') "
            "times choices ('max_per_class'), got 600000 times 600000");
  for (const char* const limit : {"top_k", "max_per_class"}) {
    AttributeList limited = soft;
    limited.emplace_back(limit, std::int64_t{1000});
    const Attributes attributes = Attributes::Parse(Nms().spec.attributes, limited).value();
    PlanRequest request = Request({600000, 4}, {600000});
    request.attributes = &attributes;
    EXPECT_TRUE(PlanRequestFor(Nms(), request).ok()) << limit;
  }
}

/// What a GPU may take for must not count as a hang, whatever the boxes are.
TEST(NmsPlanTest, AtWorstEveryBoxIsComparedWithEveryOther) {
  const Attributes none = Attributes::Parse(Nms().spec.attributes, {}).value();
  PlanRequest request = Request({2, 100000, 4}, {2, 100000});
  request.attributes = &none;
  const Plan plan = PlanRequestFor(Nms(), request).value();
  Segment segment{};
  segment.rows = 2;
  std::copy(plan.extents.begin(), plan.extents.end(), segment.extents);
  Launch launch;
  launch.plan = &plan;
  launch.segments = &segment;
  launch.segment_count = 1;
  EXPECT_GE(Nms().most_work_bytes(launch), 2 * std::int64_t{100000} * 100000);
}

TEST(NmsPlanTest, MemoryGrowsWithTheNumberOfBoxes) {
  const auto bytes = [](std::int64_t boxes) {
    return PlanRequestFor(Nms(), Request({boxes, 4}, {boxes})).value().workspace_bytes;
  };
  EXPECT_LE(bytes(0), 256u);
  EXPECT_LE(bytes(1), 3072u);
  constexpr std::int64_t kWindow = 85 << 10;  // overlaps and boxes of a round
  for (const std::int64_t boxes : {1, 949, 1024, 100000, 600000, 1 << 30}) {
    EXPECT_LE(bytes(boxes), static_cast<std::size_t>(42 * (boxes + 1024) + kWindow)) << boxes;
    EXPECT_EQ(bytes(boxes) % 256, 0u) << boxes;
  }
}

TEST(NmsPlanTest, ImagesOfNoBoxesTakeNoMemoryWhereNothingIsComputed) {
  PlanRequest request = Request({2097152, 0, 4}, {2097152, 0});
  request.wanted_outputs = 1;  // the indices, of which there are none
  EXPECT_EQ(PlanRequestFor(Nms(), request).value().workspace_bytes, 0u);
}

}  // namespace
}  // namespace kernelwire

// What is particular to nms: real detections, large inputs, the rounding of the IoU, and what is refused and how.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
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
using testing::HostTensor;
using testing::OperatorCase;

const Operator& Nms() { return *FindOperator("nms"); }

std::vector<ExpectedOutput> Expected(const OperatorCase& test_case) {
  for (const testing::OperatorCases& cases : testing::AllOperatorCases()) {
    if (cases.name == "nms") {
      return cases.oracle(test_case);
    }
  }
  return {};
}

void ExpectOutputs(const DeviceRunner& runner, const OperatorCase& test_case, const std::vector<HostTensor>& outputs) {
  const std::vector<ExpectedOutput> expected = Expected(test_case);
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].wanted) {
      EXPECT_EQ(Disagreement(expected[i], outputs[i]), "")
          << runner.name() << ", " << test_case.name << ", output " << i;
    }
  }
}

void ExpectOracle(const OperatorCase& test_case) {
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(Nms(), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ExpectOutputs(*runner, test_case, *outputs);
  }
}

/// A case without images. `classes` may be empty.
OperatorCase MakeCase(const std::string& name, const std::vector<double>& boxes, const std::vector<double>& scores,
                      const std::vector<double>& classes) {
  const auto count = static_cast<std::int64_t>(scores.size());
  OperatorCase made;
  made.name = name;
  made.inputs.resize(4);
  made.inputs[0] = FromDoubles(DataType::kFp32, {count, 4}, boxes);
  made.inputs[1] = FromDoubles(DataType::kFp32, {count}, scores);
  if (!classes.empty()) {
    made.inputs[2] = FromDoubles(DataType::kInt64, {count}, classes);
  }
  return made;
}

nlohmann::json ReadData(const std::string& file) {
  const char* folder = std::getenv("KERNELWIRE_TEST_DATA");  // where the build folder is not
  std::ifstream in(std::string(folder != nullptr ? folder : KERNELWIRE_TEST_DATA) + "/" + file);
  EXPECT_TRUE(in.good()) << file;
  return nlohmann::json::parse(in);
}

// ---- real detections --------------------------------------------------------------------------------------

TEST(NmsTest, KeepsWhatMmcvKeepsOfARealDetectorsBoxes) {
  const nlohmann::json data = ReadData("mmcv_batched_nms.json");
  std::vector<double> boxes;
  for (const auto& box : data["boxes"]) {
    for (const auto& coordinate : box) {
      boxes.push_back(coordinate.get<double>());
    }
  }
  OperatorCase test_case =
      MakeCase("mmcv", boxes, data["scores"].get<std::vector<double>>(), data["idxs"].get<std::vector<double>>());
  test_case.attributes = {{"iou_threshold", 0.7}};
  const auto keep = data["keep"].get<std::vector<double>>();
  ASSERT_EQ(keep.size(), 554u);
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(Nms(), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(ToDoubles((*outputs)[0]), keep) << runner->name();
    EXPECT_THAT(ToDoubles((*outputs)[1]), ElementsAre(554.0)) << runner->name();
  }
}

// The detections of 99 photographs, as 99 requests of unlike sizes in one launch, and as one request with counts.
TEST(NmsTest, CocoDetectionsByRequestAndByImageAgree) {
  struct Photo {
    std::vector<double> boxes, scores, classes;
  };
  std::map<std::int64_t, Photo> photos;
  for (const auto& detection : ReadData("coco_fakebbox100_results.json")) {
    Photo& photo = photos[detection["image_id"].get<std::int64_t>()];
    for (const auto& number : detection["bbox"]) {
      photo.boxes.push_back(number.get<double>());
    }
    photo.scores.push_back(detection["score"].get<double>());
    photo.classes.push_back(detection["category_id"].get<double>());
  }
  ASSERT_EQ(photos.size(), 99u);
  std::vector<OperatorCase> cases;
  for (const auto& [id, photo] : photos) {
    cases.push_back(MakeCase("photo_" + std::to_string(id), photo.boxes, photo.scores, photo.classes));
    cases.back().attributes = {{"box_coding", std::string("xywh")}, {"iou_threshold", 0.1}};
  }
  std::vector<const OperatorCase*> batch;
  std::size_t most = 0;
  for (const OperatorCase& test_case : cases) {
    batch.push_back(&test_case);
    most = std::max(most, static_cast<std::size_t>(test_case.inputs[1].desc.shape[0]));
  }

  std::vector<double> boxes, scores, classes, counts;
  for (const auto& [id, photo] : photos) {
    const auto append = [](const std::vector<double>& from, std::size_t size, std::vector<double>* to) {
      to->insert(to->end(), from.begin(), from.end());
      to->resize(to->size() + size - from.size(), -7.0);
    };
    append(photo.boxes, 4 * most, &boxes);
    append(photo.scores, most, &scores);
    append(photo.classes, most, &classes);
    counts.push_back(static_cast<double>(photo.scores.size()));
  }
  OperatorCase together = MakeCase("photos", boxes, scores, classes);
  const std::int64_t columns = static_cast<std::int64_t>(most);
  together.attributes = cases.front().attributes;
  together.inputs[0].desc.shape = {99, columns, 4};
  together.inputs[1].desc.shape = together.inputs[2].desc.shape = {99, columns};
  together.inputs[3] = FromDoubles(DataType::kInt32, {99}, counts);
  ExpectOracle(together);

  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->RunBatch(Nms(), batch);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      ExpectOutputs(*runner, cases[i], (*outputs)[i]);
    }
  }
}

// ---- large inputs -----------------------------------------------------------------------------------------

/// `boxes` boxes with corners on a square of `extent`, in `classes` classes (0: none), with many equal scores.
OperatorCase Large(int boxes, double extent, int classes, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  const auto roll = [&bits] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  std::vector<double> corners, scores, class_ids;
  for (int i = 0; i < boxes; ++i) {
    const double x = roll() * extent;
    const double y = roll() * extent;
    corners.insert(corners.end(), {x, y, x + 5 + 30 * roll(), y + 5 + 30 * roll()});
    scores.push_back(std::floor(roll() * 4096) / 4096);
    if (classes > 0) {
      class_ids.push_back(std::floor(roll() * classes));
    }
  }
  return MakeCase("large_" + std::to_string(boxes) + "_seed_" + std::to_string(seed), corners, scores, class_ids);
}

TEST(NmsTest, TwentyThousandCrowdedBoxesOfOneClass) { ExpectOracle(Large(20000, 400, 0, 101)); }

TEST(NmsTest, TwentyThousandScatteredBoxesOfOneClass) { ExpectOracle(Large(20000, 6000, 0, 102)); }

TEST(NmsTest, TwentyThousandBoxesOfEightyClasses) { ExpectOracle(Large(20000, 1000, 80, 103)); }

TEST(NmsTest, LongClassBesideShortOnes) {
  OperatorCase test_case = Large(24000, 500, 10, 104);
  const auto count = test_case.inputs[2].desc.shape[0];
  for (std::int64_t i = 0; i < count; i += 2) {
    testing::WriteElement(DataType::kInt64, test_case.inputs[2].bytes.data(), i, 3.0);
  }
  ExpectOracle(test_case);
  test_case.attributes = {{"max_per_class", std::int64_t{1500}}, {"top_k", std::int64_t{20000}}};
  ExpectOracle(test_case);
}

// ---- the rounding of the IoU ------------------------------------------------------------------------------

// Pairs of boxes whose IoU differs by one bit when a multiplication and a subtraction share a rounding, as a compiler
// does where it may. With the smaller IoU as the threshold, only the defined rounding keeps (or drops) the second box.
TEST(NmsTest, EachOperationOfTheIouIsRoundedByItself) {
  constexpr std::uint64_t kSeed = 105;
  std::mt19937_64 bits(kSeed);
  const auto roll = [&bits] { return static_cast<float>(bits() >> 40) * 0x1p-24f; };
  int found = 0;
  for (int attempt = 0; found < 20; ++attempt) {
    ASSERT_LT(attempt, 100000) << "seed " << kSeed;
    const float width = 1 + roll();
    const float height = 1 + roll();
    const float shift = roll() * 0.5f;
    // Volatile, so that this test's own products are rounded whatever its compiler may do.
    const volatile float area = width * height;
    const volatile float far = shift + width;
    const volatile float other_width = far - shift;
    const volatile float other_area = other_width * height;
    const volatile float shared_width = width - shift;
    const volatile float shared = shared_width * height;
    const volatile float sum = area + other_area;
    const float defined = shared / (sum - shared);
    const float contracted = shared / std::fma(-shared_width, height, sum);
    if (defined == contracted) {
      continue;
    }
    ++found;
    OperatorCase test_case = MakeCase("rounding", {0, 0, width, height, shift, 0, far, height}, {2, 1}, {});
    test_case.attributes = {{"iou_threshold", static_cast<double>(std::min(defined, contracted))}};
    const double expected = defined > contracted ? 1.0 : 2.0;
    for (DeviceRunner* const runner : AllDeviceRunners()) {
      const auto outputs = runner->Run(Nms(), test_case);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_THAT(ToDoubles((*outputs)[1]), ElementsAre(expected)) << runner->name() << ", attempt " << attempt;
    }
  }
}

// ---- planning, checking, sharing --------------------------------------------------------------------------

PlanRequest Request(const Shape& boxes, const Shape& scores) {
  PlanRequest request;
  request.inputs[0] = TensorDesc{DataType::kFp32, boxes};
  request.inputs[1] = TensorDesc{DataType::kFp32, scores};
  return request;
}

std::string PlanError(const PlanRequest& request) {
  const auto plan = PlanRequestFor(Nms(), request);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

TEST(NmsTest, RefusesShapesThatDoNotFit) {
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

TEST(NmsTest, RefusesAttributesOutOfRange) {
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

TEST(NmsTest, RefusesValuesThatDoNotFit) {
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

BatchKey KeyOf(PlanRequest request, const std::vector<std::pair<std::string, AttributeValue>>& given) {
  const Attributes attributes = Attributes::Parse(Nms().spec.attributes, given).value();
  request.attributes = &attributes;
  return PlanRequestFor(Nms(), request).value().key;
}

TEST(NmsTest, RequestsOfAnySizeShareALaunch) {
  const BatchKey key = KeyOf(Request({3, 4}, {3}), {});
  EXPECT_TRUE(key == KeyOf(Request({100000, 4}, {100000}), {}));
  EXPECT_TRUE(key == KeyOf(Request({5, 17, 4}, {5, 17}), {}));
  EXPECT_TRUE(key == KeyOf(Request({3, 4}, {3}), {{"iou_threshold", 0.5}}));
  PlanRequest counted = Request({5, 17, 4}, {5, 17});
  counted.inputs[3] = TensorDesc{DataType::kInt32, {5}};
  counted.wanted_outputs = 1;
  EXPECT_TRUE(key == KeyOf(counted, {}));
}

TEST(NmsTest, WhatAKernelTakesOnceSeparatesLaunches) {
  const PlanRequest request = Request({3, 4}, {3});
  const BatchKey key = KeyOf(request, {});
  EXPECT_FALSE(key == KeyOf(request, {{"iou_threshold", 0.25}}));
  EXPECT_FALSE(key == KeyOf(request, {{"score_threshold", 0.0}}));
  EXPECT_FALSE(key == KeyOf(request, {{"box_coding", std::string("xywh")}}));
  EXPECT_FALSE(key == KeyOf(request, {{"top_k", std::int64_t{2}}}));
  EXPECT_FALSE(key == KeyOf(request, {{"max_output", std::int64_t{2}}}));
  EXPECT_FALSE(key == KeyOf(request, {{"max_per_class", std::int64_t{2}}}));
  PlanRequest other = request;
  other.inputs[2] = TensorDesc{DataType::kInt32, {3}};
  EXPECT_FALSE(key == KeyOf(other, {}));
  other = request;
  other.inputs[1]->dtype = DataType::kBf16;
  EXPECT_FALSE(key == KeyOf(other, {}));
}

TEST(NmsTest, MemoryGrowsWithTheNumberOfBoxes) {
  const auto bytes = [](std::int64_t boxes) {
    return PlanRequestFor(Nms(), Request({boxes, 4}, {boxes})).value().workspace_bytes;
  };
  EXPECT_EQ(bytes(0), 0u);
  for (const std::int64_t boxes : {1, 949, 100000, 600000, 1 << 30}) {
    EXPECT_LE(bytes(boxes), static_cast<std::size_t>(30 * boxes + 8192)) << boxes;
    EXPECT_EQ(bytes(boxes) % 256, 0u) << boxes;
  }
}

}  // namespace
}  // namespace kernelwire
